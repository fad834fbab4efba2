package reset_test

import (
	"errors"
	"testing"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestVerdictOfBefore: the result of a comparison of a template that was taken again meanwhile is about
// the one of before. It made the new one unusable.
func TestVerdictOfBefore(t *testing.T) { servertest.Each(t, testVerdictOfBefore) }

func testVerdictOfBefore(t *testing.T, want string) {
	l := newLab(t, want, "shop", "CREATE TABLE t (a int);")
	const doubt, verdict = "it may have changed", "its shape was changed"
	doubted := func() (changed func(string), same func() bool) {
		l.Journal.Watch("shop")
		l.Journal.Invalidate("shop", doubt)
		return l.Journal.Verdicts("shop")
	}
	expect := func(name, text string) {
		if got := l.Journal.Changed("shop"); got != text {
			t.Errorf("%s: changed is %q, want %q", name, got, text)
		}
	}

	changed, _ := doubted()
	changed(verdict)
	expect("found to be another", verdict)
	_, same := doubted()
	if !same() {
		t.Error("it is not settled that nothing has changed")
	}
	expect("found to be as it was", "")

	changed, _ = doubted()
	l.Journal.Watch("shop")
	changed(verdict)
	expect("taken again", "")
	_, same = doubted()
	doubted()
	if same() {
		t.Error("what is doubted of the new one was settled by a comparison of the old one")
	}
	expect("taken again, and doubted", doubt)
}

// TestPassingDifference: a table that stood in a template for a moment makes it unusable while it stands
// there. A comparison that saw it made the template unusable for good.
func TestPassingDifference(t *testing.T) { servertest.Each(t, testPassingDifference) }

func testPassingDifference(t *testing.T, want string) {
	l := newLab(t, want, "shop", "CREATE TABLE t (a int);")
	if err := l.Prove(t.Context(), l.session, l.shape); err != nil {
		t.Fatal(err)
	}
	changed := func(statement string, want bool) {
		t.Helper()
		l.srv.Load(t, statement)
		for range 2 { // the second is of what the first found
			err := l.Unchanged(t.Context(), l.session, l.shape)
			if err != nil && !errors.Is(err, reset.ErrTemplateChanged) {
				t.Fatal(err)
			}
			if is := err != nil; is != want {
				t.Errorf("%s: changed is %t, want %t: %v", statement, is, want, err)
			}
		}
	}
	changed("CREATE TABLE shop.passing (a int)", true)
	changed("DROP TABLE shop.passing", false)
	changed("ALTER TABLE shop.t COMMENT 'x'", true)
	changed("ALTER TABLE shop.t COMMENT ''", false)
	changed("INSERT INTO shop.t VALUES (1)", true)
	changed("DELETE FROM shop.t", true) // a row that came and went leaves traces
}
