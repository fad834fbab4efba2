package tests

import "testing"

// TestXAFormats: what the log has of XA transactions with several format ids, which MySQL mixes up when it recovers, is there
// after the server was killed while one waited for the answer to its COMMIT, and again after the RAM was lost.
func TestXAFormats(t *testing.T) {
	t.Parallel()
	f := newFenced(t)
	f.exec(t, "CREATE TABLE t (a INT PRIMARY KEY)")
	xa := func(statement string) { // each by a session of its own
		if err := <-f.send(statement); err != nil {
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
