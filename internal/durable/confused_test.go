package durable

import "testing"

// TestRolledBack: what MySQL says of XA transactions that it has rolled back is told from what it says of others.
func TestRolledBack(t *testing.T) {
	const engine = "[Note] [MY-013911] [Server] Crash recovery finished in InnoDB engine. "
	for text, want := range map[string]bool{
		engine + "Successfully rolled back 4 XA transaction(s). ":                                                         true,
		engine + "Successfully committed 1, rolled back 2, prepared 3 XA transaction(s). ":                                true,
		engine + "Successfully committed 2 internal transaction(s). Successfully rolled back 1 XA transaction(s). ":       true,
		engine + "Successfully committed 4 XA transaction(s). ":                                                           false,
		engine + "Successfully rolled back 1 internal transaction(s). Successfully prepared 3 XA transaction(s). ":        false,
		engine + "No attempts to commit, rollback or prepare any transactions.":                                           false,
		"[Note] [MY-013911] [Server] Crash recovery finished in binlog engine. Successfully rolled back 1 XA transaction": false,
	} {
		if got := rolledBack.MatchString(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
