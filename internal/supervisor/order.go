package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// orderWithin is how long a statement about replication may keep the supervisor. One that stops an applier waits for it, and
// that for locks that sessions hold, for as long as they do; others wait for that one.
const orderWithin = 2 * time.Second

// errOrdered says that the server is at such a statement still.
var errOrdered = errors.New("its applier does not stop: it waits for a lock that a session there holds\nhint: SHOW PROCESSLIST there")

// replicate carries out statements about replication, each in a session of its own, in which the server goes on with one that
// takes longer than orderWithin: that is errOrdered, and until it has ended no other is begun.
func (s *Supervisor) replicate(ctx context.Context, statements ...string) error {
	if s.ordered != nil {
		if err := s.awaitOrder(ctx); errors.Is(err, errOrdered) {
			return err
		}
	}
	for _, text := range statements {
		db, err := dbconn.Open(s.inst.Socket(), s.inst.Supervisor, "")
		if err != nil {
			return err
		}
		s.ordered = make(chan error, 1)
		go func(done chan<- error) { // which ends with the server at the latest
			err := dbconn.ExecAll(context.WithoutCancel(ctx), db, text)
			done <- errors.Join(err, db.Close())
		}(s.ordered)
		if err := s.awaitOrder(ctx); err != nil {
			return err
		}
	}
	return nil
}

// awaitOrder waits for the statement that the server is at.
func (s *Supervisor) awaitOrder(ctx context.Context) error {
	select {
	case err := <-s.ordered:
		s.ordered = nil
		return err
	case <-s.proc.Done():
		s.ordered = nil
		return errors.New("the server has ended")
	case <-ctx.Done():
		return errors.Join(errOrdered, ctx.Err())
	case <-time.After(orderWithin):
		return errOrdered
	}
}
