package tests

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestKilledReset kills the supervisor in the middle of resets, at random moments, by
// every way that a reset takes. The next reset makes the database again.
func TestKilledReset(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	db := h.upSmall("main", testVolume)
	h.exec(db, "CREATE DATABASE shop", "CREATE TABLE shop.item (id int PRIMARY KEY, name varchar(40))",
		"INSERT INTO shop.item SELECT 1 + a.n + 10 * b.n + 100 * c.n, 'x' FROM "+digits("a")+", "+digits("b")+", "+digits("c"))
	h.ramaria("db", "pool", "--spare", "0") // the picture would have those that come and go
	h.ramaria("template", "add", "shop")
	h.ramaria("db", "new", "shop", "--name", "mine")
	want := h.picture(db)
	for n, change := range []string{
		"UPDATE mine.item SET name = CONCAT(name, 'y') WHERE id < 300", "TRUNCATE mine.item", "DROP DATABASE mine", "DELETE FROM mine.item WHERE id < 200",
	} {
		h.exec(db, change)
		p := h.pids("main")
		var group sync.WaitGroup
		group.Go(func() { _, _, _ = h.try("db", "reset", "mine") }) // killed, or not
		time.Sleep(time.Duration(n) * 3 * time.Millisecond)
		if err := syscall.Kill(p.Supervisor, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		group.Wait()
		h.gone(p)
		h.ramaria("up", "main")
		_, talk, err := h.try("db", "reset", "mine")
		if err != nil || !strings.Contains(talk, "by reclone: the server was restarted") {
			t.Errorf("kill %d: %v %s", n, err, talk)
		}
		if got := h.picture(db); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("kill %d: it is\n%s\nwant\n%s", n, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	h.nothingOf(testVolume, "none")
	if left, err := filepath.Glob(filepath.Join(h.instanceDir(testVolume, "main"), ".tmp-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}

// digits is a table of the numbers 0 to 9.
func digits(alias string) string {
	text := "(SELECT 0 n"
	for n := 1; n < 10; n++ {
		text += fmt.Sprintf(" UNION SELECT %d", n)
	}
	return text + ") " + alias
}
