package tests

import (
	"database/sql"
	"math/rand/v2"
	"testing"
	"time"
)

// acknowledged is what each writer of a load has been told.
func (l *moveLoad) acknowledged() (n [moveWriters]int64) {
	for w := range n {
		n[w] = l.acked[w].Load()
	}
	return n
}

// lacks counts the writers whose last acknowledged commit a server does not have.
func lacks(t *testing.T, db *sql.DB, acked [moveWriters]int64) (n int) {
	t.Helper()
	for w, want := range acked {
		var got int64
		if err := db.QueryRow("SELECT COALESCE(MAX(n), 0) FROM ack WHERE w = ?", w).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got < want {
			n++
		}
	}
	return n
}

// TestSyncOutlivesSource: with --sync what was acknowledged is in the replica when the source is lost at any moment. The
// control, a replica that nobody waits for, lacks what was acknowledged while it was away.
func TestSyncOutlivesSource(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	for round := range 4 {
		sync := round > 0
		db := openDSN(t, h.ramaria("up", "a", "--volume", "shm", "--server", h.daemon(), "--set", killPool))
		args := []string{"replica", "add", "a", "b"}
		if sync {
			args = append(args, "--sync")
		}
		l := h.beginMoveLoad(db)
		replica := openDSN(t, h.ramaria(args...))
		h.until("commits", func() bool { return l.sum() > 200 })
		if !sync {
			h.until("it follows", func() bool { return h.says("b", `"state": "following"`) })
			h.ramaria("down", "b")
			before := l.sum()
			h.until("commits that nobody waits for", func() bool { return l.sum() > before+100 })
		}
		time.Sleep(rand.N(300 * time.Millisecond))
		h.kill("a", func(p pids) int { return p.Server })
		l.end()
		acked := l.acknowledged()
		h.ramaria("rm", "a")
		if !sync {
			replica = openDSN(t, h.ramaria("up", "b"))
		}
		h.ramaria("replica", "promote", "b")
		if n := lacks(t, replica, acked); sync && n > 0 {
			t.Errorf("round %d: %d writers lack a commit that was acknowledged", round, n)
		} else if !sync && n == 0 {
			t.Error("the control lacks nothing")
		}
		h.ramaria("rm", "b")
	}
}

// TestReplicaKilled: servers and supervisors of a source and its replica are killed while it is written to; in the end both
// have the same, and all that was acknowledged.
func TestReplicaKilled(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	db := openDSN(t, h.ramaria("up", "a", "--volume", "shm", "--server", h.daemon(), "--set", killPool))
	h.ramaria("replica", "add", "a", "b")
	l := h.beginMoveLoad(db)
	for round := range 8 {
		before := l.sum()
		h.until("commits", func() bool { return l.sum() > before+100 })
		time.Sleep(rand.N(200 * time.Millisecond))
		name := []string{"a", "b"}[round%2]
		h.kill(name, func(p pids) int {
			if round%4 < 2 {
				return p.Server
			}
			return p.Supervisor
		})
		h.ramaria("up", name)
	}
	l.end()
	replica := openDSN(t, h.ramaria("up", "b"))
	if n := lacks(t, db, l.acknowledged()); n > 0 {
		t.Errorf("%d writers lack a commit at the source", n)
	}
	h.until("the replica has it all", func() bool { return lacks(t, replica, l.acknowledged()) == 0 })
	for _, query := range []string{"SELECT COUNT(*) FROM half", "SELECT SUM(n) FROM half", "SELECT SUM(n) FROM ack"} {
		var want, got string
		if err := db.QueryRow(query).Scan(&want); err != nil {
			t.Fatal(err)
		}
		if err := replica.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %s at the replica, %s at the source (%v)", query, got, want, err)
		}
	}
}
