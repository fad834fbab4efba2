package corpus

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/tests/picture"
)

// TestTables: the tables of sources and dialects make what issue and page promise, without a server.
func TestTables(t *testing.T) {
	inputs, seen, names := 0, map[string]bool{packaged: true}, map[string]bool{}
	for number, s := range sources {
		if names[s.name] {
			t.Errorf("two sources are %s", s.name)
		}
		names[s.name] = true
		if len(s.apps) == 0 {
			inputs++
			if !regexp.MustCompile("(?m)^" + regexp.QuoteMeta(s.name) + " [0-9a-f]{64}$").MatchString(pinnedSums) {
				t.Errorf("sums.txt has no %s", s.name)
			}
		}
		if s.kind != "" && fetchers[s.kind] == nil {
			t.Errorf("%s is of an unknown kind %s", s.name, s.kind)
		}
		if s.textOnly {
			continue
		}
		turn := dialectsOf(number)
		for _, d := range turn[:perSource] {
			seen[d.name] = true
			inputs++
		}
		all := map[string]bool{}
		for _, d := range turn {
			all[d.name] = true
		}
		if len(all) != len(dialects) {
			t.Errorf("%s has %d dialects to try, want %d", s.name, len(all), len(dialects))
		}
	}
	if inputs < 60 || len(seen) < 12 {
		t.Errorf("%d inputs in %d dialects, want 60 in 12", inputs, len(seen))
	}
	if len(seen) != len(dialects)+1 {
		t.Errorf("%d dialects are used first by some source, of %d", len(seen), len(dialects)+1)
	}
}

// TestBrief: of two long lines the words stay that differ, with some around them.
func TestBrief(t *testing.T) {
	text := "x:\n  got  A=1 B=2 C=3 D=4 E=5 F=6 G=7 H=8 I=9 J=0 K=1 L=2\n  want A=1 B=2 C=3 D=4 E=5 F=6 G=7 H=8 I=7 J=0 K=1 L=2\n  got  alone"
	const want = "x:\n  got  A=1 B=2 C=3 D=4 ... F=6 G=7 H=8 I=9 J=0 K=1 L=2\n  want A=1 B=2 C=3 D=4 ... F=6 G=7 H=8 I=7 J=0 K=1 L=2\n  got  alone"
	if got := brief(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMemoryTables: a restart takes the rows of MEMORY tables, and of no others.
func TestMemoryTables(t *testing.T) {
	p := restarted(picture.Picture{
		"table a": "CREATE TABLE `a` (\n) ENGINE=MEMORY", "rows a": "1\n", "table b": "CREATE TABLE `b` (\n) ENGINE=InnoDB", "rows b": "1\n",
		"counter": "a 5\nb 7\n", "shown counter a": " AUTO_INCREMENT=5\n", "shown counter b": " AUTO_INCREMENT=7\n",
	})
	if p["rows a"] != "" || p["rows b"] != "1\n" || p["counter"] != "a 1\nb 7\n" || strings.Contains(p["shown counter a"], "5") || !strings.Contains(p["shown counter b"], "7") {
		t.Errorf("got %q", p)
	}
}

// TestRefusals: what the client and Ramaria say is compared by number and line.
func TestRefusals(t *testing.T) {
	m := clientSays.FindStringSubmatch("--------------\nCREATE TABLE x\n--------------\n\nERROR 1273 (HY000) at line 26: Unknown collation")
	n := ramariaSays.FindStringSubmatch("ramaria: a.sql:26: the server refused a statement: 1273 (HY000) Unknown collation")
	if m == nil || n == nil || m[1] != n[2] || m[2] != n[1] {
		t.Errorf("the client %q, Ramaria %q", m, n)
	}
	c := &check{result: result{refused: &refusal{number: 1273, line: 26}}}
	for _, other := range []struct {
		err  error
		fine bool
	}{
		{&refusal{number: 1273, line: 26}, true}, {&refusal{number: 1273, line: 27}, false}, {&refusal{number: 1064, line: 26}, false}, {nil, false},
	} {
		if got := c.asClient(other.err); (got == nil) != other.fine {
			t.Errorf("%v: %v", other.err, got)
		}
	}
}
