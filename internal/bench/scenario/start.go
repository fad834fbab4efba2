package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// upName is the instance that the scenarios bring up and remove again.
const upName = "bench"

// Names of the rows that conclusions refer to.
const (
	RowStock = "stock server on disk"
	RowRun   = "ramaria run -- CLIENT"
)

// RowBare is the name of the row of a copy and a start by hand.
func RowBare(kind volume.Kind) string {
	if kind == volume.Disk {
		return "cp -a + bare start, disk"
	}
	return "cp -a + bare start, RAM"
}

// RowUp is the name of the row of a volume.
func RowUp(kind volume.Kind) string { return "ramaria up, " + string(kind) }

// UpCase is `ramaria up` from a hot image on a volume, and a query.
func UpCase(l *lab.Lab, name, kind string) runner.Case {
	return upRow(l.Fixture(), name, volume.Kind(kind))
}

// upRow is UpCase with these data; kind "" is that of RamKind.
func upRow(p *lab.Data, name string, kind volume.Kind) runner.Case {
	l := p.Lab
	where, flag := string(kind), " --volume "+string(kind)
	if kind == "" {
		where, flag = "in RAM; a fresh instance, its image built before", ""
	}
	var flags []string
	return runner.Case{
		Name: name, Ours: true, Settings: "ramaria's settings, " + where, Command: "ramaria up " + upName + flag + " --from " + p.FileName(),
		Prepare: func(ctx context.Context) error {
			if err := p.ReadyForImage(ctx); err != nil {
				return err
			}
			if kind == "" {
				var err error
				if kind, err = l.RAMKind(ctx); err != nil {
					return err
				}
			}
			flags = p.From(string(kind))
			return l.PrepareImage(ctx, kind, flags)
		},
		Round: runner.Timed(func(ctx context.Context) error {
			if _, err := l.Run(ctx, append([]string{"up", upName}, flags...)...); err != nil {
				return err
			}
			i, err := l.Instance(upName)
			if err != nil {
				return err
			}
			return p.Query(ctx, i.Endpoint)
		}),
		Check: func(ctx context.Context) error {
			err := p.VerifyInstance(ctx, upName)
			_, downErr := l.Run(context.WithoutCancel(ctx), "down", upName, "--rm")
			return errors.Join(err, downErr)
		},
	}
}

// StockCase is what people do without tools: Initialise a data directory on disk,
// start a server with stock settings, load the dump with the client, ask.
func StockCase(l *lab.Lab) runner.Case { return stockRow(l.Fixture()) }

// stockRow is StockCase with these data.
func stockRow(p *lab.Data) runner.Case {
	l := p.Lab
	dir := filepath.Join(l.Dir, "stock")
	var s *lab.PlainServer
	var recipe string
	return runner.Case{
		Name: RowStock, Settings: "stock settings, initialise + start + load, on " + l.Disk(),
		Prepare: func(ctx context.Context) (err error) {
			if err := p.Ready(ctx); err != nil {
				return err
			}
			recipe, err = p.ReloadScript(p.Database, fixture.Extended)
			return err
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			if err := os.RemoveAll(dir); err != nil {
				return runner.Sample{}, err
			}
			s = &lab.PlainServer{Lab: l, Dir: dir, Set: p.Set()}
			load := func(ctx context.Context) error {
				if err := s.WriteClient(); err != nil {
					return err
				}
				return s.Client(ctx, recipe)
			}
			ask := func(ctx context.Context) error { return p.Query(ctx, s.Endpoint("")) }
			return runner.Timed(func(ctx context.Context) error {
				for _, step := range []func(context.Context) error{s.Initialise, s.Start, load, ask} {
					if err := step(ctx); err != nil {
						return fmt.Errorf("stock server: %w", err)
					}
				}
				return nil
			})(ctx)
		},
		Check: func(ctx context.Context) error {
			err := p.Verify(ctx, s.Endpoint(""), p.Database)
			s.Kill()
			return err
		},
		Cleanup: func(context.Context) error {
			if s != nil {
				s.Kill()
			}
			return os.RemoveAll(dir)
		},
	}
}

// bareRow is the least that any tool must do: copy a loaded data directory on a volume with
// cp -a, and start a server with the same settings on it, and with accounts, up to its first
// handshake.
func bareRow(p *lab.Data, kind volume.Kind) runner.Case {
	return onCopy(p, runner.Case{Name: RowBare(kind), Settings: "ramaria's settings, " + string(kind)}, kind, func(ctx context.Context, s *lab.PlainServer, image string) (runner.Sample, error) {
		began := time.Now()
		if err := s.CopyAndStart(ctx, image); err != nil {
			return runner.Sample{}, fmt.Errorf("bare start: %w", err)
		}
		return runner.Sample{Value: time.Since(began).Seconds()}, nil
	})
}

// onCopy is a case with a server by hand, whose data are to be a copy of the image of these data on
// a volume: round makes the copy, and starts the server.
func onCopy(p *lab.Data, c runner.Case, kind volume.Kind, round func(ctx context.Context, s *lab.PlainServer, image string) (runner.Sample, error)) runner.Case {
	var dir, image string
	var s *lab.PlainServer
	c.Prepare = func(ctx context.Context) error {
		if err := p.ReadyForImage(ctx); err != nil {
			return err
		}
		var err error
		image, dir, err = p.Lab.ImageDirs(ctx, kind, p.From(string(kind)))
		return err
	}
	c.Round = func(ctx context.Context) (runner.Sample, error) {
		s = &lab.PlainServer{Lab: p.Lab, Dir: dir, Volume: string(kind)}
		if err := s.Prepare(); err != nil {
			return runner.Sample{}, err
		}
		return round(ctx, s, image)
	}
	c.Check = func(ctx context.Context) error {
		return errors.Join(p.Verify(ctx, s.Endpoint(""), p.Database), s.Remove())
	}
	c.Cleanup = func(context.Context) error { return s.Remove() }
	return c
}
