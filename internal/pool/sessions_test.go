package pool

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestSessions takes sessions until there are no more, and gives them back whole and broken.
func TestSessions(t *testing.T) {
	srv := servertest.Start(t, servertest.Find(t, servertest.Servers[0]))
	db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := newSessions()
	s.open = func(ctx context.Context) (*reset.Session, error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		return reset.NewSession(srv.Server, conn), nil
	}
	take := func() (*reset.Session, func(error)) {
		t.Helper()
		one, done, err := s.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return one, done
	}
	all := map[*reset.Session]func(error){}
	for range maxSessions {
		one, done := take()
		if all[one] != nil {
			t.Error("a session works for two")
		}
		all[one] = done
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := s.take(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one session more than there may be: %v", err)
	}
	var last *reset.Session
	for one, done := range all {
		done(nil)
		last = one
	}
	one, done := take()
	if one != last {
		t.Error("it is not the one that was used last")
	}
	done(errors.New("it broke"))
	if err := one.Conn.PingContext(t.Context()); err == nil {
		t.Error("a session that broke is still open")
	}
	var ends []func(error)
	for range maxSessions {
		again, done := take()
		if again == one {
			t.Error("a session that broke works again")
		}
		ends = append(ends, done)
	}
	ends[0](nil)
	s.close()
	for _, done := range ends[1:] { // they still worked
		done(nil)
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d sessions are open after all are closed", n)
	}
	failed := errors.New("no server")
	s.open = func(context.Context) (*reset.Session, error) { return nil, failed }
	for range 2 * maxSessions { // which takes no place
		if _, _, err := s.take(t.Context()); !errors.Is(err, failed) {
			t.Fatalf("a session that cannot be opened: %v", err)
		}
	}
}
