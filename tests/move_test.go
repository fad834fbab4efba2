package tests

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// envMoveKills is how many moves TestKilledMove kills.
const envMoveKills = "RAMARIA_TEST_MOVE_KILLS"

const (
	// moveKills is that of an ordinary run.
	moveKills, lessMoveKills = 60, 30
	// moveWriters is how many connections write while an instance moves.
	moveWriters = 4
)

// instancePlaces returns what there is of an instance in the volumes of a home: a line for each directory, but for what clients
// know of one that was moved.
func (b *scriptHome) instancePlaces(name string) (list []string) {
	for _, dir := range append(b.mounted(), b.places.Shm, b.places.Disk) {
		list = append(list, entries(filepath.Join(dir, "instances", name), func(name string) bool {
			return name == "data" || !strings.HasPrefix(name, "run") && name != "client" && name != "api.sock"
		})...)
	}
	return list
}

// volumeDir is where a volume of a home lies.
func (b *scriptHome) volumeDir(kind string) string {
	switch kind {
	case "shm":
		return b.places.Shm
	case "disk":
		return b.places.Disk
	}
	return filepath.Join(b.places.Mounts, kind)
}

// onePlace is an error if files of an instance lie in another volume than one.
func (b *scriptHome) onePlace(name, kind string) error {
	whole := false
	for _, path := range b.instancePlaces(name) {
		if !strings.HasPrefix(path, b.volumeDir(kind)+"/") {
			return fmt.Errorf("%s, but it lies in volume %s", path, kind)
		}
		whole = whole || filepath.Base(path) == "data"
	}
	if !whole {
		return fmt.Errorf("no data in volume %s", kind)
	}
	return nil
}

// cmdOnePlace fails if anything of an instance lies in another volume: `one-place main disk`.
func cmdOnePlace(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: one-place INSTANCE KIND")
	}
	err := ts.Value(homeKey{}).(*scriptHome).onePlace(args[0], args[1])
	if (err != nil) != neg {
		ts.Fatalf("%v", err)
	}
}

// cmdLeaveHalf leaves what a killed move leaves in a volume: `leave-half main disk`.
func cmdLeaveHalf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: leave-half INSTANCE KIND")
	}
	dir := filepath.Join(ts.Value(homeKey{}).(*scriptHome).volumeDir(args[1]), "instances", args[0])
	ts.Check(os.MkdirAll(filepath.Join(dir, "data", "app"), 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "data", "app", "t.ibd"), []byte("half"), 0o600))
}

// moveLoad are writers that note what was acknowledged, and go on when their connections break.
type moveLoad struct {
	db     *sql.DB
	acked  [moveWriters]atomic.Int64
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// moveTables are what they write to: a counter for each, and rows of the same transactions.
var moveTables = []string{
	"CREATE TABLE IF NOT EXISTS ack (w INT PRIMARY KEY, n BIGINT)",
	"CREATE TABLE IF NOT EXISTS half (w INT, n BIGINT, pad VARBINARY(1000), PRIMARY KEY (w, n))",
}

func (h *testHome) beginMoveLoad(db *sql.DB) *moveLoad {
	h.t.Helper()
	return h.beginSlowLoad(db, 0)
}

// beginSlowLoad begins writers that pause after each commit, so that who follows keeps up.
func (h *testHome) beginSlowLoad(db *sql.DB, pause time.Duration) *moveLoad {
	h.t.Helper()
	h.exec(db, moveTables...)
	ctx, cancel := context.WithCancel(h.t.Context())
	l := &moveLoad{db: db, cancel: cancel}
	for w := range moveWriters {
		var n int64
		if err := db.QueryRow("SELECT COALESCE(MAX(n), 0) FROM ack WHERE w = ?", w).Scan(&n); err != nil {
			h.t.Fatal(err)
		}
		l.acked[w].Store(n)
		l.group.Go(func() {
			for ctx.Err() == nil {
				if err := l.write(ctx, w, n+1); err != nil {
					time.Sleep(5 * time.Millisecond)
					continue
				}
				n++
				l.acked[w].Store(n)
				time.Sleep(pause)
			}
		})
	}
	return l
}

// write commits one transaction. It may be there already: an error says nothing of that.
func (l *moveLoad) write(ctx context.Context, w int, n int64) (err error) {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
		}
	}()
	if _, err := tx.Exec("REPLACE INTO ack VALUES (?, ?)", w, n); err != nil {
		return err
	}
	if _, err := tx.Exec("REPLACE INTO half VALUES (?, ?, REPEAT('x', 900))", w, n); err != nil {
		return err
	}
	return tx.Commit()
}

// end ends the writers.
func (l *moveLoad) end() { l.cancel(); l.group.Wait() }

// sum is how many commits were acknowledged.
func (l *moveLoad) sum() (n int64) {
	for w := range l.acked {
		n += l.acked[w].Load()
	}
	return n
}

// check is an error if a commit that was acknowledged is not there, or half a transaction is. No writer writes.
func (l *moveLoad) check(ctx context.Context) error {
	var errs []error
	for w := range l.acked {
		var n, most, rows int64
		err := l.db.QueryRowContext(ctx, "SELECT (SELECT COALESCE(MAX(n), 0) FROM ack WHERE w = ?), COALESCE(MAX(n), 0), COUNT(*) FROM half WHERE w = ?", w, w).Scan(&n, &most, &rows)
		switch acked := l.acked[w].Load(); {
		case err != nil:
			errs = append(errs, err)
		case n < acked:
			errs = append(errs, fmt.Errorf("writer %d: commit %d was acknowledged, and %d is the last", w, acked, n))
		case n != most || n != rows:
			errs = append(errs, fmt.Errorf("writer %d: half a transaction: counter %d, rows up to %d, %d rows", w, n, most, rows))
		}
	}
	return errors.Join(append(errs, cleanTables(ctx, l.db))...)
}

// moveKinds are volumes to move between, in a circle.
func moveKinds() []string {
	kinds := []string{"shm", "disk"}
	if ok, err := condition("xfs"); ok && err == nil {
		kinds = append(kinds, "xfs")
	}
	return kinds
}

// TestMove moves an instance that is written to from volume to volume: no commit that was acknowledged is lost.
func TestMove(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	kinds := moveKinds()
	dsn := h.ramaria("up", "main", "--server", h.daemon(), "--volume", kinds[0], "--set", killPool)
	db := openDSN(t, dsn)
	l := h.beginMoveLoad(db)
	for n := range 2 * len(kinds) {
		kind, before := kinds[(n+1)%len(kinds)], l.sum()
		h.until("some commits", func() bool { return l.sum() > before+50 })
		out, talk, err := h.try("move", "main", "--volume", kind)
		if err != nil {
			t.Fatalf("move to %s: %v\n%s%s", kind, err, talk, h.logs())
		}
		if out != dsn {
			t.Errorf("the DSN was %s and is %s", dsn, out)
		}
		t.Log(talk)
		if err := h.onePlace("main", kind); err != nil {
			t.Errorf("moved to %s: %v", kind, err)
		}
	}
	l.end()
	if err := l.check(t.Context()); err != nil {
		t.Error(err)
	}
	// The check sees a commit that is not there, and half a transaction.
	h.exec(db, "UPDATE ack SET n = n - 1 WHERE w = 0")
	if err := l.check(t.Context()); err == nil {
		t.Error("the check does not see a lost commit")
	}
	h.exec(db, "UPDATE ack SET n = n + 1 WHERE w = 0", "DELETE FROM half WHERE w = 1 AND n = 3")
	if err := l.check(t.Context()); err == nil {
		t.Error("the check does not see half a transaction")
	}
}

// TestKilledMove kills moves at random moments, the supervisor or the command: the instance is in one place afterwards,
// the old or the new one, with every commit that was acknowledged.
func TestKilledMove(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	kinds := moveKinds()
	kills := killsOf(t, envMoveKills, fewer(moveKills, lessMoveKills))
	db := openDSN(t, h.ramaria("up", "main", "--server", h.daemon(), "--volume", kinds[0], "--set", killPool))
	l := h.beginMoveLoad(db)
	began := time.Now()
	h.ramaria("move", "main", "--volume", kinds[1])
	whole := time.Since(began)
	at, seen := 1, map[string]int{}
	for n := range kills {
		to := (at + 1) % len(kinds)
		victim := []string{"supervisor", "command"}[n%2]
		p := h.pids("main")
		cmd := h.command("move", "main", "--volume", kinds[to])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole) * 5 / 4))) // #nosec G404 -- no secret
		pid := p.Supervisor
		if victim == "command" {
			pid = cmd.Process.Pid
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // a command may have ended
		_ = cmd.Wait()
		if victim == "supervisor" {
			h.gone(p)
		}
		l.end()
		h.ramaria("up", "main")
		stays := kinds[at]
		h.until("the instance is in one place", func() bool {
			h.ramaria("ls")
			if h.onePlace("main", kinds[to]) == nil {
				stays = kinds[to]
				return true
			}
			return h.onePlace("main", kinds[at]) == nil
		})
		if got := h.volumeOf("main"); got != stays {
			t.Fatalf("kill %d, of the %s: files are in volume %s, and the record says %s", n, victim, stays, got)
		}
		if err := l.check(t.Context()); err != nil {
			t.Fatalf("kill %d, of the %s, from %s to %s, now in %s: %v%s", n, victim, kinds[at], kinds[to], stays, err, h.logs())
		}
		if stays == kinds[to] {
			at = to
			seen[victim+": moved"]++
		} else {
			seen[victim+": not moved"]++
		}
		l = h.beginMoveLoad(db)
	}
	l.end()
	t.Logf("%d kills: %v", kills, seen)
}

// TestKilledMoveOfStopped kills the command that moves an instance which does not run: it is in one place afterwards.
func TestKilledMoveOfStopped(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	kinds := moveKinds()
	db := h.upSmall("main", kinds[0])
	h.exec(db, "INSERT INTO t VALUES (2)")
	h.ramaria("down", "main")
	began := time.Now()
	h.ramaria("move", "main", "--volume", kinds[1])
	whole := time.Since(began)
	at, seen := 1, map[string]int{}
	for n := range fewer(20, 8) {
		to := (at + 1) % len(kinds)
		cmd := h.command("move", "main", "--volume", kinds[to])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(whole) * 5 / 4))) // #nosec G404 -- no secret
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		h.ramaria("ls")
		stays := h.volumeOfStopped("main")
		if err := h.onePlace("main", stays); err != nil {
			t.Fatalf("kill %d, from %s to %s: %v", n, kinds[at], kinds[to], err)
		}
		seen[stays]++
		at = slices.Index(kinds, stays)
	}
	h.ramaria("up", "main")
	h.rows("after all", db, "1 2")
	t.Logf("it stayed in %v", seen)
}

// volumeOfStopped is volumeOf an instance that does not run.
func (h *testHome) volumeOfStopped(name string) string {
	h.t.Helper()
	var all []struct{ Name, Volume string }
	if err := json.Unmarshal([]byte(h.ramaria("ls", "--json")), &all); err != nil {
		h.t.Fatal(err)
	}
	for _, l := range all {
		if l.Name == name {
			return l.Volume
		}
	}
	h.t.Fatalf("no instance %s", name)
	return ""
}

// volumeOf is the kind of volume that the record of an instance names.
func (h *testHome) volumeOf(name string) string {
	h.t.Helper()
	var l struct{ Volume string }
	if err := json.Unmarshal([]byte(h.ramaria("status", name, "--json")), &l); err != nil {
		h.t.Fatal(err)
	}
	return l.Volume
}

// killsOf is how many kills a variable asks for, or the usual number.
func killsOf(t *testing.T, variable string, usual int) int {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}
