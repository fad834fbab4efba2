package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/host"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (go test -update writes it):\n%s", name, diff)
	}
}

func exampleResult() Result {
	r := newResult(Scenario{
		Name: "cycle", Title: "create database, load fixture, drop", Unit: Seconds,
		Settings: map[string]string{"server": "mariadb-10.11.19"},
		Cases:    []Case{{Name: "stock on disk", Settings: "no options"}, {Name: "shm"}, {Name: "café µ"}, {Name: "zram"}},
	})
	r.Rows[0].Samples = []float64{1.02, 1.1, 0.98, 1.31}
	r.Rows[1].Samples = []float64{0.0135, 0.0129, 0.0141, 0.0137}
	r.Rows[2].Samples = []float64{823e-6, 791e-6, 799e-6, 2e-3}
	for i := range r.Rows[:3] {
		r.Rows[i].Rounds = len(r.Rows[i].Samples)
	}
	r.Rows[3].Note = "not available on this machine: needs root"
	r.Machine = Machine{CPU: "Example CPU", Cores: 2, MemoryBytes: 25e9, Kernel: "6.18.0", System: "Debian GNU/Linux 12",
		Directories: []Directory{{Name: "disk", Path: "/var/lib/x", Filesystem: "ext4 on /dev/vda", FsyncP50: 0.0011, FsyncP99: 0.0042}, {Name: "shm", Path: "/dev/shm", Filesystem: "tmpfs on tmpfs"}}}
	r.Ramaria, r.Time = "1.2.3", time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	r.summarise()
	return r
}

// basedResult has rows with many samples a round, and rows that are compared with another
// than the first.
func basedResult() Result {
	r := newResult(Scenario{
		Name: "reset", Title: "a database as its template again", Unit: Seconds,
		Cases: []Case{{Name: "by hand"}, {Name: "reset"}, {Name: "reset, 2 GB", Base: "reset"}, {Name: "change"}, {Name: "undo", Base: "change"}},
	})
	for i, samples := range [][]float64{{0.04, 0.05}, {1e-3, 1.2e-3, 0.9e-3, 1.1e-3}, {1.5e-3, 1.4e-3, 1.6e-3, 1.5e-3}, {0.03, 0.031}, {0.06, 0.06}} {
		r.Rows[i].Samples, r.Rows[i].Rounds = samples, 2
	}
	r.summarise()
	return r
}

func TestReports(t *testing.T) {
	r := exampleResult()
	based := basedResult()
	rates := exampleResult()
	rates.Unit, rates.Interrupted = PerSecond, true
	rates.summarise()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"table.txt":       func(b *bytes.Buffer) error { return r.WriteTable(b, TableOptions{}) },
		"table-color.txt": func(b *bytes.Buffer) error { return r.WriteTable(b, TableOptions{Color: true}) },
		"table-rates.txt": func(b *bytes.Buffer) error { return rates.WriteTable(b, TableOptions{}) },
		"table-bases.txt": func(b *bytes.Buffer) error { return based.WriteTable(b, TableOptions{}) },
		"bases.jsonl":     func(b *bytes.Buffer) error { return based.WriteJSON(b) },
		"results.csv": func(b *bytes.Buffer) error {
			curve := exampleResult()
			curve.Rows[1].Series, curve.Rows[1].X, curve.Rows[1].Name = "a \"curve\"", 8, "shm, 8 threads"
			return errors.Join(curve.WriteCSV(b, true), based.WriteCSV(b, false))
		},
		"machine.txt":   func(b *bytes.Buffer) error { return r.Machine.Write(b) },
		"results.jsonl": func(b *bytes.Buffer) error { return r.WriteJSON(b) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.Bytes())
		})
	}
}

func TestJSONLinesStandAlone(t *testing.T) {
	var b bytes.Buffer
	r := exampleResult()
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != len(r.Rows) {
		t.Fatalf("%d lines for %d rows", len(lines), len(r.Rows))
	}
	for _, l := range lines {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"schema", "scenario", "row", "unit", "median", "p99", "ratio", "rounds", "settings", "machine"} {
			if _, ok := m[field]; !ok {
				t.Errorf("no field %s in %s", field, l)
			}
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrorsAreReported(t *testing.T) {
	r := exampleResult()
	for name, err := range map[string]error{
		"table":   r.WriteTable(brokenPipe{}, TableOptions{}),
		"json":    r.WriteJSON(brokenPipe{}),
		"csv":     r.WriteCSV(brokenPipe{}, true),
		"machine": r.Machine.Write(brokenPipe{}),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadMachine(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"proc/cpuinfo":              "processor\t: 0\nmodel name\t: Example CPU @ 3.00GHz\n",
		"proc/sys/kernel/osrelease": "6.18.0-test\n",
		"proc/meminfo":              "MemTotal:       1000 kB\nMemAvailable:    500 kB\n",
		"proc/self/mountinfo": "22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n" +
			"30 22 0:26 / /dev/shm rw - tmpfs tmpfs rw\n31 22 0:27 / /srv/a\\040b rw - xfs /dev/loop7 rw\n",
	} {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := ReadMachine(host.Host{Root: root}, Directory{Name: "shm", Path: "/dev/shm/nothing-here"}, Directory{Path: "/dev/shmoo"}, Directory{Path: "/srv/a b/c"})
	if m.CPU != "Example CPU @ 3.00GHz" || m.Kernel != "6.18.0-test" || m.Cores < 1 {
		t.Errorf("machine: %+v", m)
	}
	var got []string
	for _, p := range m.Directories {
		got = append(got, p.Filesystem)
	}
	if diff := cmp.Diff([]string{"tmpfs on tmpfs", "ext4 on /dev/vda", "xfs on /dev/loop7"}, got); diff != "" {
		t.Error(diff)
	}
	if m := ReadMachine(host.Host{Root: t.TempDir()}, Directory{Path: "/x"}); m.CPU != unknown || m.Kernel != unknown || m.Directories[0].Filesystem != unknown {
		t.Errorf("facts of a machine that tells none: %+v", m)
	}
}

func TestMeasureFsync(t *testing.T) {
	p := Directory{Path: t.TempDir()}
	if err := p.MeasureFsync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.FsyncP50 <= 0 || p.FsyncP99 < p.FsyncP50 {
		t.Errorf("place: %+v", p)
	}
	if left, err := os.ReadDir(p.Path); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.MeasureFsync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
