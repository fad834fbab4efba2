package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDurableArchiveTaken: an archive that is moved, removed, or is another one, is noticed while the
// instance runs, and refused when it is to come back; what is in RAM stays.
func TestDurableArchiveTaken(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	aside := d.archive + ".aside"
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string) {
		t.Helper()
		_, talk, err := d.try("up", durableName)
		if err == nil || !strings.Contains(talk, want) || !strings.Contains(talk, "hint:") {
			t.Errorf("up: %v: %s; want %q", err, talk, want)
		}
	}
	d.send("CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1)").comes(t, "a first commit")

	rename(d.archive, aside)
	a := d.send("INSERT INTO t VALUES (2)")
	a.waits(t, "a commit, with the archive moved away,")
	d.warns(t, "it was moved, or removed")
	d.reads(t, "SELECT a FROM t", "1")
	rename(aside, d.archive)
	a.comes(t, "a commit, with the archive back,")

	// Another instance's in its place gets nothing of this one, and does not come back under its name.
	other := d.archive + ".other"
	d.ramaria("up", "other", "--volume", "shm", "--durable", "--archive", other)
	d.ramaria("down", "other")
	before := tree(t, other)
	rename(d.archive, aside)
	rename(other, d.archive)
	a = d.send("INSERT INTO t VALUES (3)")
	a.waits(t, "a commit, with another archive in the place of its own,")
	d.warns(t, "it was moved, or removed")
	if err := d.end(t, ending{}, func(bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	refused("another instance")
	if after := tree(t, d.archive); after != before {
		t.Errorf("another instance's archive was changed: %s, was %s", after, before)
	}
	rename(d.archive, other)
	refused("there is no archive")
	rename(aside, d.archive)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT a FROM t WHERE a < 3", "1,2")

	// The same without its RAM, and with an earlier state of its own.
	old := d.archive + ".old"
	// A segment that is just being made may get its name meanwhile: that one is not missed.
	if out, err := exec.Command("cp", "-a", d.archive, old).CombinedOutput(); err != nil && !strings.Contains(string(out), ".segment.new") {
		t.Fatalf("cp: %v: %s", err, out)
	}
	d.lose(t)
	d.open(t, d.ramaria("up", durableName)) // begins an epoch, of which the copy knows nothing
	d.send("INSERT INTO t VALUES (4)").comes(t, "a commit after recovery")
	d.lose(t)
	rename(d.archive, aside)
	refused("there is no archive")
	d.ramaria("up", durableName, "--archive", aside) // where it is now, and back
	d.ramaria("down", durableName)
	rename(aside, d.archive)
	d.ramaria("up", durableName, "--archive", d.archive)
	d.lose(t)
	rename(d.archive, aside)
	rename(other, d.archive)
	refused("another archive")
	rename(d.archive, other)
	rename(old, d.archive)
	refused("as it was earlier")
	rename(d.archive, old)
	rename(aside, d.archive)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT a FROM t WHERE a <> 3", "1,2,4")

	// Removed while it runs: nothing is acknowledged that no name leads to.
	rename(d.archive, aside) // what removal leaves: open files
	if err := os.RemoveAll(aside); err != nil {
		t.Fatal(err)
	}
	d.send("INSERT INTO t VALUES (5)").waits(t, "a commit, with the archive removed,")
	d.warns(t, "it was moved, or removed")
	d.reads(t, "SELECT a FROM t WHERE a <> 3", "1,2,4")
	d.ramaria("down", durableName)
	refused("there is no archive")
}

// tree lists the files of a directory, with their sizes and times.
func tree(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("find", dir, "-type", "f", "-printf", "%P %s %T@\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestDurableDamage: a bit that flips in the middle of the archived log is found: recovery says where, and
// leaves what there is.
func TestDurableDamage(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	for n := range 20 {
		d.send(fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (1, %d)", n)).comes(t, "a commit")
	}
	flipIn := func(name string, at int64) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(d.archive, name), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1)
		_, rerr := f.ReadAt(b, at)
		b[0] ^= 8
		_, werr := f.WriteAt(b, at)
		if err := errors.Join(rerr, werr, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	flip := func() { t.Helper(); flipIn("log/000001/000000000001.segment", 6*4096+100) }
	flip()
	if _, talk, err := d.try("backup", "verify", durableName); err == nil || !strings.Contains(talk, "damaged") {
		t.Errorf("verify of a damaged archive: %v: %s", err, talk)
	}
	d.warns(t, "the last verification of the archive failed: ")
	d.lose(t)
	for range 2 { // also the second time: it is not another instance then
		_, talk, err := d.try("up", durableName)
		if err == nil || !strings.Contains(talk, "damaged") || !strings.Contains(talk, "000000000001.segment") || !strings.Contains(talk, "hint:") {
			t.Errorf("up with a damaged archive: %v: %s", err, talk)
		}
	}
	flip()
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM ack", "20")

	// A base whose pages are damaged: the one that is made when that was found takes none of them.
	flipIn("base/000001.pack", 100_000)
	if _, talk, err := d.try("backup", "verify", durableName); err == nil || !strings.Contains(talk, "damaged") {
		t.Errorf("verify of a damaged base backup: %v: %s", err, talk)
	}
	d.ramaria("backup", durableName)
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM ack", "20")
}
