package template_test

import (
	"context"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/template"
)

// TestReadBesideNeighbour reads, and clones, a database while a statement that creates a table of
// another one locks that table: what one lease does costs no other one.
func TestReadBesideNeighbour(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, conn, _ := start(t, want)
		srv.Load(t, "CREATE DATABASE neighbour; USE neighbour; CREATE TABLE src (a int); INSERT INTO src VALUES (1), (2)")
		run(t, conn, "SET lock_wait_timeout = 3600")
		other, err := srv.Dialect().OpenUnlogged(srv.Endpoint.Socket, srv.Endpoint.Login)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := other.ExecContext(ctx, "CREATE TABLE neighbour.t AS SELECT SLEEP(60) AS a FROM neighbour.src")
			ended <- err
		}()
		defer func() {
			cancel()
			if err := <-ended; err == nil {
				t.Error("the statement beside it ended by itself")
			}
		}()
		for sleeping, end := 0, time.Now().Add(4*time.Minute); sleeping == 0; time.Sleep(10 * time.Millisecond) {
			if err := conn.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'").Scan(&sleeping); err != nil || time.Now().After(end) {
				t.Fatalf("no connection sleeps: %v", err)
			}
		}
		shape, err := template.Read(t.Context(), conn, "zoo")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := shape.Clone(t.Context(), conn, "zoo_1"); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("it waited until the neighbour's table was there: %v", err)
		default:
		}
	})
}
