package scenario

import (
	"context"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// load is `ramaria load` instead of the client.
func (d *cycleRows) load() runner.Case {
	return d.cycling(runner.Case{
		Name: RowCycleLoad, Ours: true, Settings: "ramaria's settings, in RAM; " + d.shape(fixture.OneRow) + "; the client drops, ramaria load makes and loads",
		Command: d.script("CLIENT -e 'drop database DATABASE'; ramaria load "+d.instance.Name+" DATABASE DUMP", fixture.OneRow),
	}, d.instance, d.file(fixture.OneRow),
		func(ctx context.Context, client lab.ShellClient, path string) error {
			if err := client.Execute(ctx, d.data.Drop(d.data.Database)+lab.Statements("CREATE DATABASE ", d.data.Missing)); err != nil {
				return err
			}
			return d.loadInto(ctx, client, path)
		})
}

// packed is what `ramaria dump pack` makes of the slowest dump, by one call of the client.
func (d *cycleRows) packed() runner.Case {
	return d.cycling(runner.Case{
		Name: RowCyclePacked, Ours: true, Settings: "ramaria's settings, in RAM; ramaria dump pack of " + d.shape(fixture.OneRow) + ", not timed; one call of the client",
		Command: d.script("(echo 'drop database DATABASE; create database DATABASE; use DATABASE;'; ramaria dump pack DUMP -o -) | CLIENT", fixture.OneRow),
	}, d.instance, func(ctx context.Context) (string, error) { return d.packedRecipe(ctx, d.data.Database) },
		func(ctx context.Context, client lab.ShellClient, path string) error {
			return client.File(ctx, "", path)
		})
}

// packedRecipe is the path of what `ramaria dump pack` makes of the recipe of the slowest dump.
func (d *cycleRows) packedRecipe(ctx context.Context, database string) (string, error) {
	path, err := d.data.ReloadScript(database, fixture.OneRow)
	if err != nil {
		return "", err
	}
	packed := filepath.Join(d.lab.Dir, "packed-"+database+".sql")
	_, err = d.lab.Run(ctx, "dump", "pack", path, "-o", packed)
	return packed, err
}
