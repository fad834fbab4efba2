package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// demoRounds is how often each row of the demo is measured.
const demoRounds = 5

func newDemo(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See what ramaria does on this machine, in a minute",
		Long: `See what ramaria does on this machine, in a minute. It measures a server with generated
data (5302 rows): brought up in the stock way on disk, by ramaria in RAM, as a branch of
a running one, and a hundred changes undone. Nothing stays behind but fetched server
software.`,
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), a)
		},
	}
}

func runDemo(ctx context.Context, a *app) error {
	lab, err := a.lab(ctx, "", "")
	if err != nil {
		return err
	}
	return errors.Join(a.demo(ctx, lab), lab.Close(context.WithoutCancel(ctx)))
}

func (a *app) demo(ctx context.Context, lab *lab.Lab) error {
	machine, err := a.machine(ctx, lab)
	if err != nil {
		return err
	}
	if err := machine.Write(a.stdout); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\nA fresh %s %s with 5302 rows in 3 tables, from nothing to its first answer:\n\n", lab.Server.Flavour, lab.Server.Version)
	kind, _, err := a.engine.Opener().Foresee(ctx)
	if err != nil {
		return err
	}
	build, err := a.demoBuild(ctx, lab, kind)
	if err != nil {
		return err
	}
	servers := runner.Scenario{
		Name: "demo", Title: "a fresh server with data", Unit: runner.Seconds,
		Cases: []runner.Case{scenario.StockCase(lab), scenario.UpCase(lab, "ramaria up, on disk", "disk"), scenario.UpCase(lab, "ramaria up, in RAM", string(kind)), scenario.RunCase(lab), scenario.BranchCase(lab, rowBranch, kind)},
	}
	r := runner.Runner{Rounds: demoRounds, MaxTime: time.Minute, Progress: a.progress("demo")}
	result, err := r.Run(ctx, servers)
	if !result.Measured() {
		return err
	}
	a.demoTable(result)
	fmt.Fprintf(a.stdout, "\nThe first time, ramaria builds the image: %s here; after that each `up` clones it.\n%d rounds in turn, every row of the data checked in each.\n",
		runner.Seconds.Format(build.Seconds()), result.Rows[0].Rounds)
	if err != nil {
		return err
	}
	if err := a.demoReset(ctx, lab); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, "\nYour turn:")
	if dir := notOnPath(); dir != "" {
		fmt.Fprintf(a.stdout, "  export PATH=%s:\"$PATH\"\n", server.ShellWord(dir))
	}
	fmt.Fprintf(a.stdout, `  ramaria up --from dump.sql        your data in RAM; prints the DSN
  ramaria run -- your test command  a private server around a command
  ramaria branch main try-it        a second server, with the data of the first as it is now
  ramaria up --fresh                back to the clean data
  ramaria template add DATABASE     clones of it for tests: ramaria db new, ramaria db reset
`)
	return nil
}

// notOnPath returns the directory of this program where the shell would not find it, as after
// make demo in a clone; else "".
func notOnPath() string {
	self, err := os.Executable()
	if _, found := exec.LookPath("ramaria"); err != nil || found == nil {
		return ""
	}
	return filepath.Dir(self)
}

// demoReset shows a database put back in RAM, in two ways.
func (a *app) demoReset(ctx context.Context, lab *lab.Lab) error {
	r := runner.Runner{Rounds: demoRounds, MaxTime: time.Minute, Progress: a.progress("demo")}
	result, err := r.Run(ctx, scenario.HundredScenario(lab))
	if !result.Measured() {
		return err
	}
	fmt.Fprintf(a.stdout, "\nA hundred changed rows of a database in RAM, undone:\n\n")
	a.demoTable(result)
	return err
}

// demoBuild measures the first time, when the image is built.
func (a *app) demoBuild(ctx context.Context, lab *lab.Lab, kind volume.Kind) (time.Duration, error) {
	began := time.Now()
	_, err := lab.Build(ctx, string(kind))
	return time.Since(began), err
}

const rowBranch = "ramaria branch"

// demoNotes explains the rows in a few words.
var demoNotes = map[string]string{
	scenario.RowStock:   "initialise, start, load the dump",
	scenario.RowRun:     "up, a command, and gone again",
	rowBranch:           "a second server on the data of a running one",
	scenario.RowHand:    "one session of the client: the usual way",
	scenario.RowHundred: "the changes undone, counters too",
}

func (a *app) demoTable(result runner.Result) {
	t := newTable("", "MEDIAN", "TIMES FASTER", "TIME")
	for _, row := range result.Rows {
		ratio := fmt.Sprintf("%12.1f", row.Ratio)
		t.row(row.Name, fmt.Sprintf("%9s", runner.Seconds.Format(row.Median)), ratio, demoBar(result.Rows[0].Median, row.Median)+"  "+demoNotes[row.Name])
	}
	t.print(a.stdout)
}

// demoBar draws a time as a share of the longest.
func demoBar(longest, t float64) string {
	const width = 20
	n := int(t/longest*width + 0.5)
	return strings.Repeat("█", max(1, min(n, width))) + strings.Repeat("·", max(0, width-max(1, n)))
}
