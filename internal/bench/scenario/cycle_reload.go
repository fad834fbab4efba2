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

// hands drops, makes and loads each worker's database in each cycle, after three
// changes by a connection that is kept.
func (d *cycleRows) hands(name string) runner.Case {
	h := &byHand{lab: d.lab, data: d.data}
	return d.reloads(runner.Case{
		Name: name, Base: name, Settings: "three rows changed; drop, create and load by one call of the client; ramaria's settings without a binary log, in RAM",
		Command: d.script("(echo 'drop database DATABASE_1; create database DATABASE_1; use DATABASE_1;'; cat DUMP) | CLIENT", fixture.Extended),
		Cleanup: func(context.Context) error { return h.Close() },
	}, "hand", func(_ context.Context, database string) (string, error) {
		return d.data.ReloadScript(database, fixture.Extended)
	},
		func(ctx context.Context) (lab.ShellClient, dbconn.Endpoint, error) {
			if err := h.begin(ctx); err != nil {
				return lab.ShellClient{}, dbconn.Endpoint{}, err
			}
			return lab.ShellClient{Program: d.lab.Server.Client, Config: h.ClientConfig()}, h.Endpoint(""), nil
		})
}

// packs is hands with what `ramaria dump pack` makes of the slowest dump, on ramaria's instance.
func (d *cycleRows) packs(name, base string) runner.Case {
	return d.reloads(runner.Case{
		Name: name, Ours: true, Base: base, Settings: "three rows changed; ramaria dump pack of " + d.shape(fixture.OneRow) + ", not timed; drop, create and load by one call of the client; ramaria's settings, in RAM",
		Command: d.script("(echo 'drop database DATABASE_1; create database DATABASE_1; use DATABASE_1;'; ramaria dump pack DUMP -o -) | CLIENT", fixture.OneRow),
		Cleanup: d.instance.Close,
	}, "packed", d.packedRecipe, func(ctx context.Context) (lab.ShellClient, dbconn.Endpoint, error) {
		client, err := d.begin(ctx, d.instance)
		return client, d.instance.Endpoint, err
	})
}

// reloads is a row of several workers, each with a database of its own, called prefix and its
// number, that is made again by a recipe on the server that begin has.
func (d *cycleRows) reloads(c runner.Case, prefix string, recipe func(ctx context.Context, database string) (string, error), begin func(context.Context) (lab.ShellClient, dbconn.Endpoint, error)) runner.Case {
	type worker struct {
		database, recipe string
		db               *sql.DB
		conn             *sql.Conn
	}
	var workers []*worker
	var client lab.ShellClient
	var at dbconn.Endpoint
	changes, end := worldChanges, c.Cleanup
	c.Prepare = func(ctx context.Context) (err error) {
		if err := d.data.Ready(ctx); err != nil {
			return err
		}
		if d.data.Database == "" || len(d.data.Databases()) > 1 {
			return lab.NotApplicableError("the dump says itself into which database it is loaded: two workers would share it")
		}
		if client, at, err = begin(ctx); err != nil {
			return err
		}
		for n := range cycleWorkers {
			w := &worker{database: fmt.Sprintf("%s_%d", prefix, n+1)}
			workers = append(workers, w)
			if w.recipe, err = recipe(ctx, w.database); err != nil {
				return err
			}
			if err := client.File(ctx, "", w.recipe); err != nil {
				return err
			}
			if w.db, err = dbconn.Open(at.Socket, at.Login, w.database); err != nil {
				return err
			}
			if w.conn, err = w.db.Conn(ctx); err != nil {
				return err
			}
		}
		if d.data.Path != "" {
			changes, err = lab.ChangesIn(ctx, workers[0].conn, workers[0].database)
		}
		return err
	}
	c.Round = func(ctx context.Context) (runner.Sample, error) {
		return d.cycles(ctx, cycleWorkers, func(ctx context.Context, n int) error {
			if err := lab.MakeChanges(ctx, workers[n].conn, changes); err != nil {
				return err
			}
			return client.File(ctx, "", workers[n].recipe)
		})
	}
	c.Check = func(ctx context.Context) error {
		var errs []error
		for _, w := range workers {
			errs = append(errs, d.data.Verify(ctx, at, w.database))
		}
		return errors.Join(errs...)
	}
	c.Cleanup = func(ctx context.Context) error {
		for _, w := range workers {
			if w.conn != nil {
				w.conn.Close()
			}
			if w.db != nil {
				w.db.Close()
			}
		}
		return end(ctx)
	}
	return c
}
