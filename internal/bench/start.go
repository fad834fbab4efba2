package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// upName is the instance that the scenarios bring up and remove again.
const upName = "bench"

// Names of the rows that conclusions refer to.
const (
	RowStock = "stock server on disk"
	RowBare  = "cp -a + bare start, RAM"
	RowUp    = "ramaria up, hot image"
	RowRun   = "ramaria run -- true"
)

// UpScenario measures the way from nothing to the first answer of a server that
// holds the fixture: stock, with bare means, with `ramaria up`.
func (l *Lab) UpScenario() Scenario {
	return Scenario{
		Name: "up", Title: "from nothing to the first answer of a server with the fixture (5302 rows)", Unit: Seconds,
		Cases: []Case{l.StockCase(), l.BareCase(), l.UpCase(RowUp, "shm")}, Settings: l.settings(),
	}
}

// RunScenario measures a whole `ramaria run`.
func (l *Lab) RunScenario() Scenario {
	return Scenario{
		Name: "run", Title: "a private server around a command that does nothing, all in all", Unit: Seconds,
		Cases: []Case{l.RunCase()}, Settings: l.settings(),
	}
}

func (l *Lab) settings() map[string]string {
	return map[string]string{"server": l.Server.Name(), "origin": l.Server.Origin, "data": "world fixture, 239 + 4079 + 984 rows"}
}

// UpCase is `ramaria up` from a hot image on a volume, and a query.
func (l *Lab) UpCase(name, volume string) Case {
	return Case{
		Name: name, Settings: "ramaria's settings, " + volume,
		Prepare: func(ctx context.Context) error {
			_, err := l.Build(ctx, volume)
			return err
		},
		Round: func(ctx context.Context) (Sample, error) {
			return Timed(func(ctx context.Context) error {
				if _, err := l.Run(ctx, append([]string{"up", upName}, l.From(volume)...)...); err != nil {
					return err
				}
				return l.query(ctx, upName)
			})(ctx)
		},
		Check: func(ctx context.Context) error {
			err := l.verify(ctx, upName)
			_, downErr := l.Run(context.WithoutCancel(ctx), "down", upName, "--rm")
			return errors.Join(err, downErr)
		},
	}
}

// RunCase is `ramaria run` from a hot image.
func (l *Lab) RunCase() Case {
	return Case{
		Name: RowRun, Settings: "ramaria's settings, shm",
		Prepare: func(ctx context.Context) error {
			_, err := l.Build(ctx, "shm")
			return err
		},
		Round: Timed(func(ctx context.Context) error {
			_, err := l.Run(ctx, append(append([]string{"run"}, l.From("shm")...), "--", "true")...)
			return err
		}),
	}
}

// StockCase is what people do without tools: initialise a data directory on disk,
// start a server with stock settings, load the dump with the client, ask.
func (l *Lab) StockCase() Case {
	dir := filepath.Join(l.Dir, "stock")
	var s *plainServer
	return Case{
		Name: RowStock, Settings: "stock settings, initialise + start + load, on " + l.Dir,
		Round: func(ctx context.Context) (Sample, error) {
			if err := os.RemoveAll(dir); err != nil {
				return Sample{}, err
			}
			s = &plainServer{lab: l, dir: dir}
			return Timed(func(ctx context.Context) error {
				for _, step := range []func(context.Context) error{s.initialise, s.start, s.load, s.query} {
					if err := step(ctx); err != nil {
						return fmt.Errorf("stock server: %w", err)
					}
				}
				return nil
			})(ctx)
		},
		Check: func(ctx context.Context) error {
			err := s.verify(ctx)
			s.kill()
			return err
		},
		Cleanup: func(context.Context) error {
			if s != nil {
				s.kill()
			}
			return os.RemoveAll(dir)
		},
	}
}

// BareCase is the least that any tool must do: copy a loaded data directory in
// RAM with cp -a, and start a server with the same settings on it, up to its
// first handshake.
func (l *Lab) BareCase() Case {
	var dir, image string
	var s *plainServer
	return Case{
		Name: RowBare, Settings: "ramaria's settings, shm",
		Prepare: func(ctx context.Context) error {
			id, err := l.Build(ctx, "shm")
			if err != nil {
				return err
			}
			shm, err := l.shm()
			if err != nil {
				return err
			}
			image = filepath.Join(shm, "images", id, "data")
			dir = filepath.Join(shm, "bare")
			return nil
		},
		Round: func(ctx context.Context) (Sample, error) {
			s = &plainServer{lab: l, dir: dir}
			if err := s.prepare(); err != nil {
				return Sample{}, err
			}
			began := time.Now()
			if err := s.copyAndStart(ctx, image); err != nil {
				return Sample{}, fmt.Errorf("bare start: %w", err)
			}
			return Sample{Value: time.Since(began).Seconds()}, nil
		},
		Check:   func(context.Context) error { return s.remove() },
		Cleanup: func(context.Context) error { return s.remove() },
	}
}
