package view

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestHungIsAskedOnce waits in a look no longer than answerTime for an instance that answered before and hangs.
func TestHungIsAskedOnce(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "api.sock")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	asked := make(chan net.Conn, 10)
	go func() {
		defer close(asked)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			asked <- c
		}
	}()
	k := &known{record: &instance.Record{Name: "hung"}, client: client.New(socket), answers: true, last: Instance{Phase: instance.Running, DataBytes: 7}}
	defer k.close()
	began := time.Now()
	got := (&Watcher{}).lookAt(t.Context(), k)
	if took := time.Since(began); took < answerTime {
		t.Errorf("it took %v", took)
	}
	if !strings.Contains(got.Trouble, "does not answer") || got.Name != "hung" || got.DataBytes != 7 || k.answers {
		t.Errorf("got %+v", got)
	}
	l.Close()
	n := 0
	for c := range asked {
		n++
		c.Close()
	}
	if n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}
