package tests

import (
	"strings"
	"testing"
	"time"
)

// TestXAFormats: what the log has of XA transactions with several format ids, which MySQL mixes up when it recovers, is there
// after the server was killed while one waited for the answer to its COMMIT, and again after the RAM was lost.
func TestXAFormats(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.exec(t, "CREATE TABLE t (a INT PRIMARY KEY)")
	xa := func(statement string) { // each by a session of its own
		err := <-f.send(statement)
		for end := time.Now().Add(soon); err != nil && strings.Contains(err.Error(), "XAER_NOTA") && time.Now().Before(end); time.Sleep(untilPause) {
			err = <-f.send(statement) // the session that prepared it has not gone yet
		}
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	prepare := func(name, value string) {
		if err := <-f.send("XA START "+name, "INSERT INTO t VALUES ("+value+")", "XA END "+name, "XA PREPARE "+name); err != nil {
			t.Fatalf("prepare %s: %v", name, err)
		}
	}
	prepare("'a','b',7", "1")
	xa("XA COMMIT 'a','b',7")
	prepare("'prepared'", "2")
	prepare("'committed'", "3")
	f.killWaiting(t, "XA COMMIT 'committed'")
	f.open(t, f.ramaria("up", durableName))
	f.reads(t, "SELECT a FROM t ORDER BY a", "1,3")
	xa("XA COMMIT 'prepared'")
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	f.reads(t, "SELECT a FROM t ORDER BY a", "1,2,3")
}

// TestXAFormatsInBase: a base backup that is made while XA transactions wait, beside ended ones of another format, has them as
// the log does.
func TestXAFormatsInBase(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.exec(t, "CREATE TABLE t (a INT PRIMARY KEY)", "CREATE TABLE u (a INT)")
	xa := func(name, value string, then ...string) answer {
		return f.send(append([]string{"XA START " + name, "INSERT INTO t VALUES (" + value + ")", "XA END " + name, "XA PREPARE " + name}, then...)...)
	}
	if err := <-xa("'a','b',7", "1", "XA COMMIT 'a','b',7"); err != nil {
		t.Fatal(err)
	}
	if err := <-xa("'prepared'", "2"); err != nil {
		t.Fatal(err)
	}
	if err := <-xa("'committed'", "3"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second) // what has ended since may not be in the data yet
	f.hold(t)
	fence := f.send(numberRows("u"))
	f.fences(t, 1)
	waiting := []answer{f.send("XA COMMIT 'committed'"), xa("'later'", "4"), xa("'last'", "5", "XA COMMIT 'last'")}
	time.Sleep(stuckFor)
	f.letGo(t)
	fence.comes(t, "the fence")
	waiting[0].comes(t, "XA COMMIT")
	waiting[1].comes(t, "XA PREPARE")
	waiting[2].comes(t, "XA COMMIT of the last")
	if err := <-f.send("XA ROLLBACK 'later'"); err != nil {
		t.Fatal(err)
	}
	f.lose(t)
	f.open(t, f.ramaria("up", durableName))
	f.reads(t, "SELECT a FROM t ORDER BY a", "1,3,5")
	if err := <-f.send("XA COMMIT 'prepared'"); err != nil {
		t.Fatal(err)
	}
	f.reads(t, "SELECT a FROM t ORDER BY a", "1,2,3,5")
}
