package scenario

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// RowLoadOwn is the client with the user's own dump.
const RowLoadOwn = "client"

// ownLoadScenario measures loading the user's dump.
func (l *Lab) ownLoadScenario() bench.Scenario {
	d := l.ladder()
	files := 3*l.freshBytes() + 7*d.payload.size()
	return bench.Scenario{
		Name: "load", Conclude: concludeLoad, Title: "load your dump into an empty database of a running instance in RAM, start of the program included", Unit: bench.Seconds, Settings: d.settings, Beside: fsyncBeside(),
		Disk: 3 * d.payload.size(), Memory: 2*l.residentBytes() + files, Shm: l.shmOfRAM(files),
		Cases: []bench.Case{
			d.ownLoad(RowLoadOwn, "CLIENT DATABASE < DUMP", d.file(fixture.OneRow), d.send),
			d.ownLoad(RowLoadPacked, "ramaria dump pack DUMP -o packed.sql; CLIENT DATABASE < packed.sql", func(ctx context.Context) (string, error) {
				packed := filepath.Join(l.Dir, "own-packed.sql")
				_, err := l.Run(ctx, "dump", "pack", d.payload.text, "-o", packed)
				return packed, err
			}, d.send),
			d.ownLoad(RowLoad, "ramaria load "+d.instance.name+" DATABASE DUMP", d.file(fixture.OneRow), d.loadInto),
			located(l.onVolume(""), d.payload.up(RowLoadImage, ""))[0], // myloader reads nothing but what mydumper wrote
		},
	}
}

// ownLoad is a row that loads the dump, when what the last one made is gone.
func (d *ladder) ownLoad(name, script string, path func(context.Context) (string, error), load func(context.Context, shellClient, string) error) bench.Case {
	return d.client(bench.Case{Name: name, Settings: "ramaria's settings, in RAM", Command: d.script(script, fixture.OneRow)}, d.instance, path,
		func(ctx context.Context, client shellClient, path string) (bench.Sample, error) {
			if err := client.execute(ctx, d.payload.drop(d.payload.database)+d.payload.create(d.payload.database)); err != nil {
				return bench.Sample{}, err
			}
			began := time.Now()
			err := load(ctx, client, path)
			return bench.Sample{Value: time.Since(began).Seconds()}, err
		})
}

// send has the client load a file.
func (d *ladder) send(ctx context.Context, client shellClient, path string) error {
	return client.file(ctx, d.payload.database, path)
}

// loadInto has ramaria load a file.
func (d *ladder) loadInto(ctx context.Context, _ shellClient, path string) error {
	args := []string{"load", d.instance.name, d.payload.database, path}
	if d.payload.database == "" {
		// A dump that says itself where it belongs goes there, as by the client.
		args = []string{"load", "--own-names", d.instance.name, loadingDatabase, path}
	}
	_, err := d.lab.Run(ctx, args...)
	return err
}
