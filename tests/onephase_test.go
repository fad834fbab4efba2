package tests

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// onePhase are the statements of an XA transaction that is committed in one phase, as transaction managers do with one
// resource.
func onePhase(name string, statements ...string) []string {
	x := "'" + name + "'"
	list := append([]string{"XA START " + x}, statements...)
	return append(list, "XA END "+x, "XA COMMIT "+x+" ONE PHASE")
}

// nonePrepared fails the test if an XA transaction is prepared.
func (d *durable) nonePrepared(t *testing.T) {
	t.Helper()
	if text := allOf(t, d.root, "XA RECOVER"); text != "" {
		t.Errorf("these are prepared:\n%s", text)
	}
}

// TestOnePhaseInBase: a transaction that is committed in one phase, and waits for the base backup, is in that.
func TestOnePhaseInBase(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.filled(t, "a")
	f.exec(t, "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB")
	f.hold(t)
	fence := f.send(numberRows("a"))
	fence.waits(t, "a statement that the log may not repeat")
	f.fences(t, 1)
	commit := f.send(onePhase("x", "INSERT INTO t VALUES (1)")...)
	commit.waits(t, "a commit behind it")
	f.letGo(t)
	fence.comes(t, "the statement")
	commit.comes(t, "the commit")
	f.fences(t, 0)
	f.reads(t, "SELECT id FROM t", "1")
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	f.reads(t, "SELECT id FROM t", "1")
	f.nonePrepared(t)
}

// TestOnePhaseBehindFence: what a kill left of one that waits behind a fence is told from one that was prepared before the
// log begins, by the archive: the base backup that comes first at the start has both, as they are to be.
func TestOnePhaseBehindFence(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.filled(t, "a")
	f.exec(t, "CREATE TABLE t (id INT PRIMARY KEY) ENGINE=InnoDB")
	f.send("XA START 'old'", "INSERT INTO t VALUES (1)", "XA END 'old'", "XA PREPARE 'old'").comes(t, "XA PREPARE")
	for end := time.Now().Add(soon); strings.Contains(allOf(t, f.root, "SHOW BINARY LOGS"), ".000001"); time.Sleep(100 * time.Millisecond) {
		for _, text := range []string{"FLUSH BINARY LOGS", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (2)", "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY"} {
			if _, err := f.root.Exec(strings.ReplaceAll(text, " t ", " app.t ")); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if time.Now().After(end) {
			t.Fatal("the first file of the log stays")
		}
	}
	f.hold(t)
	fence := f.send(numberRows("a"))
	fence.waits(t, "a statement that the log may not repeat")
	f.fences(t, 1)
	commit := f.send(onePhase("x", "INSERT INTO t VALUES (3)")...)
	commit.waits(t, "a commit behind it")
	if err := f.end(t, ending{}, func(bool) error { return nil }); err != nil {
		t.Fatal(err)
	}
	f.letGo(t)
	f.open(t, f.ramaria("up", durableName))
	if text := allOf(t, f.root, "XA RECOVER"); !strings.Contains(text, "old") || strings.Count(text, "\n") != 1 {
		t.Errorf("these are prepared:\n%s", text)
	}
	if _, err := f.root.Exec("XA COMMIT 'old'"); err != nil {
		t.Error(err)
	}
	f.reads(t, "SELECT id FROM t ORDER BY id", "1,2,3")
}

// onePhaseWriters is how many sessions commit in one phase, beside as many that commit as usual.
const onePhaseWriters = 4

// onePhaseLoad is what those sessions have been told.
type onePhaseLoad struct {
	*durable
	acked [2 * onePhaseWriters]atomic.Int64
}

// run commits until the end of the context, or of the server.
func (l *onePhaseLoad) run(ctx context.Context, conn *sql.Conn, w int) {
	for ctx.Err() == nil {
		n := l.acked[w].Load() + 1
		texts := []string{fmt.Sprintf("INSERT INTO one VALUES (%d, %d, 0)", w, n), fmt.Sprintf("INSERT INTO nokey VALUES (%d)", w), fmt.Sprintf("UPDATE latest SET n = %d WHERE w = %d", n, w)}
		if w < onePhaseWriters {
			texts = onePhase(fmt.Sprintf("%d-%d", w, n), texts...)
		} else {
			texts = append(append([]string{"START TRANSACTION"}, texts...), "COMMIT")
		}
		for _, text := range texts {
			if _, err := conn.ExecContext(context.WithoutCancel(ctx), text); err != nil {
				return
			}
		}
		l.acked[w].Store(n)
	}
}

// TestOnePhaseLoad: what was committed in one phase is there after kills, and after the RAM was lost, also where base backups
// were made meanwhile.
func TestOnePhaseLoad(t *testing.T) {
	t.Parallel()
	l := &onePhaseLoad{durable: newDurable(t, "shm")}
	l.begin(t)
	for _, text := range []string{
		"CREATE TABLE one (w INT, n INT, pad INT, PRIMARY KEY (w, n)) ENGINE=InnoDB", "CREATE TABLE nokey (w INT) ENGINE=InnoDB",
		"CREATE TABLE latest (w INT PRIMARY KEY, n INT) ENGINE=InnoDB", fmt.Sprintf("INSERT INTO latest SELECT seq, 0 FROM (SELECT 0 AS seq UNION SELECT seq FROM %s) s", numbers(2*onePhaseWriters)),
	} {
		if _, err := l.db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for round := range fewer(12, 4) {
		e := ending{server: round%2 == 0, lost: round%4 > 1}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for w := range l.acked {
			conn, err := l.db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			running.Go(func() {
				defer conn.Close()
				l.run(ctx, conn, w)
			})
		}
		for range 3 {
			l.ramaria("backup", durableName)
		}
		time.Sleep(leastLoad)
		err := l.end(t, e, func(bool) error { return nil })
		cancel()
		running.Wait()
		if err != nil {
			t.Fatal(err)
		}
		l.open(t, l.ramaria("up", durableName))
		l.check(t, fmt.Sprintf("round %d, %+v", round, e))
	}
}

// check compares what is there with what was acknowledged.
func (l *onePhaseLoad) check(t *testing.T, when string) {
	t.Helper()
	for w := range l.acked {
		told := l.acked[w].Load()
		var is, most, keyless, latest int64
		if err := l.root.QueryRow(strings.ReplaceAll(fmt.Sprintf(`SELECT (SELECT COUNT(*) FROM DB.one WHERE w = %d), (SELECT IFNULL(MAX(n), 0) FROM DB.one WHERE w = %[1]d),
			(SELECT COUNT(*) FROM DB.nokey WHERE w = %[1]d), (SELECT n FROM DB.latest WHERE w = %[1]d)`, w), "DB", l.made.Endpoint.Database)).Scan(&is, &most, &keyless, &latest); err != nil {
			t.Fatal(err)
		}
		if is < told || is > told+1 || most != is || keyless != is || latest != is {
			t.Errorf("%s: of writer %d, %d are acknowledged; %d rows are there, up to %d, %d without a key, and the last says %d", when, w, told, is, most, keyless, latest)
		}
		l.acked[w].Store(is)
	}
	l.nonePrepared(t)
}
