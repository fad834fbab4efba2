package replay

import (
	"errors"
	"slices"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestReplayOfMistakenXA: where a server of MariaDB logged of XA transactions what it did not do, what it logged of
// them later counts. The control is a replay that takes the log at its word.
func TestReplayOfMistakenXA(t *testing.T) {
	t.Parallel()
	w := newTwin(t, "mariadb:10.11", "base.sql")
	prepare := func(name, row string) string {
		return "XA START '" + name + "'; INSERT INTO shop.keyless VALUES (" + row + ", '" + name + "'); XA END '" + name + "'; XA PREPARE '" + name + "';"
	}
	const unlogged = "SET sql_log_bin = 0;"
	// Prepared in the log alone, and once more.
	w.Load(t, prepare("again", "1")+"XA ROLLBACK 'again'; ")
	w.Load(t, prepare("twice", "2"))
	w.RestartAs(t, server.Run, false, logging)
	w.Load(t, unlogged+"XA ROLLBACK 'twice'")
	w.Load(t, prepare("twice", "3")+"XA COMMIT 'twice'")
	// Committed in the log alone, and rolled back.
	w.Load(t, prepare("ended", "4")+"XA COMMIT 'ended'")
	w.Load(t, unlogged+prepare("ended", "4"))
	// Prepared in the server alone.
	w.Load(t, unlogged+prepare("unheard", "5"))
	w.RestartAs(t, server.Run, false, logging)
	w.Load(t, "XA ROLLBACK 'ended'; XA ROLLBACK 'unheard'; INSERT INTO shop.keyless VALUES (6, 'plain')")
	w.Stop(t)

	j := w.job(t, w.logs(t))
	j.Settled = true
	var apply *ApplyError
	if _, err := j.Run(t.Context()); !errors.As(err, &apply) {
		t.Errorf("taken at its word: %v", err)
	}
	j = w.job(t, w.logs(t))
	j.NonePrepared = true
	if _, err := j.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := servertest.StartOn(t, w.Server, j.DataDir, logging)
	if rows := query(t, got, "SELECT a, b FROM shop.keyless ORDER BY a"); !slices.Equal(rows, []string{"3 | twice", "6 | plain"}) {
		t.Errorf("rows %q", rows)
	}
	if left := query(t, got, "XA RECOVER"); len(left) > 0 {
		t.Errorf("prepared: %q", left)
	}
}

// TestReplayOfXANames: the name of an XA transaction that has ended may be used again at once.
func TestReplayOfXANames(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "base.sql")
		prepare := func(name, row string) string {
			return "XA START '" + name + "'; INSERT INTO shop.keyless VALUES (" + row + ", '" + name + "'); XA END '" + name + "'; XA PREPARE '" + name + "';"
		}
		w.Load(t, prepare("x", "1"))
		w.Load(t, prepare("y", "2"))
		w.Load(t, "XA COMMIT 'x'; XA ROLLBACK 'y'")
		w.Load(t, prepare("y", "3")+"XA COMMIT 'y';"+prepare("y", "4")+"XA ROLLBACK 'y';")
		w.Load(t, prepare("z", "5"))
		before := query(t, w.Running, "SELECT a, b FROM shop.keyless ORDER BY a")
		w.Kill()
		j := w.job(t, w.logs(t))
		j.Settled = true
		if _, err := j.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := servertest.StartOn(t, w.Server, j.DataDir, logging)
		if rows := query(t, got, "SELECT a, b FROM shop.keyless ORDER BY a"); !slices.Equal(rows, before) {
			t.Errorf("rows %q, want %q", rows, before)
		}
		if left := query(t, got, "XA RECOVER"); len(left) != 1 {
			t.Errorf("prepared: %q", left)
		}
	})
}
