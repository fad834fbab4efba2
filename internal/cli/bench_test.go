package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// task is one of a scenario with a single row.
func task(name string, fails error) benchTask {
	round := func(context.Context) (runner.Sample, error) { return runner.Sample{Value: 1}, fails }
	return benchTask{scenario: runner.Scenario{Name: name, Unit: runner.Seconds, Cases: []runner.Case{{Name: "row of " + name, Round: round}}}}
}

// TestOneFailsOfAll: of all scenarios, one that fails does not end the others, and is told;
// of named ones it does.
func TestOneFailsOfAll(t *testing.T) {
	for _, tc := range []struct {
		all         bool
		scenarios   []string // that are told
		err, stderr string
	}{
		{true, []string{"good", "refused", "bad", "last"}, "measure: 2 of 4 scenarios failed: refused, bad", "ramaria: no room\nhint: some\nramaria: run scenario bad"},
		{false, []string{"good", "refused"}, "no room", ""},
	} {
		var stdout, stderr bytes.Buffer
		a := &app{stdout: &output{w: &stdout}, stderr: &stderr}
		out, err := benchOutput{format: formatJSON}.open(a)
		if err != nil {
			t.Fatal(err)
		}
		var begun []string
		m := measuring{app: a, options: &benchOptions{rounds: 1}, out: out, all: tc.all, begin: func(_ context.Context, s runner.Scenario) error {
			begun = append(begun, s.Name)
			if s.Name == "refused" {
				return errors.New("no room\nhint: some")
			}
			return nil
		}}
		err = m.run(t.Context(), []benchTask{task("good", nil), task("refused", nil), task("bad", errors.New("it broke")), task("last", nil)})
		if err == nil || !strings.HasPrefix(err.Error(), tc.err) || !strings.HasPrefix(stderr.String(), tc.stderr) {
			t.Errorf("error %v, stderr %s", err, stderr.String())
		}
		results, err := runner.ReadJSON(&stdout)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range results {
			names = append(names, r.Scenario)
			if good := r.Scenario == "good" || r.Scenario == "last"; good != (r.Failed == "") || good != r.Measured() {
				t.Errorf("%s: failed %q, rows %+v", r.Scenario, r.Failed, r.Rows)
			}
		}
		if diff := cmp.Diff(tc.scenarios, begun); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(tc.scenarios, names); diff != "" {
			t.Error(diff)
		}
	}
}

// TestMachineWithoutShm: facts that are missing are no reason to measure nothing.
func TestMachineWithoutShm(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		shm, note string
		facts     []string // of which directories
	}{
		"there":     {filepath.Join(dir, "shm"), "", []string{"disk", "shm"}},
		"not there": {filepath.Join(dir, "nowhere", "shm"), "facts of shm are missing: measure fsync: ", []string{"disk"}},
		"no files":  {filepath.Join(file, "shm"), "facts of shm are missing: measure fsync: ", []string{"disk", "shm"}},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			a := &app{stderr: &stderr}
			a.engine.Places.Shm = tc.shm
			lab := &lab.Lab{Dir: filepath.Join(dir, "lab")}
			m, err := a.machine(t.Context(), lab)
			if err != nil {
				t.Fatal(err)
			}
			var facts []string
			for _, d := range m.Directories {
				facts = append(facts, d.Name)
				if (d.FsyncP50 > 0) != (d.Name == "disk" || tc.note == "") {
					t.Errorf("%s has an fsync of %v s", d.Name, d.FsyncP50)
				}
			}
			if diff := cmp.Diff(tc.facts, facts); diff != "" {
				t.Error(diff)
			}
			if note := stderr.String(); !strings.HasPrefix(note, tc.note) || (note == "") != (tc.note == "") {
				t.Errorf("it says %q", note)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := a.machine(ctx, lab); !errors.Is(err, context.Canceled) {
				t.Errorf("interrupted: %v", err)
			}
		})
	}
}

// TestAgain: what repeats a scenario has no flag that it would refuse.
func TestAgain(t *testing.T) {
	o := benchOptions{volumes: []string{"disk", "xfs"}, options: lab.Options{Places: []string{"disk", "ramaria"}, Threads: []int{1, 8}, Scale: 0.5, Dump: "/d.sql"}, writes: []string{"500", "none"}}
	o.options.Volumes = []volume.Kind{volume.Disk, volume.XFS}
	for _, k := range scenario.Kinds {
		again := o.again(k)
		for _, flag := range []string{scenario.FlagPlace, scenario.FlagVolume, scenario.FlagThreads, scenario.FlagScale, scenario.FlagDump, scenario.FlagWrites} {
			if strings.Contains(again, " --"+flag+" ") != k.Takes(flag) {
				t.Errorf("%s: --%s in %s", k.Name, flag, again)
			}
		}
		if k.OneVolume && !strings.Contains(again, " --volume xfs") {
			t.Errorf("%s: %s", k.Name, again)
		}
	}
	o.options.Places = o.options.Places[:1]
	for _, k := range scenario.Kinds {
		if again := o.again(k); strings.Contains(again, " --place ") && strings.Contains(again, " --volume ") {
			t.Errorf("%s: what no row takes is refused: %s", k.Name, again)
		}
	}
}

// TestDiskWrites: the rates of --disk-writes, each once; what is none is refused with one that is.
func TestDiskWrites(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "3000": {3000}, "none": {0}, "500,3000,none,500": {500, 3000, 0}} {
		have, err := parseDiskWrites(strings.FieldsFunc(text, func(r rune) bool { return r == ',' }))
		if err != nil || !slices.Equal(have, want) {
			t.Errorf("%q is %v, %v; want %v", text, have, err, want)
		}
	}
	for _, text := range []string{"0", "19", "-1", "3k", "10000001", " 500", "None"} {
		if have, err := parseDiskWrites([]string{"500", text}); err == nil || !strings.Contains(err.Error(), "\nhint: --disk-writes 500,3000,none") {
			t.Errorf("%q is %v, %v", text, have, err)
		}
	}
}

// TestWaysOfOneName: two ways of one name are refused where they could have a row of one name.
func TestWaysOfOneName(t *testing.T) {
	for _, tc := range []struct {
		ways []string
		fine bool
	}{
		{[]string{"x=a", "x=b"}, false}, {[]string{"x@disk=a", "x=b"}, false}, {[]string{"x=a", "x@disk=b"}, false},
		{[]string{"x@disk=a", "x@disk=b"}, false}, {[]string{"x@disk=a", "x@ramaria=b"}, true}, {[]string{"x@disk=a", "y=b"}, true},
	} {
		o := benchOptions{named: tc.ways}
		if err := o.readWays(); (err == nil) != tc.fine || err != nil && !strings.HasPrefix(err.Error(), `use way "`+tc.ways[1]+`": there is one of this name and place already`) {
			t.Errorf("%q: %v", tc.ways, err)
		}
	}
}

// TestFit: nothing that was typed is passed over without a word.
func TestFit(t *testing.T) {
	for _, tc := range []struct {
		name    string
		names   []string
		places  []string
		volumes []string
		ways    []string
		quick   bool
		err     string
		stderr  []string // beginnings of its lines
	}{
		{"no row is on a volume", []string{"insert", "files"}, []string{"disk", "shm-by-hand"}, []string{"xfs"}, nil, false, "use --volume: no row of --place disk,shm-by-hand is on a volume of ramaria's\nhint: --place ramaria as well", nil},
		{"settings alone are on none", []string{"oltp"}, []string{"ramaria-disk"}, []string{"xfs"}, nil, false, "use --volume: no row", nil},
		{"rows are", []string{"insert"}, []string{"disk", "ramaria"}, []string{"xfs"}, nil, false, "", nil},
		{"rows are, unless it is said", []string{"insert"}, nil, []string{"xfs"}, nil, false, "", nil},
		{"it has no places", []string{"cycle"}, nil, []string{"xfs"}, nil, false, "", nil},
		{"of ways, no row is", []string{"suite"}, nil, []string{"xfs"}, []string{"a@disk=true", "b@shm-relaxed=true"}, false, "use --volume: no row of --way is on a volume of ramaria's\nhint: --way NAME@ramaria=COMMAND as well", nil},
		{"of ways without a place, neither", []string{"suite"}, []string{"disk"}, []string{"xfs"}, []string{"a=true"}, false, "use --volume: no row of --place disk is", nil},
		{"of ways, a row is", []string{"suite"}, nil, []string{"xfs"}, []string{"a@disk=true", "b@ramaria=true"}, false, "", nil},
		{"of ways in all places, too", []string{"suite"}, nil, []string{"xfs"}, []string{"a@disk=true", "b=true"}, false, "", nil},
		{"of all", []string{"all"}, []string{"disk"}, []string{"xfs"}, nil, false, "", []string{"--place changes nothing in: cycle, fork, durable, recovery, tier, load", "--volume changes nothing in: files, insert, update, oltp, sort, tier, engines, run"}},
		{"of all, quick", []string{"all"}, nil, nil, nil, true, "", []string{"--quick leaves out what takes long to prepare: loadlarge, branch, busy, log, volumes, ram"}},
		{"of all, quick, and one of them", []string{"all", "ram"}, nil, nil, nil, true, "", []string{"--quick leaves out what takes long to prepare: loadlarge, branch, busy, log, volumes"}},
		{"of some, quick", []string{"cycle", "load"}, nil, nil, nil, true, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := benchOptions{volumes: tc.volumes, named: tc.ways, options: lab.Options{Places: tc.places, Scale: 1, Quick: tc.quick}}
			kinds, err := o.kinds(tc.names)
			if err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			err = o.fit(&app{stderr: &stderr}, kinds, tc.names[0] == benchAll)
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			lines := strings.FieldsFunc(stderr.String(), func(r rune) bool { return r == '\n' })
			if len(lines) != len(tc.stderr) {
				t.Fatalf("it says %q", lines)
			}
			for i, want := range tc.stderr {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("it says %q, want %q", lines[i], want)
				}
			}
		})
	}
}

func TestDraft(t *testing.T) {
	dir := t.TempDir()
	old, link := filepath.Join(dir, "old"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(old, []byte("old"), 0o600), os.Symlink(old, link)); err != nil {
		t.Fatal(err)
	}
	write := func(path string) *draft {
		d, err := newDraft(path, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.f.WriteString("new"); err != nil {
			t.Fatal(err)
		}
		return d
	}
	holds := func(path, want string, mode os.FileMode) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(old)
		if err != nil || string(text) != want || path == old && info.Mode() != mode {
			t.Errorf("%s holds %q with mode %v, %v", path, text, info.Mode(), err)
		}
	}
	d := write(old)
	holds(old, "old", 0o600)
	if err := errors.Join(d.drop(), d.drop()); err != nil {
		t.Fatal(err)
	}
	holds(old, "old", 0o600)
	d = write(link)
	if err := errors.Join(d.keep(), d.drop()); err != nil {
		t.Fatal(err)
	}
	holds(old, "new", 0o600)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v, %v", info, err)
	}
	fresh := filepath.Join(dir, "fresh")
	if err := write(fresh).keep(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := newDraft(dir, 0o644); err == nil {
		t.Error("a directory: taken")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 3 {
		t.Errorf("left: %v, %v", list, err)
	}
}
