package scenario

import (
	"context"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// RowLoadOwn is the client with the user's own dump.
const RowLoadOwn = "client"

// ownLoadScenario measures loading the user's dump.
func ownLoadScenario(l *lab.Lab) runner.Scenario {
	d := newCycleRows(l)
	files := 3*l.FreshBytes() + 7*d.data.Size()
	return runner.Scenario{
		Name: "load", Conclusion: loadConclusion, Title: "load your dump into an empty database of a running instance in RAM, start of the program included", Unit: runner.Seconds, Settings: d.settings, Beside: lab.FsyncBeside(),
		Disk: 3 * d.data.Size(), Memory: 2*l.ResidentBytes() + files, Shm: l.SharedMemoryOfRAM(files),
		Cases: []runner.Case{
			d.ownLoad(RowLoadOwn, "CLIENT DATABASE < DUMP", d.file(fixture.OneRow), d.send),
			d.ownLoad(RowLoadPacked, "ramaria dump pack DUMP -o packed.sql; CLIENT DATABASE < packed.sql", func(ctx context.Context) (string, error) {
				packed := filepath.Join(l.Dir, "own-packed.sql")
				_, err := l.Run(ctx, "dump", "pack", d.data.Text, "-o", packed)
				return packed, err
			}, d.send),
			d.ownLoad(RowLoad, "ramaria load "+d.instance.Name+" DATABASE DUMP", d.file(fixture.OneRow), d.loadInto),
			lab.WithStorage(l.VolumeStorage(""), upRow(d.data, RowLoadImage, ""))[0], // myloader reads nothing but what mydumper wrote
		},
	}
}

// ownLoad is a row that loads the dump, when what the last one made is gone.
func (d *cycleRows) ownLoad(name, script string, path func(context.Context) (string, error), load func(context.Context, lab.ShellClient, string) error) runner.Case {
	return d.client(runner.Case{Name: name, Ours: name == RowLoad, Settings: "ramaria's settings, in RAM", Command: d.script(script, fixture.OneRow)}, d.instance, path,
		func(ctx context.Context, client lab.ShellClient, path string) (runner.Sample, error) {
			if err := client.Execute(ctx, d.data.Drop(d.data.Database)+d.data.Create(d.data.Database)); err != nil {
				return runner.Sample{}, err
			}
			began := time.Now()
			err := load(ctx, client, path)
			return runner.Sample{Value: time.Since(began).Seconds()}, err
		})
}

// send loads a file by the client.
func (d *cycleRows) send(ctx context.Context, client lab.ShellClient, path string) error {
	return client.File(ctx, d.data.Database, path)
}

// loadInto loads a file by ramaria load.
func (d *cycleRows) loadInto(ctx context.Context, _ lab.ShellClient, path string) error {
	args := []string{"load", d.instance.Name, d.data.Database, path}
	if d.data.Database == "" {
		// A dump that says itself where it belongs goes there, as by the client.
		args = []string{"load", "--own-names", d.instance.Name, loadingDatabase, path}
	}
	_, err := d.lab.Run(ctx, args...)
	return err
}
