package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
)

// envShared names the folder of sample dumps, whose data lies in data/ below it; one beside
// the working directory is found without.
const envShared = "RAMARIA_SHARED"

// benchScenario is one of those that `ramaria bench` knows.
type benchScenario struct {
	name   string
	rounds int
	make   func(*bench.Lab) bench.Scenario
	// conclude says in a sentence what the figures mean, "" for nothing.
	conclude func(*bench.Result) string
}

var benchScenarios = []benchScenario{
	{"up", 15, (*bench.Lab).UpScenario, concludeUp},
	{"run", 15, (*bench.Lab).RunScenario, nil},
	{"fleet", 5, (*bench.Lab).FleetScenario, nil},
	{"memory", 3, (*bench.Lab).MemoryScenario, nil},
	{"branch", 11, (*bench.Lab).BranchScenario, concludeBranch},
	{"load", 10, (*bench.Lab).LoadScenario, nil},
	{"reset", 10, (*bench.Lab).ResetScenario, concludeReset},
	{"cycle", 10, (*bench.Lab).CycleScenario, concludeCycle},
	{"log", 5, (*bench.Lab).LogScenario, concludeLog},
	{"update", 5, func(l *bench.Lab) bench.Scenario { return l.PlaceScenario("update", "oltp_update_index") }, nil},
	{"readwrite", 5, func(l *bench.Lab) bench.Scenario { return l.PlaceScenario("readwrite", "oltp_read_write") }, nil},
	{"ram", 2, (*bench.Lab).RAMScenario, nil},
}

func benchNames() []string {
	names := make([]string, len(benchScenarios))
	for i, s := range benchScenarios {
		names[i] = s.name
	}
	return names
}

type benchOptions struct {
	server string
	disk   string
	rounds int
	time   time.Duration
	format string
}

func newBench(a *app) *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [SCENARIO...]",
		Short: "Measure on this machine: stock, by hand, ramaria, side by side",
		Long: "Measure on this machine, side by side, in rounds that take turns. Scenarios: " + strings.Join(benchNames(), ", ") + ";\n" +
			"all of them when none is named. Ctrl-C keeps what was measured.",
		ValidArgs: benchNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBench(cmd.Context(), a, args, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "server `SOFTWARE`, as for up")
	f.StringVar(&o.disk, "disk", "", "`DIR` on the disk to compare with (default: the cache directory)")
	f.IntVar(&o.rounds, "rounds", 0, "counted rounds (default: chosen per scenario)")
	f.DurationVar(&o.time, "time", 3*time.Minute, "at most this long per scenario")
	f.StringVar(&o.format, "format", "table", "table or json (lines)")
	return cmd
}

func runBench(ctx context.Context, a *app, names []string, o benchOptions) error {
	if len(names) == 0 {
		names = benchNames()
	}
	for _, n := range names {
		if !slices.Contains(benchNames(), n) {
			return usageError{fmt.Errorf("run scenario %q: there is none of that name\nhint: ramaria bench %s", n, strings.Join(benchNames(), " "))}
		}
	}
	if o.format != "table" && o.format != "json" {
		return usageError{fmt.Errorf("use format %q: it is table or json\nhint: --format json", o.format)}
	}
	lab, err := a.lab(ctx, o.server, o.disk)
	if err != nil {
		return err
	}
	machine, err := a.machine(ctx, lab)
	if err == nil {
		if o.format == "table" {
			err = machine.Write(a.stdout)
		}
		for _, s := range benchScenarios {
			if err == nil && slices.Contains(names, s.name) {
				err = a.benchOne(ctx, lab, s, machine, o)
			}
		}
	}
	return errors.Join(err, lab.Close(context.WithoutCancel(ctx)))
}

// lab makes a place for measurements, with the server that `up` would take.
func (a *app) lab(ctx context.Context, want, disk string) (*bench.Lab, error) {
	srv, err := a.finder().Find(ctx, want)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if disk == "" {
		disk = filepath.Join(a.places.Cache, "bench")
	}
	lab, err := bench.NewLab(ctx, self, disk, a.host, a.places.Servers(), srv, a.account)
	if err != nil {
		return nil, err
	}
	lab.Sysbench = func(ctx context.Context) (server.Program, error) { return a.finder().Tool(ctx, server.Sysbench) }
	lab.MkfsXFS = a.opener().MkfsXFS
	lab.Samples = filepath.Join(cmp.Or(os.Getenv(envShared), filepath.Join("..", "shared")), "data")
	if lab.Samples, err = filepath.Abs(lab.Samples); err != nil {
		return nil, errors.Join(err, lab.Close(context.WithoutCancel(ctx)))
	}
	return lab, nil
}

// machine collects the facts that a reader needs to believe the figures.
func (a *app) machine(ctx context.Context, lab *bench.Lab) (bench.Machine, error) {
	disk := bench.Place{Name: "disk", Path: lab.Dir}
	if err := disk.MeasureFsync(ctx); err != nil {
		return bench.Machine{}, err
	}
	return bench.ReadMachine(a.host, disk, bench.Place{Name: "shm", Path: filepath.Dir(a.places.Shm)}), nil
}

func (a *app) benchOne(ctx context.Context, lab *bench.Lab, s benchScenario, machine bench.Machine, o benchOptions) error {
	r := bench.Runner{Rounds: s.rounds, MaxTime: o.time, Progress: a.progress(s.name)}
	if o.rounds > 0 {
		r.Rounds = o.rounds
	}
	result, runErr := r.Run(ctx, s.make(lab))
	result.Machine = machine
	if !result.Measured() {
		return runErr
	}
	var err error
	if o.format == "json" {
		err = result.WriteJSON(a.stdout)
	} else {
		fmt.Fprintln(a.stdout)
		f, ok := a.stdout.w.(*os.File)
		err = result.WriteTable(a.stdout, bench.TableOptions{Color: ok && term.IsTerminal(int(f.Fd()))})
		if s.conclude != nil && !result.Interrupted {
			fmt.Fprintln(a.stdout, s.conclude(&result))
		}
	}
	return errors.Join(runErr, err)
}

// progress returns a bar that a Runner drives, or nil without a terminal.
func (a *app) progress(name string) func(done, total int, row string) {
	if !a.terminal {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int, row string) {
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish())
		}
		bar.Describe(name + ": " + row)
		// What a bar cannot draw is nobody's loss.
		_ = bar.Set(done)
		if done == total {
			_ = bar.Finish()
		}
	}
}
