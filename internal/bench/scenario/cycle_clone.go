package scenario

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// template starts the instance, with the data as a template, and returns its name.
func (d *cycleRows) template(ctx context.Context) (string, error) {
	if err := d.data.ReadyForImage(ctx); err != nil {
		return "", err
	}
	name, err := d.data.SingleDatabase()
	if err != nil {
		return "", err
	}
	return name, d.templates.AddTemplate(ctx, name)
}

// clones drops a clone and makes another in each cycle.
func (d *cycleRows) clones(name string) runner.Case {
	var template string
	var one clone
	return runner.Case{
		Name: name, Ours: true, Settings: "a clone dropped and another made, by the HTTP API, no spare ones; ramaria's settings, in RAM",
		Command: d.script("ramaria db drop DATABASE_1; ramaria db new DATABASE", fixture.Extended),
		Prepare: func(ctx context.Context) (err error) {
			template, err = d.template(ctx)
			return err
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			return d.cycles(ctx, 1, func(ctx context.Context, _ int) error { return one.renew(ctx, d.templates.API, template) })
		},
		Check:   func(ctx context.Context) error { return d.templates.CheckClone(ctx, one.Name, template) },
		Cleanup: d.templates.Stop,
	}
}

// changedClones is clones for several workers, each of which connects to its clone and makes
// the changes of resets and hands before.
func (d *cycleRows) changedClones(name, base string, workers int) runner.Case {
	var template string
	clones := make([]clone, workers)
	changes := worldChanges
	return runner.Case{
		Name: name, Ours: true, Base: base, Settings: "a connection, three rows changed, the clone dropped and another made, by the HTTP API, no spare ones; ramaria's settings, in RAM",
		Command: d.script("ramaria db drop DATABASE_1; ramaria db new DATABASE", fixture.Extended),
		Prepare: func(ctx context.Context) (err error) {
			if template, err = d.template(ctx); err != nil {
				return err
			}
			for i := range clones {
				if err := clones[i].renew(ctx, d.templates.API, template); err != nil {
					return err
				}
			}
			if d.data.Path != "" {
				changes, err = clones[0].changes(ctx)
			}
			return err
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			return d.cycles(ctx, workers, func(ctx context.Context, n int) error {
				if err := clones[n].change(ctx, changes); err != nil {
					return err
				}
				return clones[n].renew(ctx, d.templates.API, template)
			})
		},
		Check: func(ctx context.Context) error {
			var errs []error
			for _, c := range clones {
				errs = append(errs, d.templates.CheckClone(ctx, c.Name, template))
			}
			return errors.Join(errs...)
		},
		Cleanup: d.templates.Stop,
	}
}

// resets puts the lease of a worker back in each cycle, after three changes.
func (d *cycleRows) resets(name, base string, workers int) runner.Case {
	var template string
	var leases []*lab.Lease
	changes, way := worldChanges, wayRewind
	return runner.Case{
		Name: name, Ours: true, Base: base, Settings: "three rows changed, reset through the HTTP API, connection kept; ramaria's settings, in RAM",
		Command: d.script("ramaria db reset DATABASE_1", fixture.Extended),
		Prepare: func(ctx context.Context) (err error) {
			if template, err = d.template(ctx); err != nil {
				return err
			}
			for range workers {
				w, err := d.templates.NewLease(ctx, template)
				if err != nil {
					return err
				}
				leases = append(leases, w)
			}
			if d.data.Path != "" {
				way = "" // which depends on what it is
				changes, err = lab.ChangesIn(ctx, leases[0].Conn, leases[0].Name)
			}
			return err
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			return d.cycles(ctx, workers, func(ctx context.Context, n int) error {
				_, _, err := leases[n].Cycle(ctx, changes, way)
				return err
			})
		},
		Check: func(ctx context.Context) error {
			var errs []error
			for _, w := range leases {
				errs = append(errs, d.templates.CheckClone(ctx, w.Name, template))
			}
			return errors.Join(errs...)
		},
		Cleanup: func(ctx context.Context) error {
			for _, w := range leases {
				w.Close()
			}
			return d.templates.Stop(ctx)
		},
	}
}

// clone is the database of a worker, which another takes the place of in each cycle.
type clone struct{ client.Database }

// renew drops it, if there is one, and makes another.
func (c *clone) renew(ctx context.Context, api *client.Client, template string) (err error) {
	if c.Name != "" {
		if err := api.DropDatabase(ctx, c.Name); err != nil {
			return err
		}
		c.Name = ""
	}
	c.Database, err = api.NewDatabase(ctx, client.DatabaseRequest{Template: template})
	return err
}

// connected runs work over a connection to it, which is new as the database is.
func (c *clone) connected(ctx context.Context, work func(conn *sql.Conn) error) error {
	return lab.Connected(ctx, dbconn.Endpoint{Socket: c.Socket, Login: dbconn.Login{User: c.User, Password: c.Password}, Database: c.Name}, work)
}

func (c *clone) change(ctx context.Context, list []lab.Change) error {
	return c.connected(ctx, func(conn *sql.Conn) error { return lab.MakeChanges(ctx, conn, list) })
}

// changes are ChangesIn its tables.
func (c *clone) changes(ctx context.Context) (list []lab.Change, err error) {
	err = c.connected(ctx, func(conn *sql.Conn) (err error) {
		list, err = lab.ChangesIn(ctx, conn, c.Name)
		return err
	})
	return list, err
}
