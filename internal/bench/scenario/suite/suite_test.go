package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

func shell(t *testing.T, script string) *suiteCommand {
	t.Helper()
	return &suiteCommand{argv: []string{"sh", "-c", script}, log: filepath.Join(t.TempDir(), "log")}
}

// TestSuiteCommand measures what the command and its children did.
func TestSuiteCommand(t *testing.T) {
	c := shell(t, `echo "$WORD"; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; (sleep 0.1)`)
	took, cpu, err := c.run(t.Context(), append(os.Environ(), "WORD=heard"))
	if err != nil {
		t.Fatal(err)
	}
	if took < 100*time.Millisecond || cpu <= 0 || cpu > 2*took {
		t.Errorf("it took %s, and %s of processors", took, cpu)
	}
	if said := c.tail(); said != "  heard" {
		t.Errorf("it said %q", said)
	}
}

func TestSuiteCommandFails(t *testing.T) {
	for script, want := range map[string]string{
		"echo why; exit 3": "sh -c echo why; exit 3: it exited with status 3; its last lines:\n  why",
		"kill -9 $$":       "sh -c kill -9 $$: it was killed by signal 9 (killed); its last lines:\n  (nothing)",
	} {
		_, _, err := shell(t, script).run(t.Context(), os.Environ())
		if err == nil || err.Error() != want {
			t.Errorf("%q: error %v\nwant %s", script, err, want)
		}
	}
}

// TestSuiteCommandShowsItsEnd shows lines, and not all of them.
func TestSuiteCommandShowsItsEnd(t *testing.T) {
	c := shell(t, "")
	if err := os.WriteFile(c.log, []byte(strings.Repeat("x", 3*suiteTail)+strings.Repeat("\nline", 30)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := c.tail(); said != strings.TrimSuffix(strings.Repeat("  line\n", suiteLines), "\n") {
		t.Errorf("it said %q", said)
	}
}

// TestSuiteCommandLeavesNobody ends what the command left running, with it and with the run.
func TestSuiteCommandLeavesNobody(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	left := "sleep 1000 & echo $! > " + pid + ".new; mv " + pid + ".new " + pid
	if _, _, err := shell(t, left).run(t.Context(), os.Environ()); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, pid)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range 1000 {
			if _, err := os.Stat(pid); err == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, _, err := shell(t, left+"; wait").run(ctx, os.Environ()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that it was interrupted", err)
	}
	awaitGone(t, pid)
}

// awaitGone waits for the end of a process, whose number it takes out of a file.
func awaitGone(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if syscall.Kill(pid, 0) != nil || zombie(pid) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// zombie reports whether a process has ended and its parent has not yet waited for it.
func zombie(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func TestCheckCommand(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"sh": "", "no-such-program": "command not found", plain: "permission denied", t.TempDir(): "directory"} {
		err := CheckCommand([]string{name})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("command %s: %v, want %q", name, err, want)
		}
	}
	if CheckCommand(nil) == nil {
		t.Error("no command is none")
	}
}

func TestSuiteConclusion(t *testing.T) {
	row := func(name string, median, busy float64) runner.Row {
		return runner.Row{
			Name: name, Rounds: 3, Samples: []float64{median * 0.99, median, median * 1.01}, Stats: runner.Stats{Count: 3, Median: median},
			Beside: map[string]float64{besideCommand: busy / 2, besideServer: busy / 2},
		}
	}
	at := func(rows []runner.Row) (list []lab.Place) {
		for _, row := range rows {
			name := map[string]string{"stock, disk": lab.PlaceDisk, "stock, /dev/shm": lab.PlaceRAMByHand, "relaxed, /dev/shm": lab.PlaceRAMRelaxed, "ramaria, xfs": lab.PlaceRamaria}[row.Name]
			list = append(list, lab.Place{Name: name})
		}
		return list
	}
	wide := func(r runner.Row, least, most float64) runner.Row {
		r.Samples = []float64{least, r.Median, most}
		return r
	}
	busy := " of " + strconv.Itoa(int(cores())) + " processors were busy with it; "
	for want, rows := range map[string][]runner.Row{
		"it waited for the disk 30 % of the time; stock, /dev/shm saves 30 %, ramaria, xfs saves 40 %.": {
			row("stock, disk", 10, 2), row("stock, /dev/shm", 7, 2), row("ramaria, xfs", 6, 2),
		},
		"it waited for the disk 30 % of the time; stock, /dev/shm saves 30 %, relaxed, /dev/shm saves 35 %, ramaria, xfs saves 40 %.": {
			row("stock, disk", 10, 2), row("stock, /dev/shm", 7, 2), row("relaxed, /dev/shm", 6.5, 2), row("ramaria, xfs", 6, 2),
		},
		fmt.Sprintf("bound by the processors, not by the disk: %.2f", 0.9*cores()) + busy + "stock, /dev/shm saves nothing that stands out from the noise, ramaria, xfs saves nothing.": {
			row("stock, disk", 10, 9*cores()), row("stock, /dev/shm", 9.7, 9*cores()), row("ramaria, xfs", 10.5, 9*cores()),
		},
		"it did not wait for the disk: 0.10" + busy + "stock, /dev/shm saves nothing that stands out from the noise.": {
			row("stock, disk", 10, 1), row("stock, /dev/shm", 9.9, 1),
		},
		"0.10" + busy + "ramaria, xfs saves 50 %.": {row("stock, disk", 10, 1), row("ramaria, xfs", 5, 1)},
		// 7 % less, but not in every round.
		"0.10" + busy + "stock, /dev/shm saves nothing that stands out from the noise.": {
			wide(row("stock, disk", 10, 1), 9, 11), wide(row("stock, /dev/shm", 9.3, 1), 9, 9.6),
		},
		// Of the disk nothing is known: RAM might save 30 %, and without a row by hand it is not asked.
		fmt.Sprintf("%.2f", 0.95*cores()) + busy + "stock, /dev/shm saves nothing that stands out from the noise.": {
			wide(row("stock, disk", 10, 9.5*cores()), 6, 14), wide(row("stock, /dev/shm", 7, 7), 6, 14),
		},
		fmt.Sprintf("%.2f", 0.94*cores()) + busy + "ramaria, xfs saves nothing.": {row("stock, disk", 10, 9.4*cores()), row("ramaria, xfs", 11, 9)},
		"": {row("stock, disk", 10, 1)},
		// Another disk is not the disk.
		"it waited for the disk 30 % of the time; stock, /dev/shm saves 30 %.": {
			row("stock, disk EMULATED 100 io/s", 20, 2), row("stock, disk", 10, 2), row("stock, /dev/shm", 7, 2),
		},
	} {
		if got := suiteConclusion(&runner.Result{Unit: runner.Seconds, Rows: rows}, at(rows)); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

func TestParseWay(t *testing.T) {
	for text, want := range map[string]Way{
		"truncate@disk=A=1 make test": {Name: "truncate", Place: "disk", Argv: []string{"sh", "-c", "A=1 make test"}},
		"by hand=./test.sh":           {Name: "by hand", Argv: []string{"sh", "-c", "./test.sh"}},
	} {
		if got, err := ParseWay(text); err != nil || !slices.Equal(got.Argv, want.Argv) || got.Name != want.Name || got.Place != want.Place || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"make test": "it has no name, or no command\nhint: --way ", "=make test": "it has no name", "reset@ramaria= ": "no command", "reset@moon=make": `place "moon": it is none`,
		"reset@emulated:0100=make": `place "emulated:0100": it is none`,
	} {
		if _, err := ParseWay(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestCountLeaks counts the tests whose leftovers the next one finds: not those that find what one
// before has left for long, nor those of another database.
func TestCountLeaks(t *testing.T) {
	for said, want := range map[string][2]int{
		"":                       {0, 0},
		"a\tx\na\tx\na\tx\n":     {0, 3},
		"a\tx\na\ty\na\ty\na\tx": {2, 4}, // the second of y left nothing more
		"a\tx\nb\tx\na\ty\nb\tx": {1, 4},
		"a\tx\nb\ty\n":           {1, 2}, // what a left in the template, say
	} {
		leaking, looked, err := countLeaks(strings.NewReader(said))
		if err != nil || [2]int{leaking, looked} != want {
			t.Errorf("%q: %d of %d, %v: want %v", said, leaking, looked, err, want)
		}
	}
	if _, _, err := countLeaks(strings.NewReader("x\n")); err == nil || !strings.Contains(err.Error(), "\nhint: a line is the database, a tab") {
		t.Errorf("without a tab: %v", err)
	}
}

// TestTestsLookOnce: tests say what they find in the first run of a way, and in none of a command alone.
func TestTestsLookOnce(t *testing.T) {
	for _, alone := range []bool{false, true} {
		l := &leaks{path: filepath.Join(t.TempDir(), "leaks"), done: alone}
		looked := 0
		var sample runner.Sample
		for range 3 {
			var err error
			sample, err = l.during([]string{"A=1"}, func(env []string) (runner.Sample, error) {
				if slices.Contains(env, EnvLeaks+"="+l.path) {
					looked++
				}
				said := "a\tx\na\ty\n"
				return runner.Sample{Beside: map[string]float64{}}, os.WriteFile(l.path, []byte(said), 0o600)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, told := sample.Beside[besideLooked]; told == alone || (looked == 1) == alone {
			t.Errorf("alone %v: %d rounds looked, the last says %v", alone, looked, sample.Beside)
		}
	}
}

func TestWaysConclusion(t *testing.T) {
	row := func(name string, median float64, beside map[string]float64) runner.Row {
		return runner.Row{
			Name: name, Ours: strings.Contains(name, "ramaria"), Rounds: 3, Samples: []float64{median * 0.99, median, median * 1.01},
			Stats: runner.Stats{Count: 3, Median: median}, Beside: beside,
		}
	}
	r := &runner.Result{Unit: runner.Seconds, Rows: []runner.Row{
		row("truncate (stock, disk)", 10, map[string]float64{besideLeaking: 16, besideLooked: 48}),
		row("reload (relaxed, /dev/shm)", 2, nil),
		row("rollback (relaxed, /dev/shm)", 1, nil),
		row("reset (ramaria, xfs)", 2, map[string]float64{besideLeaking: 0, besideLooked: 48}),
	}}
	want := "reset (ramaria, xfs) is 5.00 times as fast as truncate (stock, disk); " +
		"beside reload (relaxed, /dev/shm), reset (ramaria, xfs) gains nothing that stands out from the noise; " +
		"reset (ramaria, xfs) is 0.50 times as fast as rollback (relaxed, /dev/shm); " +
		"16 of 48 tests leak with truncate (stock, disk); 0 of 48 tests leak with reset (ramaria, xfs)."
	if got := waysConclusion(r); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}
