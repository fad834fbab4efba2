package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// up is a server of its own from a hot image.
func (d *cycleRows) up(name string) runner.Case {
	u := &ups{cycleRows: d, there: make([]bool, 1)}
	return u.row(runner.Case{
		Name: name, Ours: true, Settings: "ramaria's settings, in RAM; a fresh server for each cycle: ramaria up, ramaria down --rm",
		Round: func(ctx context.Context) (runner.Sample, error) { return d.cycles(ctx, 1, u.renew) },
	}, nil)
}

// changedUps is up for several workers, each of which connects to its server and makes the
// changes of resets and hands before.
func (d *cycleRows) changedUps(name, base string, workers int) runner.Case {
	u := &ups{cycleRows: d, there: make([]bool, workers)}
	changes := worldChanges
	return u.row(runner.Case{
		Name: name, Ours: true, Base: base, Settings: "a connection, three rows changed, the server removed and a fresh one brought up: ramaria down --rm, ramaria up; ramaria's settings, in RAM",
		Round: func(ctx context.Context) (runner.Sample, error) {
			return d.cycles(ctx, workers, func(ctx context.Context, n int) error {
				if err := u.connected(ctx, n, func(conn *sql.Conn) error { return lab.MakeChanges(ctx, conn, changes) }); err != nil {
					return err
				}
				return u.renew(ctx, n)
			})
		},
	}, func(ctx context.Context) (err error) {
		if u.database, err = d.data.SingleDatabase(); err != nil {
			return err
		}
		for n := range workers {
			if err := u.renew(ctx, n); err != nil {
				return err
			}
		}
		if d.data.Path == "" {
			return nil
		}
		return u.connected(ctx, 0, func(conn *sql.Conn) error {
			changes, err = lab.ChangesIn(ctx, conn, u.database)
			return err
		})
	})
}

// ups are servers from a hot image, one for each worker.
type ups struct {
	*cycleRows
	flags    []string
	database string // that changes are made in
	there    []bool
}

func (u *ups) name(worker int) string {
	return fmt.Sprintf("cycle-up-%d-of-%d", worker+1, len(u.there))
}

// renew removes the server of a worker, if there is one, and brings up another.
func (u *ups) renew(ctx context.Context, worker int) error {
	if err := u.down(ctx, worker); err != nil {
		return err
	}
	_, err := u.lab.Run(ctx, append([]string{"up", u.name(worker)}, u.flags...)...)
	u.there[worker] = err == nil
	return err
}

func (u *ups) down(ctx context.Context, worker int) error {
	if !u.there[worker] {
		return nil
	}
	u.there[worker] = false
	_, err := u.lab.Run(ctx, "down", u.name(worker), "--rm")
	return err
}

// connected runs work over a connection to the server of a worker, which is new as that is.
func (u *ups) connected(ctx context.Context, worker int, work func(conn *sql.Conn) error) error {
	i, err := u.lab.Instance(u.name(worker))
	if err != nil {
		return err
	}
	return lab.Connected(ctx, dbconn.Endpoint{Socket: i.Socket(), Login: i.Endpoint.Login, Database: u.database}, work)
}

// row adds to a case what all of them have; more is done at the end of its Prepare.
func (u *ups) row(c runner.Case, more func(ctx context.Context) error) runner.Case {
	c.Command = u.script("ramaria down "+u.name(0)+" --rm; ramaria up "+u.name(0)+" --from DUMP", fixture.Extended)
	c.Prepare = func(ctx context.Context) error {
		if err := u.data.ReadyForImage(ctx); err != nil {
			return err
		}
		kind, err := u.lab.RAMKind(ctx)
		if err != nil {
			return err
		}
		u.flags = u.data.From(string(kind))
		if err := u.lab.PrepareImage(ctx, kind, u.flags); err != nil || more == nil {
			return err
		}
		return more(ctx)
	}
	c.Check = func(ctx context.Context) error {
		var errs []error
		for n := range u.there {
			errs = append(errs, u.data.VerifyInstance(ctx, u.name(n)))
		}
		return errors.Join(errs...)
	}
	c.Cleanup = func(ctx context.Context) error {
		var errs []error
		for n := range u.there {
			errs = append(errs, u.down(ctx, n))
		}
		return errors.Join(errs...)
	}
	return c
}
