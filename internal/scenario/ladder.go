package scenario

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// load is `ramaria load` instead of the client.
func (d *ladder) load() bench.Case {
	return d.cycling(bench.Case{
		Name: RowCycleLoad, Settings: "ramaria's settings, in RAM; " + d.shape(fixture.OneRow) + "; the client drops, ramaria load makes and loads",
		Command: d.script("CLIENT -e 'drop database DATABASE'; ramaria load "+d.instance.name+" DATABASE DUMP", fixture.OneRow),
	}, d.instance, d.file(fixture.OneRow),
		func(ctx context.Context, client shellClient, path string) error {
			if err := client.execute(ctx, d.payload.drop(d.payload.database)+statements("CREATE DATABASE ", d.payload.missing)); err != nil {
				return err
			}
			return d.loadInto(ctx, client, path)
		})
}

// packed is what `ramaria dump pack` makes of the slowest dump, by one call of the client.
func (d *ladder) packed() bench.Case {
	return d.cycling(bench.Case{
		Name: RowCyclePacked, Settings: "ramaria's settings, in RAM; ramaria dump pack of " + d.shape(fixture.OneRow) + ", not timed; one call of the client",
		Command: d.script("(echo 'drop database DATABASE; create database DATABASE; use DATABASE;'; ramaria dump pack DUMP -o -) | CLIENT", fixture.OneRow),
	}, d.instance, func(ctx context.Context) (string, error) { return d.packedRecipe(ctx, d.payload.database) },
		func(ctx context.Context, client shellClient, path string) error { return client.file(ctx, "", path) })
}

// packedRecipe is the path of what `ramaria dump pack` makes of the recipe of the slowest dump.
func (d *ladder) packedRecipe(ctx context.Context, database string) (string, error) {
	path, err := d.payload.recipe(database, fixture.OneRow)
	if err != nil {
		return "", err
	}
	packed := filepath.Join(d.lab.Dir, "packed-"+database+".sql")
	_, err = d.lab.Run(ctx, "dump", "pack", path, "-o", packed)
	return packed, err
}

// template has the farm made, with the payload as a template, and returns its name.
func (d *ladder) template(ctx context.Context) (string, error) {
	if err := d.payload.imageable(ctx); err != nil {
		return "", err
	}
	name, err := d.payload.single()
	if err != nil {
		return "", err
	}
	return name, d.farm.template(ctx, name)
}

// clones drops a clone and makes another in each cycle.
func (d *ladder) clones(name string) bench.Case {
	var template string
	var one clone
	return bench.Case{
		Name: name, Settings: "a clone dropped and another made, by the HTTP API, no spare ones; ramaria's settings, in RAM",
		Command: d.script("ramaria db drop DATABASE_1; ramaria db new DATABASE", fixture.Extended),
		Prepare: func(ctx context.Context) (err error) {
			template, err = d.template(ctx)
			return err
		},
		Round: func(ctx context.Context) (bench.Sample, error) {
			return d.cycles(ctx, 1, func(ctx context.Context, _ int) error { return one.renew(ctx, d.farm.api, template) })
		},
		Check:   func(ctx context.Context) error { return d.farm.same(ctx, one.Name, template) },
		Cleanup: d.farm.end,
	}
}

// changedClones is clones for several workers, each of which connects to its clone and makes
// the changes of resets and hands before.
func (d *ladder) changedClones(name, base string, workers int) bench.Case {
	var template string
	clones := make([]clone, workers)
	changes := worldChanges
	return bench.Case{
		Name: name, Base: base, Settings: "a connection, three rows changed, the clone dropped and another made, by the HTTP API, no spare ones; ramaria's settings, in RAM",
		Command: d.script("ramaria db drop DATABASE_1; ramaria db new DATABASE", fixture.Extended),
		Prepare: func(ctx context.Context) (err error) {
			if template, err = d.template(ctx); err != nil {
				return err
			}
			for i := range clones {
				if err := clones[i].renew(ctx, d.farm.api, template); err != nil {
					return err
				}
			}
			if d.payload.own != "" {
				changes, err = clones[0].changes(ctx)
			}
			return err
		},
		Round: func(ctx context.Context) (bench.Sample, error) {
			return d.cycles(ctx, workers, func(ctx context.Context, n int) error {
				if err := clones[n].change(ctx, changes); err != nil {
					return err
				}
				return clones[n].renew(ctx, d.farm.api, template)
			})
		},
		Check: func(ctx context.Context) error {
			var errs []error
			for _, c := range clones {
				errs = append(errs, d.farm.same(ctx, c.Name, template))
			}
			return errors.Join(errs...)
		},
		Cleanup: d.farm.end,
	}
}

// resets has the worker's lease reset in each cycle, after three changes.
func (d *ladder) resets(name, base string, workers int) bench.Case {
	var template string
	var leases []*lease
	changes, way := worldChanges, wayRewind
	return bench.Case{
		Name: name, Base: base, Settings: "three rows changed, reset through the HTTP API, connection kept; ramaria's settings, in RAM",
		Command: d.script("ramaria db reset DATABASE_1", fixture.Extended),
		Prepare: func(ctx context.Context) (err error) {
			if template, err = d.template(ctx); err != nil {
				return err
			}
			for range workers {
				w, err := d.farm.newLease(ctx, template)
				if err != nil {
					return err
				}
				leases = append(leases, w)
			}
			if d.payload.own != "" {
				way = "" // which depends on what it is
				changes, err = changesIn(ctx, leases[0].conn, leases[0].Name)
			}
			return err
		},
		Round: func(ctx context.Context) (bench.Sample, error) {
			return d.cycles(ctx, workers, func(ctx context.Context, n int) error {
				_, _, err := leases[n].cycle(ctx, changes, way)
				return err
			})
		},
		Check: func(ctx context.Context) error {
			var errs []error
			for _, w := range leases {
				errs = append(errs, d.farm.same(ctx, w.Name, template))
			}
			return errors.Join(errs...)
		},
		Cleanup: func(ctx context.Context) error {
			for _, w := range leases {
				w.close()
			}
			return d.farm.end(ctx)
		},
	}
}
