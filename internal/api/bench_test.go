package api

import (
	"testing"

	"github.com/ramaria-db/ramaria/client"
)

// BenchmarkReset measures what HTTP adds to a call whose Instance takes no time: client,
// socket and server.
func BenchmarkReset(b *testing.B) {
	socket, _ := start(b, Handler(full(), (&buffer{}).logger()))
	reset := func(b *testing.B, c *client.Client) {
		if _, err := c.ResetDatabase(b.Context(), "shop_1", client.RestoreCounters); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("kept connection", func(b *testing.B) {
		c := client.New(socket)
		defer c.Close()
		for b.Loop() {
			reset(b, c)
		}
	})
	b.Run("new connection", func(b *testing.B) {
		c := client.New(socket)
		c.Close() // from now on it keeps none
		for b.Loop() {
			reset(b, c)
		}
	})
	b.Run("eight at once", func(b *testing.B) {
		c := client.New(socket)
		defer c.Close()
		b.SetParallelism(4) // times two processors
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				reset(b, c)
			}
		})
	})
}
