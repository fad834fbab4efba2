package random

import (
	"context"
	_ "embed"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests/grammar"
)

//go:embed changes.txt
var changesText string

// controls is how many changes the comparison must find, all of them, on the first server;
// fewControls on the others, and in a quick run.
const controls, fewControls = 100, 30

// TestNothingIsOverlooked is the negative control of TestRandom: instead of all changes of a
// run, all but one random one are undone, and the comparison must find that one. Every second
// change is of rows, as the grammar makes them up.
func TestNothingIsOverlooked(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		n := fewControls
		if want == servertest.Servers[0] && !servertest.Quick() || os.Getenv(servertest.EnvServer) != "" || os.Getenv(envRandom) != "" {
			n = controls
		}
		r := newRunner(t, want, seedOf(t), nil)
		r.grammar.Read(grammar.Without(changesText, leftOut()), r.in.software)
		g := generator(r.seed, 1)
		m := &grammar.Maker{Rand: g, Grammar: r.grammar, Tables: r.templates[0].Tables, Scope: "1"}
		changes := r.grammar["change"]
		g.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		began, refused, next := time.Now(), 0, 0
		for found := 0; found < n; {
			text := ""
			for found%2 == 0 && !strings.HasPrefix(text, "INSERT INTO") && !strings.HasPrefix(text, "UPDATE") && !strings.HasPrefix(text, "DELETE FROM") {
				text = m.Make("dml")
			}
			if found%2 == 1 {
				text = m.Fill(changes[next%len(changes)])
				next++
			}
			if !r.leftUndone(t, text) {
				if refused++; refused > 2*n {
					t.Fatalf("%d changes were refused", refused)
				}
				continue
			}
			found++
		}
		t.Logf("%d changes, %d more were refused or did nothing, %s", n, refused, time.Since(began).Round(time.Millisecond))
	})
}

// leftUndone makes one change to a clone that is as its template, and reports whether the
// server did it. The comparison must find it, and nothing after a reset.
func (r *runner) leftUndone(t *testing.T, text string) bool {
	t.Helper()
	ctx := t.Context()
	made := r.templates[0]
	l, err := r.newLease(ctx, "1", "", made)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.end(ctx); err != nil {
			t.Error(err)
		}
	}()
	if !l.sessions[0].change(ctx, strings.ReplaceAll(text, "{DB}", grammar.Quote(l.database.Name))) {
		return false
	}
	_, missed := l.compare(ctx)
	r.log.write("control", "%s: %v", text, missed)
	if missed == nil {
		t.Errorf("the comparison does not find: %s", text)
	}
	if _, err := l.back(ctx, step{verb: reset}); err != nil {
		t.Errorf("after %s: %v", text, err)
	} else if _, err := l.compare(ctx); err != nil {
		t.Errorf("a reset does not undo %s: %v", text, err)
	}
	return true
}

// change runs statements, and reports whether they did something: all were accepted, and the
// last changed rows if it is one that does.
func (s *session) change(ctx context.Context, text string) bool {
	for _, statement := range strings.Split(text, " ;; ") {
		if err := s.open(ctx); err != nil {
			return false
		}
		if strings.HasPrefix(statement, "SELECT") || strings.HasPrefix(statement, "ANALYZE") {
			if s.exec(ctx, statement) != nil {
				return false
			}
			continue
		}
		result, err := s.conn.ExecContext(ctx, statement)
		if err != nil {
			return false
		}
		changed, _ := result.RowsAffected() // this driver has it
		word, _, _ := strings.Cut(statement, " ")
		if changed == 0 && (word == "INSERT" || word == "UPDATE" || word == "DELETE") && !strings.HasPrefix(statement, "DELETE HISTORY") {
			return false
		}
	}
	return true
}
