package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// Notes beside the time of a suite.
const (
	besideCommand = "processor time of the command"
	besideServer  = "processor time of the server"
	besideShare   = "busy part of the processors"
)

// errCommand says that a command cannot be run.
var errCommand = errors.New("command not found")

// CheckCommand returns an error if a command cannot be run.
func CheckCommand(argv []string) error {
	if len(argv) == 0 {
		return errors.New("run a suite: there is no command\nhint: ramaria bench suite -- COMMAND")
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		why := errors.Unwrap(err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			why = errCommand
		}
		if errors.Is(err, syscall.EISDIR) {
			why = errors.New("it is a directory")
		}
		return fmt.Errorf("run command %q: %w\nhint: ramaria bench suite -- COMMAND...; sh -c '...' takes what a shell understands", argv[0], why)
	}
	return nil
}

// Scenario measures the user's own test command on a stock server on disk, on one in
// RAM by hand, as it is and with relaxed settings, and on ramaria, in turn; or several ways to run
// the tests, each where it wants. Before each run everything is dropped that the last
// one made on the server, its global variables are put back, and the user's dump is loaded; none
// of it is in the time.
func Scenario(l *lab.Lab, ways []Way) runner.Scenario {
	p := &lab.Data{Lab: l, Database: "app"}
	settings := l.Settings()
	settings["data"] = "an empty database"
	if l.Options.Dump != "" {
		p = l.Data()
		p.Describe(settings)
	}
	for _, w := range ways {
		settings[w.setting()] = strings.Join(w.Argv, " ")
	}
	settings[runner.Written] = "all that the device below " + l.Disk() + " was given, in every row: files of the command's own as well"
	settings["rounds"] = "before those that count the command runs once on each server, so that no row pays for cold caches"
	s := runner.Scenario{
		Name: "suite", Title: "your command, start to end", Unit: runner.Seconds, Rounds: 5, Settings: settings,
		Beside: []runner.Measure{{Name: besideCommand, Unit: runner.Seconds}, {Name: besideServer, Unit: runner.Seconds}, {Name: besideShare, Unit: runner.Count}, {Name: runner.Written, Unit: runner.Bytes}},
	}
	named := slices.ContainsFunc(ways, func(w Way) bool { return w.Name != "" })
	if named {
		s.Beside = append(s.Beside, runner.Measure{Name: besideLeaking, Unit: runner.Count}, runner.Measure{Name: besideLooked, Unit: runner.Count})
	}
	s.Beside = append(s.Beside, lab.FsyncBeside()...)
	var at []lab.Place
	var r lab.Need
	for _, w := range ways {
		for _, place := range w.places(l) {
			s.Cases = append(s.Cases, suiteCase(l, len(at), place, p, w))
			r.Memory += l.ResidentBytes()
			r.AddServer(l, place, l.FreshBytes()+2*p.Size())
			at = append(at, place)
		}
	}
	r.SetIn(&s)
	s.Conclusion = l.IfDisk(slices.ContainsFunc(at, lab.NotInRAM), func(r *runner.Result) string {
		if named {
			return waysConclusion(r)
		}
		return suiteConclusion(r, at)
	})
	return s
}

func suiteCase(l *lab.Lab, number int, at lab.Place, p *lab.Data, w Way) runner.Case {
	if !at.Ramaria && at.Set["character_set_server"] == "" {
		// As the distributions' packages and ramaria have it: what a suite makes is the same.
		at.Set = at.With(map[string]string{"character_set_server": "utf8mb4"}).Set
	}
	name := fmt.Sprintf("suite-%d-%s-%s", number, strings.NewReplacer(":", "-").Replace(at.Name), at.Kind)
	s := &suiteServer{PlacedServer: l.NewServer(at, name), data: p}
	s.TCP = true
	c := &suiteCommand{argv: w.Argv, log: s.logPath()}
	found := &leaks{path: filepath.Join(l.Dir, name+".leaks"), done: w.Name == ""}
	return runner.Case{
		Name: w.row(at), Settings: at.About, Ours: at.Ramaria, Command: suiteAgain(l, at, w),
		Found: s.Describe,
		Prepare: func(ctx context.Context) error {
			if err := CheckCommand(w.Argv); err != nil {
				return err
			}
			if l.Options.Dump != "" {
				if err := p.Ready(ctx); err != nil {
					return err
				}
			}
			return s.prepare(ctx)
		},
		Round: func(ctx context.Context) (runner.Sample, error) {
			if err := s.fresh(ctx); err != nil {
				return runner.Sample{}, err
			}
			return found.during(s.environ(), func(env []string) (runner.Sample, error) {
				return s.measure(ctx, func() (took, cpu time.Duration, err error) { return c.run(ctx, env) })
			})
		},
		Cleanup: s.end,
	}
}

// suiteAgain is the command that repeats one row, "" where it would need quotes.
func suiteAgain(l *lab.Lab, at lab.Place, w Way) string {
	line := strings.Join(w.Argv, " ")
	if w.Name != "" || strings.ContainsAny(line, "\t\n'\"\\$`&|;<>()*?[]#~{}!") || len(strings.Fields(line)) != len(w.Argv) {
		return ""
	}
	return l.RepeatCommand("suite", at, "--", line)
}

// cores is how many processors the command and the server share.
func cores() float64 { return float64(runtime.NumCPU()) }

const (
	// waitedLittle is the part of the time that does not count as waiting for the disk.
	waitedLittle = 0.05
	// allBusy is the part of the processors' time from which on something is bound by them.
	allBusy = 0.8
)

// suiteConclusion says what the command waits for, and what RAM saves. The rows are those of
// the places.
func suiteConclusion(r *runner.Result, at []lab.Place) string {
	var disk, hand, relaxed, ours *runner.Row
	for i, s := range at {
		row := &r.Rows[i]
		switch {
		case math.IsNaN(row.Median) || row.Median <= 0:
		case s.Name == lab.PlaceDisk:
			disk = row
		case s.Name == lab.PlaceRAMByHand:
			hand = row
		case s.Name == lab.PlaceRAMRelaxed:
			relaxed = row
		case s.Name == lab.PlaceRamaria && ours == nil:
			ours = row
		}
	}
	if disk == nil || hand == nil && relaxed == nil && ours == nil {
		return ""
	}
	var saved []string
	for _, row := range []*runner.Row{hand, relaxed, ours} {
		if row == nil {
			continue
		}
		switch part := 1 - row.Median/disk.Median; {
		case part < 0:
			saved = append(saved, row.Name+" saves nothing")
		case !r.Beats(row, disk):
			saved = append(saved, row.Name+" saves nothing that stands out from the noise")
		default:
			saved = append(saved, fmt.Sprintf("%s saves %.0f %%", row.Name, 100*part))
		}
	}
	return waitsFor(r, disk, hand) + "; " + strings.Join(saved, ", ") + "."
}

// waitsFor says what the command waits for: what the same server waits less when only its disk
// is another, it waited for the disk. hand may be nil: nothing is known of the disk then. Only
// all processors together bind a command of which it is unknown how much of it runs at once.
func waitsFor(r *runner.Result, disk, hand *runner.Row) string {
	waited := math.NaN()
	if hand != nil {
		waited = 1 - hand.Median/disk.Median
	}
	busy := (disk.Beside[besideCommand] + disk.Beside[besideServer]) / disk.Median
	text := fmt.Sprintf("%.2f of %.0f processors were busy with it", busy, cores())
	switch {
	case waited > waitedLittle && r.Beats(hand, disk):
		return fmt.Sprintf("it waited for the disk %.0f %% of the time", 100*waited)
	case waited <= waitedLittle && busy >= allBusy*cores():
		return "bound by the processors, not by the disk: " + text
	case waited <= waitedLittle:
		return "it did not wait for the disk: " + text
	}
	return text
}
