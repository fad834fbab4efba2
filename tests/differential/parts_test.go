package differential

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/tests/grammar"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// TestParts: a trial has what its lines need, once and first, and can do without each part.
func TestParts(t *testing.T) {
	r := &runner{grammar: grammar.Grammar{}}
	r.grammar.Read("given t\n\tCREATE TABLE t (id INT)\n\tx: INSERT INTO t VALUES (1)\ndo one\n\tDELETE FROM {t} ;; b: UPDATE {t} SET id = 2\n", grammar.Software{})
	r.lines = lines(r.grammar)
	one := &trial{database: "c1", settings: []setting{{"a", "1"}, {"b", "2"}}}
	one.fill(rand.New(rand.NewPCG(0, 0)), r, []int{0})
	for _, tc := range []struct {
		name string
		drop []int
		want string
	}{
		{"nothing", nil, "SET SESSION a = 1;SET SESSION b = 2;0: CREATE TABLE t (id INT);x: INSERT INTO t VALUES (1);a: DELETE FROM t;b: UPDATE t SET id = 2;"},
		{"a setting and a step", []int{0, 4}, "SET SESSION b = 2;0: CREATE TABLE t (id INT);x: INSERT INTO t VALUES (1);b: UPDATE t SET id = 2;"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			short := one.without("c2", tc.drop...)
			if diff := cmp.Diff(tc.want, strings.NewReplacer("\n", "", "\t", "").Replace(short.String())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !one.has(short) {
				t.Error("the trial does not count as one that has the shorter one in it")
			}
		})
	}
	if diff := cmp.Diff([][]int{{0, 1}, {4, 5}}, one.large()); diff != "" {
		t.Errorf("larger parts (-want +got):\n%s", diff)
	}
}

// TestForgive: only counters that may be lower are forgiven, and rows that a start of the server loses.
func TestForgive(t *testing.T) {
	of := func(counter, engine, rows string) picture.Picture {
		return picture.Picture{"counter": "t " + counter, "shown counter t": "AUTO_INCREMENT=" + counter + "\n", "table t": "ENGINE=" + engine, "rows t": rows}
	}
	for _, tc := range []struct {
		name, text    string
		said          error
		before, after picture.Picture
		differ        bool
	}{
		{"rolled back", "ROLLBACK", nil, of("5", "InnoDB", "a"), of("3", "InnoDB", "a"), false},
		{"refused", "INSERT INTO t VALUES (1)", errors.New("duplicate"), of("5", "InnoDB", "a"), of("3", "InnoDB", "a"), false},
		{"higher", "UPDATE t SET id = 9", nil, of("3", "InnoDB", "a"), of("5", "InnoDB", "a"), false},
		{"lower without a reason", "DELETE FROM t", nil, of("5", "InnoDB", "a"), of("3", "InnoDB", "a"), true},
		{"rows in memory", "DO 1", nil, of("1", "MEMORY", "a"), of("1", "MEMORY", ""), false},
		{"rows", "ROLLBACK", nil, of("5", "InnoDB", "a"), of("3", "InnoDB", ""), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one := &trial{steps: []step{{text: tc.text}}}
			one.forgive(outcome{tc.said}, tc.before, tc.after)
			if d := picture.Differences(tc.after, tc.before); (d != "") != tc.differ {
				t.Errorf("differs: %q", d)
			}
		})
	}
}

// TestTable: values stand between bars, and what is left alone has none.
func TestTable(t *testing.T) {
	want := map[string][]string{"a": {"1", "'x y'"}, "b": nil}
	if diff := cmp.Diff(want, table("# c\na 1 | 'x y'   # why\n\nb -  # why\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
