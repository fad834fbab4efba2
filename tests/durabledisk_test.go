package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// TestDurableEverythingWaits: whatever is written into the log is answered when the archive has it, and no
// sooner; and the whole of it comes back.
func TestDurableEverythingWaits(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	aside := d.archive + ".aside"
	for _, text := range []string{"CREATE TABLE i (a INT PRIMARY KEY) ENGINE=InnoDB", "CREATE TABLE m (a INT) ENGINE=MyISAM", "CREATE TABLE gone (a INT)", "INSERT INTO i VALUES (1)"} {
		d.send(text).comes(t, text)
	}
	cases := [][]string{
		{"INSERT INTO i VALUES (2)"},
		{"BEGIN", "INSERT INTO i VALUES (3)", "UPDATE i SET a = 4 WHERE a = 3", "COMMIT"},
		{"SET autocommit = 0", "INSERT INTO i VALUES (5)", "COMMIT"},
		{"INSERT INTO i VALUES (6), (7)"},
		{"DELETE FROM i WHERE a = 7"},
		{"BEGIN", "INSERT INTO i VALUES (8)", "CREATE TABLE implicit (a INT)"},
		{"CREATE TABLE made (a INT)"},
		{"CREATE TABLE filled (a INT PRIMARY KEY) SELECT a FROM i"},
		{"ALTER TABLE i ADD b INT DEFAULT 7"},
		{"DROP TABLE gone"},
		{"TRUNCATE TABLE made"},
		{"INSERT INTO m VALUES (1)"},
		{"CREATE USER u IDENTIFIED BY 'Secret-1'"},
		{"GRANT SELECT ON i TO u"},
		{"CREATE PROCEDURE p() INSERT INTO i VALUES (9, 9)"},
		{"CALL p()"},
		{"CREATE EVENT e ON SCHEDULE EVERY 1 YEAR DO SELECT 1"},
		{"CREATE VIEW v AS SELECT * FROM i"},
		{"ANALYZE TABLE i"},
		{"OPTIMIZE TABLE i"},
		{"XA START 'x'", "INSERT INTO i VALUES (10, 10)", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'"},
		{"XA START 'y'", "INSERT INTO i VALUES (11, 11)", "XA END 'y'", "XA COMMIT 'y' ONE PHASE"},
		{"FLUSH TABLES"},
	}
	for _, texts := range cases {
		what := strings.Join(texts, "; ")
		if err := os.Rename(d.archive, aside); err != nil {
			t.Fatal(err)
		}
		a := d.send(texts...)
		waited := a.waits(t, what)
		if err := os.Rename(aside, d.archive); err != nil {
			t.Fatal(err)
		}
		if waited {
			a.comes(t, what)
		}
	}
	const query = "SELECT CONCAT(a, ':', b) FROM i ORDER BY a"
	const rows = "1:7,2:7,4:7,5:7,6:7,8:7,9:9,10:10,11:11"
	d.reads(t, query, rows)
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, query, rows)
	d.reads(t, "SELECT a FROM filled ORDER BY a", "1,2,4,5,6,8")
	d.reads(t, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('made', 'gone', 'implicit', 'v')", "3")
	d.reads(t, "SELECT CONCAT(event_name, ' ', status) FROM information_schema.events WHERE event_schema = DATABASE()", "e ENABLED")
	d.reads(t, "SELECT COUNT(*) FROM information_schema.user_privileges WHERE grantee LIKE '''u''@%'", "1")
}

// TestDurableDisk: a disk that is full, or does not answer, holds commits up, and nothing else; then all
// goes on by itself.
func TestDurableDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 || !canMount() {
		t.Skip("SKIPPED, UNTESTED: only root may mount a small disk")
	}
	d := newDurable(t, "shm")
	image, disk := filepath.Join(d.home, "disk.img"), filepath.Join(d.home, "disk")
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
	}
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 512<<20), os.Mkdir(disk, 0o755)); err != nil {
		t.Fatal(err)
	}
	run("mkfs.ext4", "-q", "-m", "0", image)
	run("mount", "-o", "loop", image, disk)
	t.Cleanup(func() { run("umount", "-l", disk) }) // before the home goes
	d.archive = filepath.Join(disk, "archive")
	d.open(t, d.ramaria("up", durableName, "--volume", d.kind, "--durable", "--archive", d.archive))
	d.lives = 1
	d.tables(t)
	t.Cleanup(func() { _, _, _ = d.try("down", "--all", "--rm") })

	// Full: the segment that is there takes some more.
	filler := filepath.Join(disk, "filler")
	n := 0
	fill := func() answer {
		t.Helper()
		_ = exec.Command("dd", "if=/dev/zero", "of="+filler, "bs=1M").Run() // it fails when the disk is full
		for most := n + 30; n < most; n++ {
			a := d.send(fmt.Sprintf("INSERT INTO slot VALUES (50, %d, 0, REPEAT('x', 4000000))", n))
			for answered := false; !answered; {
				select {
				case err := <-a:
					if err != nil {
						t.Fatal(err)
					}
					answered = true
				case <-time.After(time.Second): // of a machine that is busy, unless status says that it is the disk
					if strings.Contains(d.ramaria("status", durableName, "--json"), "no space left on device") {
						n++
						return a
					}
				}
			}
		}
		t.Fatal("commits go on although the disk is full")
		return nil
	}
	stuck := fill()
	d.warns(t, "no space left on device")
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n-1))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	stuck.comes(t, "a commit, with room again,")
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n))
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n))

	// Full at a start that has something to archive: it says what it waits for, and does not wait for ever.
	stuck = fill()
	if err := d.end(t, ending{}, func(bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := <-stuck; err == nil {
		t.Error("a commit was answered while the disk was full")
	}
	if _, talk, err := d.try("up", durableName); err == nil || !strings.Contains(talk, "it waits until its log can be archived in "+d.archive+": ") ||
		!strings.Contains(talk, "no space left on device, for 20s\nhint: make room in "+d.archive) {
		t.Fatalf("up, while the disk is full: %v: %s", err, talk)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n))

	// It does not answer.
	run("fsfreeze", "-f", disk)
	frozen := true
	thaw := func() {
		if frozen {
			frozen = false
			run("fsfreeze", "-u", disk)
		}
	}
	t.Cleanup(thaw)
	a := d.send("DELETE FROM slot WHERE writer = 50")
	a.waits(t, "a commit, with a disk that does not answer,")
	d.warns(t, "a write to its disk does not return")
	d.reads(t, "SELECT COUNT(*) FROM slot", fmt.Sprint(n))
	// MariaDB answers what KILL QUERY ends: `status` says so until it is archived.
	const early = "commits were answered that are not in the archive yet"
	if _, err := d.db.Exec("KILL QUERY " + waiting(t, d.db)); err != nil {
		t.Fatal(err)
	}
	if d.srv.Flavour == server.MySQL {
		a.waits(t, "a commit, after KILL QUERY,")
		d.quiet(t, early)
		thaw()
		a.comes(t, "a commit, with a disk that answers again,")
	} else {
		a.comes(t, "a commit, by KILL QUERY,")
		d.warns(t, early)
		thaw()
		d.quiet(t, early)
	}

	// And `down` meanwhile: what is answered is on disk.
	ended := d.load(t, ending{})
	run("fsfreeze", "-f", disk)
	frozen = true
	down := make(chan error, 1)
	go func() {
		_, talk, err := d.try("down", durableName)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, talk)
		}
		down <- err
	}()
	time.Sleep(5 * time.Second)
	told := d.told()
	thaw()
	if err := <-down; err != nil {
		t.Log("down, while the disk did not answer:", err)
	}
	_ = ended(true)
	if err := d.loseRAM(); err != nil {
		t.Fatal(err)
	}
	d.open(t, d.ramaria("up", durableName))
	if err := d.checkFrom(t.Context(), told); err != nil {
		t.Error(err)
	}

	// And a `down` while it never does: it ends, says what is at stake, and loses nothing that is in RAM.
	run("fsfreeze", "-f", disk)
	frozen = true
	stuck = d.send("INSERT INTO slot VALUES (51, 1, 0, 'waits')")
	stuck.waits(t, "a commit, with a disk that does not answer,")
	setting := "rpl_semi_sync_master_timeout"
	if d.srv.Flavour == server.MySQL {
		setting = "rpl_semi_sync_source_timeout"
	}
	// The archive is to have that, too: another write that does not return.
	if _, err := d.root.Exec("SET GLOBAL " + setting + " = 300000000000"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(soon); ; time.Sleep(100 * time.Millisecond) {
		if now, err := column(t.Context(), d.root, "SELECT @@GLOBAL."+setting); err != nil || time.Now().After(end) {
			t.Fatalf("%s is %q, and not put back: %v", setting, now, err)
		} else if now[0] != "300000000000" {
			break
		}
	}
	time.Sleep(3 * time.Second) // the archivist looks every second
	go func() {
		_, talk, err := d.try("down", durableName)
		if err == nil && !strings.Contains(talk, "lacks the end of the log: a write to its disk does not return") {
			err = fmt.Errorf("it says %q", talk)
		}
		down <- err
	}()
	select {
	case err := <-down:
		if err != nil {
			t.Error("down, while the disk did not answer:", err)
		}
	case <-time.After(patience):
		thaw()
		t.Fatalf("down waits for a disk that does not answer: %v", <-down)
	}
	if err := <-stuck; err == nil {
		t.Error("a commit was answered while the disk did not")
	}
	d.open(t, d.ramaria("up", durableName, "--durable=off"))
	d.reads(t, "SELECT COUNT(*) FROM slot WHERE writer = 51", "1")
	d.ramaria("down", durableName)
	thaw()
}
