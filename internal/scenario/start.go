package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server"
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

// RunScenario measures a whole `ramaria run`.
func (l *Lab) RunScenario() bench.Scenario {
	s := bench.Scenario{
		Name: "run", Rounds: 15, Title: "a private server around a command that asks one question, all in all", Unit: bench.Seconds, Settings: l.settings(), Beside: fsyncBeside(),
	}
	l.alone(room{memory: 2*l.freshBytes() + l.residentBytes(), shm: 2 * l.freshBytes()}, located(l.onVolume(volume.Shm), l.RunCase())[0], &s)
	return s
}

// settings are those of a scenario whose data is the fixture, sysbenchSettings of one whose
// data sysbench makes.
func (l *Lab) settings() map[string]string {
	settings := map[string]string{
		"server": l.Server.Name(), "origin": l.Server.Origin, "data": "world fixture, 239 + 4079 + 984 rows",
		"ramaria's settings": l.ramariaSettings(),
	}
	if stock := l.Server.Settings(server.Stock, ""); len(stock) > 0 {
		settings["stock settings"] = "the server's defaults, and " + strings.Join(stock, ", ")
	} else {
		settings["stock settings"] = "the server's defaults"
	}
	return settings
}

// ramariaSettings are the options that ramaria gives a server, but for those that say where it is:
// first those of all volumes, then what some have besides.
func (l *Lab) ramariaSettings() string {
	on, of := map[string][]volume.Kind{}, []string{}
	for _, kind := range volume.Kinds {
		for _, option := range l.Server.Settings(server.Run, string(kind)) {
			if on[option] == nil {
				of = append(of, option)
			}
			on[option] = append(on[option], kind)
		}
	}
	var all, some []string
	for _, option := range of {
		if kinds := on[option]; len(kinds) == len(volume.Kinds) {
			all = append(all, option)
		} else {
			some = append(some, fmt.Sprintf("%s on %s", option, joined(kinds)))
		}
	}
	return strings.Join(append(all, some...), ", ")
}

// joined are kinds of volumes in a row.
func joined(kinds []volume.Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, " and ")
}

func (l *Lab) sysbenchSettings(d sysbenchData) map[string]string {
	settings := l.settings()
	settings["data"] = d.String()
	return settings
}

// UpCase is `ramaria up` from a hot image on a volume, and a query.
func (l *Lab) UpCase(name, kind string) bench.Case { return l.fixture().up(name, volume.Kind(kind)) }

// StockCase is what people do without tools: initialise a data directory on disk,
// start a server with stock settings, load the dump with the client, ask.
func (l *Lab) StockCase() bench.Case { return l.fixture().stock() }

// RunCase is `ramaria run` from a hot image.
func (l *Lab) RunCase() bench.Case { return l.fixture().run(volume.Shm) }

// up is UpCase with these data; kind "" is that of ramKind.
func (p *payload) up(name string, kind volume.Kind) bench.Case {
	l := p.lab
	where, flag := string(kind), " --volume "+string(kind)
	if kind == "" {
		where, flag = "in RAM; a fresh instance, its image built before", ""
	}
	var flags []string
	return bench.Case{
		Name: name, Settings: "ramaria's settings, " + where, Command: "ramaria up " + upName + flag + " --from " + p.fileName(),
		Prepare: func(ctx context.Context) error {
			if err := p.imageable(ctx); err != nil {
				return err
			}
			if kind == "" {
				var err error
				if kind, err = l.ramKind(ctx); err != nil {
					return err
				}
			}
			flags = p.from(string(kind))
			return l.buildOn(ctx, kind, flags)
		},
		Round: bench.Timed(func(ctx context.Context) error {
			if _, err := l.Run(ctx, append([]string{"up", upName}, flags...)...); err != nil {
				return err
			}
			i, err := l.instance(upName)
			if err != nil {
				return err
			}
			return p.query(ctx, i.Endpoint)
		}),
		Check: func(ctx context.Context) error {
			err := p.verifyInstance(ctx, upName)
			_, downErr := l.Run(context.WithoutCancel(ctx), "down", upName, "--rm")
			return errors.Join(err, downErr)
		},
	}
}

// run is RunCase with these data.
func (p *payload) run(kind volume.Kind) bench.Case {
	var flags, asking []string
	var said, want string
	return bench.Case{
		Name: RowRun, Settings: "ramaria's settings, " + string(kind), Command: "ramaria run --volume " + string(kind) + " --from " + p.fileName() + " -- " + string(p.lab.Server.Flavour) + " -e QUESTION",
		Prepare: func(ctx context.Context) error {
			if err := p.imageable(ctx); err != nil {
				return err
			}
			flags = p.from(string(kind))
			question, answer := p.question()
			asking, want = clientCommand(p.lab.Server.Client, question), answer
			return p.lab.buildOn(ctx, kind, flags)
		},
		Round: bench.Timed(func(ctx context.Context) (err error) {
			said, err = p.lab.Run(ctx, slices.Concat([]string{"run"}, flags, []string{"--"}, asking)...)
			return err
		}),
		Check: func(context.Context) error {
			if got := strings.TrimRight(said, "\n"); got != want {
				return fmt.Errorf("the command was told %q, not %q", got, want)
			}
			return nil
		},
	}
}

// clientCommand is the client as a command of ramaria run, which finds its server by the
// variables; of the user it has none of its own.
func clientCommand(client server.Program, statement string) []string {
	const script = `exec "$@" --user="$MYSQL_USER" --host=localhost --socket="$MYSQL_UNIX_PORT"`
	return slices.Concat([]string{"sh", "-c", script, "sh", "env"}, client.Env, client.Argv,
		[]string{"--no-defaults", "--default-character-set=utf8mb4", "--batch", "--raw", "--skip-column-names", "--execute=" + statement})
}

// stock is StockCase with these data.
func (p *payload) stock() bench.Case {
	l := p.lab
	dir := filepath.Join(l.Dir, "stock")
	var s *plainServer
	var recipe string
	return bench.Case{
		Name: RowStock, Settings: "stock settings, initialise + start + load, on " + l.Disk(),
		Prepare: func(ctx context.Context) (err error) {
			if err := p.ready(ctx); err != nil {
				return err
			}
			recipe, err = p.recipe(p.database, fixture.Extended)
			return err
		},
		Round: func(ctx context.Context) (bench.Sample, error) {
			if err := os.RemoveAll(dir); err != nil {
				return bench.Sample{}, err
			}
			s = &plainServer{lab: l, dir: dir, set: p.set()}
			load := func(ctx context.Context) error {
				if err := s.writeClient(); err != nil {
					return err
				}
				return s.client(ctx, recipe)
			}
			ask := func(ctx context.Context) error { return p.query(ctx, s.endpoint("")) }
			return bench.Timed(func(ctx context.Context) error {
				for _, step := range []func(context.Context) error{s.initialise, s.start, load, ask} {
					if err := step(ctx); err != nil {
						return fmt.Errorf("stock server: %w", err)
					}
				}
				return nil
			})(ctx)
		},
		Check: func(ctx context.Context) error {
			err := p.verify(ctx, s.endpoint(""), p.database)
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

// bare is the least that any tool must do: copy a loaded data directory on a volume with
// cp -a, and start a server with the same settings on it, and with accounts, up to its first
// handshake.
func (p *payload) bare(kind volume.Kind) bench.Case {
	return p.onCopy(bench.Case{Name: RowBare(kind), Settings: "ramaria's settings, " + string(kind)}, kind, func(ctx context.Context, s *plainServer, image string) (bench.Sample, error) {
		began := time.Now()
		if err := s.copyAndStart(ctx, image); err != nil {
			return bench.Sample{}, fmt.Errorf("bare start: %w", err)
		}
		return bench.Sample{Value: time.Since(began).Seconds()}, nil
	})
}

// onCopy is a case with a server by hand, whose data are to be a copy of the image of these data on
// a volume: round makes the copy, and starts the server.
func (p *payload) onCopy(c bench.Case, kind volume.Kind, round func(ctx context.Context, s *plainServer, image string) (bench.Sample, error)) bench.Case {
	var dir, image string
	var s *plainServer
	c.Prepare = func(ctx context.Context) error {
		if err := p.imageable(ctx); err != nil {
			return err
		}
		var err error
		image, dir, err = p.lab.imageDirs(ctx, kind, p.from(string(kind)))
		return err
	}
	c.Round = func(ctx context.Context) (bench.Sample, error) {
		s = &plainServer{lab: p.lab, dir: dir, volume: string(kind)}
		if err := s.prepare(); err != nil {
			return bench.Sample{}, err
		}
		return round(ctx, s, image)
	}
	c.Check = func(ctx context.Context) error {
		return errors.Join(p.verify(ctx, s.endpoint(""), p.database), s.remove())
	}
	c.Cleanup = func(context.Context) error { return s.remove() }
	return c
}

// imageDirs has an image built, and returns its data directory, and one on the same volume for
// a server by hand.
func (l *Lab) imageDirs(ctx context.Context, kind volume.Kind, flags []string) (image, bare string, err error) {
	id, err := l.imageOn(ctx, kind, flags)
	if err != nil {
		return "", "", err
	}
	v, err := l.volume(ctx, kind)
	if err != nil {
		return "", "", err
	}
	return filepath.Join(v.Dir(), "images", id, "data"), filepath.Join(v.Dir(), "bare"), v.Close()
}
