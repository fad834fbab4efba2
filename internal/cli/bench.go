package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/durable"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/suite"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	benchAll   = "all"
	benchSuite = "suite"
	// quickTime bounds a scenario of a quick run.
	quickTime = 20 * time.Second
)

// benchNames are the scenarios, and what stands for several of them.
func benchNames() []string {
	var names []string
	for _, k := range scenario.Kinds {
		names = append(names, k.Name)
	}
	return append(names, benchSuite, benchAll)
}

// benchAbout lists the scenarios.
func benchAbout() string {
	var b strings.Builder
	for _, k := range scenario.Kinds {
		fmt.Fprintf(&b, "  %-10s %s\n", k.Name, k.About)
	}
	fmt.Fprintf(&b, "  %-10s %s\n", benchSuite, scenario.SuiteKind().About)
	fmt.Fprintf(&b, "  %-10s %s", benchAll, "all but suite: an hour or more, with --quick five minutes")
	return b.String()
}

type benchOptions struct {
	server  string
	disk    string
	rounds  int
	counted bool // rounds is what was asked for, not what is left to the scenario
	time    time.Duration
	bounded bool // by the time, whatever comes of it
	volumes []string
	writes  []string
	options lab.Options
	output  benchOutput
	command []string // of the suite
	named   []string // ways of the suite, as they were typed
	ways    []suite.Way
}

func newBench(a *app) *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [SCENARIO...] [-- COMMAND...]",
		Short: "Measure on this machine: stock, by hand, ramaria, side by side",
		Long: "Measure on this machine, side by side, in rounds that take turns. Every round's result is\n" +
			"checked. Ctrl-C keeps what was measured. Without a scenario, list them.\n\nScenarios:\n" + benchAbout(),
		Example: `  ramaria bench cycle fork --report out.html
  ramaria bench all --quick
  ramaria bench oltp --place disk --place ramaria --threads 1,8,64
  ramaria bench durable --disk-writes 500,3000,none --report out.html
  ramaria bench load --dump mine.sql.gz
  ramaria bench suite -- go test ./...
  ramaria bench suite --way 'truncate@disk=make test' --way 'reset@ramaria=make test-ramaria'`,
		ValidArgs: benchNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := args
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				names, o.command = args[:n], args[n:]
			}
			if o.options.Quick && !cmd.Flags().Changed("time") {
				o.time = quickTime
			}
			// A scenario that is asked for by its name has all its rows, however quick.
			o.counted = cmd.Flags().Changed("rounds")
			o.bounded = cmd.Flags().Changed("time") || o.options.Quick && slices.Contains(names, benchAll)
			if len(names) == 0 && len(o.command) == 0 && len(o.named) == 0 {
				return listBench(cmd, a)
			}
			return runBench(cmd.Context(), a, names, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.server, "server", "", "server `SOFTWARE`, as for up")
	f.StringVar(&o.disk, "disk", "", "`DIR` on the disk to compare with (default: the cache directory)")
	f.IntVar(&o.rounds, "rounds", 0, "counted rounds (default: chosen per scenario)")
	f.DurationVar(&o.time, "time", 10*time.Minute, "limit per scenario, preparation included; a round that exceeds it by half is cut off. Unless it is given, one round of every row is finished, however long that takes")
	f.StringSliceVar(&o.options.Places, "place", nil, "only these `PLACES`: "+strings.Join(lab.PlaceNames(), ", "))
	f.StringSliceVar(&o.volumes, "volume", nil, "`VOLUMES` of ramaria's rows (default: as for up)")
	f.IntSliceVar(&o.options.Threads, "threads", nil, "`NUMBERS` of threads of sysbench (default: oltp 1,2,4,8,16,32,64; durable 1,8,32)")
	f.StringSliceVar(&o.options.Workloads, "workload", nil, "`WORKLOADS` of sysbench for durable, of those that write: "+strings.Join(lab.WriteWorkloads, ", ")+" (default: "+strings.Join(durable.Workloads, ",")+")")
	f.StringSliceVar(&o.writes, "disk-writes", nil, "for durable: hold the disk to `NUMBERS` of writes a second, by a control group, as root; "+durable.NoLimit+" is the disk as it is")
	f.Float64Var(&o.options.Scale, "scale", 1, "multiply the sizes of data by this")
	f.StringVar(&o.options.Dump, "dump", "", "your own dump `FILE`, for cycle, fork, load and suite")
	f.StringArrayVar(&o.named, "way", nil, "for suite: `NAME[@PLACE]=COMMAND`, a way to keep tests apart, the server that it has, and the command that runs the tests so; repeat it to compare")
	f.BoolVar(&o.options.Quick, "quick", false, "small data, few rounds, nothing that takes long to prepare: all in five minutes; a scenario that is named has every row at least once")
	o.output.flags(f)
	o.output.saveFlag(f)
	cmd.AddCommand(newBenchCompare(a), newBenchReport(a), newBenchFsync(a), newBenchSwap(a), newBenchWrite(a))
	return cmd
}

// listBench says what there is to measure, and how long all of it takes.
func listBench(cmd *cobra.Command, a *app) error {
	typed := false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { typed = typed || f.Changed })
	if typed {
		return usageError{errors.New("measure: no scenario is named\nhint: ramaria bench all --quick")}
	}
	_, err := fmt.Fprintf(a.stdout, "Scenarios:\n%s\n\nTo begin with: ramaria bench all --quick\n", benchAbout())
	return err
}

func runBench(ctx context.Context, a *app, names []string, o benchOptions) (err error) {
	kinds, err := o.kinds(names)
	if err != nil {
		return usageError{err}
	}
	if err := o.check(); err != nil {
		return usageError{err}
	}
	all := slices.Contains(names, benchAll)
	if err := o.fit(a, kinds, all); err != nil {
		return usageError{err}
	}
	out, err := o.output.open(a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	lab, err := a.lab(ctx, o.server, o.disk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close(context.WithoutCancel(ctx))) }()
	machine, err := a.machine(ctx, lab)
	if err != nil {
		return err
	}
	lab.Options = o.options
	if err := o.holdDisk(ctx, a, lab, all); err != nil {
		return err
	}
	tasks, err := o.tasks(a, lab, kinds, all)
	if err != nil {
		return err
	}
	if err := out.begin(machine); err != nil {
		return err
	}
	m := measuring{app: a, options: &o, out: out, machine: machine, all: all, begin: func(ctx context.Context, s runner.Scenario) error {
		return lab.Begin(ctx, s, scenario.Scalable(s.Name))
	}}
	return errors.Join(m.run(ctx, tasks), out.end())
}

// kinds are the scenarios that were named.
func (o *benchOptions) kinds(names []string) ([]scenario.Kind, error) {
	for _, n := range names {
		if !slices.Contains(benchNames(), n) {
			return nil, fmt.Errorf("run scenario %q: not found\nhint: ramaria bench %s", n, strings.Join(benchNames(), " "))
		}
	}
	withSuite := slices.Contains(names, benchSuite) || len(names) == 0
	if err := o.readWays(); err != nil {
		return nil, err
	}
	if withSuite != (len(o.ways) > 0) {
		return nil, errors.New("suite is the scenario that takes a command\nhint: ramaria bench suite -- COMMAND")
	}
	var kinds []scenario.Kind
	for _, k := range scenario.Kinds {
		tooSlow := k.Slow && o.options.Quick
		if slices.Contains(names, k.Name) || slices.Contains(names, benchAll) && !tooSlow {
			kinds = append(kinds, k)
		}
	}
	if withSuite {
		kinds = append(kinds, scenario.SuiteKind(o.ways...))
	}
	return kinds, nil
}

// readWays reads the ways of the suite: those that have a name, or the one command.
func (o *benchOptions) readWays() error {
	if len(o.named) > 0 && len(o.command) > 0 {
		return errors.New("suite takes a command or --way, not both\nhint: --way NAME=COMMAND")
	}
	if len(o.command) > 0 {
		o.ways = []suite.Way{{Argv: o.command}}
	}
	for _, text := range o.named {
		w, err := suite.ParseWay(text)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(o.ways, w.Meets) {
			return fmt.Errorf("use way %q: there is one of this name and place already; one without a place is in all of them\nhint: give it another name", text)
		}
		o.ways = append(o.ways, w)
	}
	if len(o.options.Places) > 0 && len(o.ways) > 0 && !slices.ContainsFunc(o.ways, func(w suite.Way) bool { return w.Place == "" }) {
		return errors.New("use --place: each --way names its place\nhint: --way NAME=COMMAND is run in the places of --place")
	}
	return nil
}

// check checks the flags before anything is begun.
func (o *benchOptions) check() error {
	if err := lab.CheckPlaces(o.options.Places); err != nil {
		return err
	}
	if len(o.command) > 0 {
		if err := suite.CheckCommand(o.command); err != nil {
			return err
		}
	}
	for _, name := range o.volumes {
		spec, err := volume.ParseSpec(name)
		if err != nil {
			return err
		}
		if spec.Size != 0 || spec.Kind == volume.Auto {
			return fmt.Errorf("use volume %q: it must be a kind alone\nhint: --volume xfs", name)
		}
		o.options.Volumes = append(o.options.Volumes, spec.Kind)
	}
	o.options.Places, o.volumes, o.options.Volumes, o.options.Threads = lab.Unique(o.options.Places), lab.Unique(o.volumes), lab.Unique(o.options.Volumes), lab.Unique(o.options.Threads)
	o.options.Workloads = lab.Unique(o.options.Workloads)
	if o.rounds < 0 || o.rounds > runner.MaxRounds || o.rounds == 0 && o.counted {
		return fmt.Errorf("use %d rounds: it must be between 1 and %d", o.rounds, runner.MaxRounds)
	}
	for _, n := range o.options.Threads {
		if n < 1 || n > lab.MaxThreads {
			return fmt.Errorf("use %d threads: it must be between 1 and %d", n, lab.MaxThreads)
		}
	}
	for _, name := range o.options.Workloads {
		if !slices.Contains(lab.WriteWorkloads, name) {
			return fmt.Errorf("use workload %q: it is none that writes\nhint: %s", name, strings.Join(lab.WriteWorkloads, ", "))
		}
	}
	var err error
	if o.options.DiskWrites, err = parseDiskWrites(o.writes); err != nil {
		return err
	}
	if s := o.options.Scale; !(s > 0 && s <= lab.MaxScale) {
		return fmt.Errorf("use scale %g: it must be above 0 and at most %d", s, lab.MaxScale)
	}
	if o.time <= 0 {
		return fmt.Errorf("use time %s: it must be above 0\nhint: --time 1m", o.time)
	}
	if o.options.Dump != "" {
		path, err := filepath.Abs(o.options.Dump)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("use dump: %w", err)
		}
		if info.IsDir() {
			return fmt.Errorf("use dump %s: it is a directory\nhint: --dump FILE, as mysqldump writes it", path)
		}
		o.options.Dump = path
	}
	return checkFormat(o.output.format, formatCSV)
}

// lab makes a place for measurements, with the server that `up` would take.
func (a *app) lab(ctx context.Context, want, disk string) (*lab.Lab, error) {
	srv, err := a.engine.Finder().Find(ctx, want)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if disk == "" {
		disk = filepath.Join(a.engine.Places.Cache, "bench")
	}
	lab, err := lab.New(ctx, self, disk, a.engine.Host, a.engine.Places.Servers(), srv, a.engine.Account)
	if err != nil {
		return nil, err
	}
	lab.Sysbench = func(ctx context.Context) (server.Program, error) {
		return a.engine.Finder().Tool(ctx, software.Sysbench)
	}
	lab.MkfsXFS = a.engine.Opener().MkfsXFS
	return lab, nil
}

// machine collects the facts that a reader needs to believe the figures. A directory that is full
// has no fsync times, one that is not there no facts: the rows that need it say so themselves.
func (a *app) machine(ctx context.Context, lab *lab.Lab) (runner.Machine, error) {
	var directories []runner.Directory
	for _, d := range []runner.Directory{{Name: "disk", Path: lab.Disk()}, {Name: "shm", Path: filepath.Dir(a.engine.Places.Shm)}} {
		err := d.MeasureFsync(ctx)
		if ctx.Err() != nil {
			return runner.Machine{}, err
		}
		if err != nil {
			a.say("facts of %s are missing: %v", d.Name, err)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			directories = append(directories, d)
		}
	}
	return runner.ReadMachine(a.engine.Host, directories...), nil
}
