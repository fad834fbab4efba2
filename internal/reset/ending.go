package reset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// End ends all connections of a user, and waits until they have gone.
func (s *Session) End(ctx context.Context, user string) error {
	threads, err := s.connections(ctx, user)
	if err != nil {
		return err
	}
	return s.kill(ctx, threads)
}

// left is what there is of an account once its open transactions were ended.
type left struct {
	prepared    []binlog.XID // XA transactions, of all accounts
	connections []uint64     // those that stay as they are
}

// endTransactions ends the connections that have a transaction open: it could still
// commit, holds locks, or shows what is gone. It returns the counters as they are after
// that, nil if they are yet to be asked for, or not to be, and what is left.
func (r *Engine) endTransactions(ctx context.Context, s *Session, d *Database, c Counters, rest *left) (map[string]uint64, error) {
	var asked, ended []uint64 // asked are the threads of the last answer
	var counters map[string]uint64
	if c == RestoreCounters {
		counters = map[string]uint64{}
	}
	atWork := statements{user: d.User}
	for {
		rest.prepared = rest.prepared[:0]
		ask := append(r.everybodys(), atWork.ask(), prepared(&rest.prepared))
		if counters != nil {
			clear(counters)
			ask = append(ask, askCounters(r.Server, d.Name, d.Shape, counters)...)
		}
		open, err := r.Server.Dialect().OpenTransactions(ctx, s.Conn, d.User, ask...)
		idle := err == nil && atWork.done()
		switch {
		case errors.Is(err, dbconn.ErrUnseen):
			return nil, errors.Join(s.End(ctx, d.User), dbconn.Ask(ctx, s.Conn, append(r.everybodys(), prepared(&rest.prepared))...))
		case err != nil && counters != nil && ctx.Err() == nil:
			counters = nil // a table of the shape is gone, and will be there again
			continue
		case err != nil:
			return nil, err
		case len(open) == 0 && idle:
			rest.connections = atWork.others(ended)
			return counters, nil
		case len(open) == 0:
			asked = nil
			if err := atWork.end(ctx, s); err != nil {
				return nil, err
			}
			continue
		}
		if ended == nil {
			// Two answers in a row must have it: one may be wrong about an idle session.
			var threads, twice []uint64
			for _, t := range open {
				threads = append(threads, t.Thread)
				if slices.Contains(asked, t.Thread) {
					twice = append(twice, t.Thread)
				}
			}
			asked = threads
			if len(twice) == 0 {
				continue
			}
			ended = twice
			if err := s.kill(ctx, slices.Clone(ended)); err != nil {
				return nil, err
			}
			continue
		}
		// MariaDB forgets a connection before InnoDB has let go of its transaction. One that
		// is prepared would be rolled back in name only until then, and keep its locks for
		// good.
		if !slices.ContainsFunc(open, func(t dbconn.Transaction) bool { return slices.Contains(ended, t.Thread) }) {
			if idle {
				rest.connections = atWork.others(ended)
				return counters, nil
			}
			// DDL that waited for one that was ended goes on now, and has a transaction of its own by this.
			if err := atWork.end(ctx, s); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for transactions to end: %w", ctx.Err())
		case <-time.After(gonePoll):
		}
	}
}
