package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server"
)

// hands has each worker's database dropped, made and loaded in each cycle, after three
// changes by a connection that is kept.
func (d *ladder) hands(name string) bench.Case {
	h := &hand{lab: d.lab, payload: d.payload}
	return d.reloads(bench.Case{
		Name: name, Base: name, Settings: "three rows changed; drop, create and load by one call of the client; ramaria's settings without a binary log, in RAM",
		Command: d.script("(echo 'drop database DATABASE_1; create database DATABASE_1; use DATABASE_1;'; cat DUMP) | CLIENT", fixture.Extended),
		Cleanup: func(context.Context) error { return h.close() },
	}, "hand", func(_ context.Context, database string) (string, error) {
		return d.payload.recipe(database, fixture.Extended)
	},
		func(ctx context.Context) (shellClient, server.Endpoint, error) {
			if err := h.begin(ctx); err != nil {
				return shellClient{}, server.Endpoint{}, err
			}
			return shellClient{d.lab.Server.Client, h.clientConfig()}, h.endpoint(""), nil
		})
}

// packs is hands with what `ramaria dump pack` makes of the slowest dump, on ramaria's instance.
func (d *ladder) packs(name, base string) bench.Case {
	return d.reloads(bench.Case{
		Name: name, Base: base, Settings: "three rows changed; ramaria dump pack of " + d.shape(fixture.OneRow) + ", not timed; drop, create and load by one call of the client; ramaria's settings, in RAM",
		Command: d.script("(echo 'drop database DATABASE_1; create database DATABASE_1; use DATABASE_1;'; ramaria dump pack DUMP -o -) | CLIENT", fixture.OneRow),
		Cleanup: d.instance.close,
	}, "packed", d.packedRecipe, func(ctx context.Context) (shellClient, server.Endpoint, error) {
		client, err := d.begin(ctx, d.instance)
		return client, d.instance.endpoint, err
	})
}

// reloads is a row of several workers, each with a database of its own, called prefix and its
// number, that is made anew by a recipe on the server that begin has.
func (d *ladder) reloads(c bench.Case, prefix string, recipe func(ctx context.Context, database string) (string, error), begin func(context.Context) (shellClient, server.Endpoint, error)) bench.Case {
	type worker struct {
		database, recipe string
		db               *sql.DB
		conn             *sql.Conn
	}
	var workers []*worker
	var client shellClient
	var at server.Endpoint
	changes, end := worldChanges, c.Cleanup
	c.Prepare = func(ctx context.Context) (err error) {
		if err := d.payload.ready(ctx); err != nil {
			return err
		}
		if d.payload.database == "" || len(d.payload.databases()) > 1 {
			return leftOutError("the dump says itself into which database it is loaded: two workers would share it")
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
			if err := client.file(ctx, "", w.recipe); err != nil {
				return err
			}
			if w.db, err = server.Open(at.Socket, at.Login, w.database); err != nil {
				return err
			}
			if w.conn, err = w.db.Conn(ctx); err != nil {
				return err
			}
		}
		if d.payload.own != "" {
			changes, err = changesIn(ctx, workers[0].conn, workers[0].database)
		}
		return err
	}
	c.Round = func(ctx context.Context) (bench.Sample, error) {
		return d.cycles(ctx, cycleWorkers, func(ctx context.Context, n int) error {
			if err := makeChanges(ctx, workers[n].conn, changes); err != nil {
				return err
			}
			return client.file(ctx, "", workers[n].recipe)
		})
	}
	c.Check = func(ctx context.Context) error {
		var errs []error
		for _, w := range workers {
			errs = append(errs, d.payload.verify(ctx, at, w.database))
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
