package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// RunScenario measures a whole `ramaria run`.
func RunScenario(l *lab.Lab) runner.Scenario {
	s := runner.Scenario{
		Name: "run", Rounds: 15, Title: "a private server around a command that asks one question, all in all", Unit: runner.Seconds, Settings: l.Settings(), Beside: lab.FsyncBeside(),
	}
	l.SetOnlyRow(lab.Need{Memory: 2*l.FreshBytes() + l.ResidentBytes(), Shm: 2 * l.FreshBytes()}, lab.WithStorage(l.VolumeStorage(volume.Shm), RunCase(l))[0], &s)
	return s
}

// RunCase is `ramaria run` from a hot image.
func RunCase(l *lab.Lab) runner.Case { return runRow(l.Fixture(), volume.Shm) }

// runRow is RunCase with these data.
func runRow(p *lab.Data, kind volume.Kind) runner.Case {
	var flags, asking []string
	var said, want string
	return runner.Case{
		Name: RowRun, Ours: true, Settings: "ramaria's settings, " + string(kind), Command: "ramaria run --volume " + string(kind) + " --from " + p.FileName() + " -- " + string(p.Lab.Server.Flavour) + " -e QUESTION",
		Prepare: func(ctx context.Context) error {
			if err := p.ReadyForImage(ctx); err != nil {
				return err
			}
			flags = p.From(string(kind))
			question, answer := p.Question()
			asking, want = clientCommand(p.Lab.Server.Client, question), answer
			return p.Lab.PrepareImage(ctx, kind, flags)
		},
		Round: runner.Timed(func(ctx context.Context) (err error) {
			said, err = p.Lab.Run(ctx, slices.Concat([]string{"run"}, flags, []string{"--"}, asking)...)
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
