package tier

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestTier runs it small: all that is not there says why, and nothing stays.
func TestTier(t *testing.T) {
	l := labtest.Real(t, servertest.Servers[0])
	l.Options.Scale = 0.03
	rows := labtest.RunSmall(t, Scenario(l))
	for name, row := range rows {
		switch over := row.X > 1 && row.Series == tmpfs; {
		case over && os.Geteuid() == 0:
			if !strings.Contains(row.Note, "there is no room") {
				t.Errorf("%s: more was written than there is room for, or %q", name, row.Note)
			}
		case row.Note == "":
			for _, m := range []string{readBack, writePast, readPast, longest, longestPast} {
				if !(row.Beside[m] > 0) {
					t.Errorf("%s: %s is %v", name, m, row.Beside[m])
				}
			}
			if last := row.X == times; last && !(row.Beside[smallFiles] > 0) {
				t.Errorf("%s: no small files", name)
			}
			if n := row.Beside[spilled]; row.Series == wheat && row.X == times && !(n > 0) {
				t.Errorf("%s: %v bytes spilled", name, n)
			}
		case row.Series == disk || os.Geteuid() == 0 && (row.Series == synced || row.Series == wheat):
			t.Errorf("%s: %s", name, row.Note)
		default:
			t.Log("SKIPPED, UNTESTED: ", name, ": ", row.Note)
		}
	}
	labtest.LeavesNothing(t, l, "tier-*")
}

// TestDeadWheatfsIsTold: a daemon that was killed is what an error comes from, and nothing stays.
func TestDeadWheatfsIsTold(t *testing.T) {
	l := labtest.Real(t, servertest.Servers[0])
	s, err := l.WheatScratch(t.Context(), filepath.Join(l.Dir, "tier-0"), 16<<20, l.Dir, nil)
	if errors.Is(err, runner.ErrUnavailable) {
		t.Skip("SKIPPED: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, pid := range children(t) {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || !strings.Contains(string(line), "wheatfs\x00serve") {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if killed != 1 {
		t.Errorf("%d daemons were killed", killed)
	}
	time.Sleep(500 * time.Millisecond) // a pipe tells it
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "the daemon of wheatfs has ended") {
		t.Errorf("error %v", err)
	}
	labtest.LeavesNothing(t, l, "tier-*")
}

// children are the processes that this one has started.
func children(t *testing.T) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Skip("SKIPPED: this kernel does not tell children")
	}
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// told tells a writer something.
func told(t *testing.T, orders *json.Encoder, answers *json.Decoder, o order) answer {
	t.Helper()
	var a answer
	if err := orders.Encode(o); err != nil {
		t.Fatal(err)
	}
	if err := answers.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestWriterCompares: what comes back otherwise is no figure.
func TestWriterCompares(t *testing.T) {
	dir := t.TempDir()
	in, orders := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Writer(dir, in, out) }()
	tell, hear := json.NewEncoder(orders), json.NewDecoder(answers)
	for _, past := range []bool{false, true} {
		write, read := order{Do: doWrite, Step: blockBytes, Steps: 3, Past: past}, order{Do: doRead, Step: blockBytes, Past: past}
		if a := told(t, tell, hear, write); len(a.Steps) != 3 || a.Error != "" {
			t.Fatalf("write: %+v", a)
		}
		if a := told(t, tell, hear, read); len(a.Steps) != 3 || a.Error != "" || a.Wrong != "" {
			t.Errorf("read: %+v", a)
		}
		f, err := os.OpenFile(filepath.Join(dir, "written"), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte{1}, 2*blockBytes+pageBytes); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		a := told(t, tell, hear, read)
		if !strings.Contains(a.Wrong, "not what was written") || len(a.Steps) != 3 {
			t.Errorf("another byte: %+v", a)
		}
		if err := (&place{pass: &pass{wrong: a.Wrong}}).check(t.Context()); err == nil {
			t.Error("the check of the row says nothing")
		}
	}
	if a := told(t, tell, hear, order{Do: doFiles}); !(a.Rate > 0) || a.Error != "" {
		t.Errorf("files: %+v", a)
	}
	if a := told(t, tell, hear, order{Do: "x"}); a.Error == "" {
		t.Error("it did x")
	}
	if err := orders.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestConclusion says what the curves mean.
func TestConclusion(t *testing.T) {
	o := newTiering(labtest.Bare(t, lab.Options{}))
	for _, p := range o.places {
		if p.name == tmpfs {
			p.steps, p.full = inRAMSteps, "no space left on device"
		}
	}
	of := func(past, most float64) map[string]float64 {
		return map[string]float64{writePast: past, longest: most, longestPast: most / 2, givenBack: 0.02, smallFiles: 40e3, mounting: 0.06}
	}
	slow, slowWheat := o.slow(disk), o.slow(wheat)
	got := labtest.Concluded(o.scenario(), map[string]float64{disk: 2e9, wheat: 2e9, wheat + ", 0.5 ": 2e9, wheat + ", 1 ": 2e9, slow: 1e9, slowWheat: 2e9},
		map[string]map[string]float64{disk: of(1e9, 0.001), wheat: of(1e9, 0.002), wheat + ", 0.5 ": of(3e9, 0.002), wheat + ", 1 ": of(3e9, 0.002), slow: of(1e8, 1), slowWheat: of(1e8, 0.5)})
	for _, want := range []string{
		"As any program writes, the page cache before the disk takes 2.00 GB/s, and a wheatfs 2.00 GB/s: on this machine the page cache is as fast, and a wheatfs helps only where that has no room, or must wait for the disk. ",
		"Past the page cache a wheatfs takes 3.00 GB/s while there is RAM and 1.00 GB/s beyond, where the disk takes 1.00 GB/s",
		"Before a disk EMULATED 100 MB/s, which takes 100 MB/s past the page cache, a wheatfs takes 100 MB/s while there is RAM and 100 MB/s beyond, 1.00 times as much in all; as any program writes, 2.00 times what the page cache takes there. ",
		"The longest write of 1 MiB takes: disk 1.00 ms; disk, mounted sync 1.00 ms; wheatfs 2.00 ms; disk EMULATED 100 MB/s 1.00 s; wheatfs, disk EMULATED 100 MB/s 500 ms. ",
		"A wheatfs gives its memory back in 20.0 ms, makes and removes 40.0 k/s of small files, is mounted in 60.0 ms; tmpfs fails after 1 times the RAM.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	if got := labtest.Concluded(o.scenario(), map[string]float64{disk: 1e9, wheat: 2e9}, nil); !strings.Contains(got, "the wheatfs helps on this machine") {
		t.Error(got)
	}
	if got := labtest.Concluded(o.scenario(), map[string]float64{disk: 2e9, wheat: 1e9}, nil); !strings.Contains(got, "the page cache is faster") {
		t.Error(got)
	}
	none := labtest.Measured(o.scenario(), func(string) (runner.Sample, bool) { return runner.Sample{}, false })
	if got := o.ordinary(&none) + o.past(&none) + o.slowDisk(&none) + o.knee(&none); got != "" {
		t.Error(got)
	}
}
