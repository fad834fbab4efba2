package verify

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	day := time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC)
	at := func(t time.Time) *time.Time { return &t }
	last := func() *Report {
		return &Report{
			Server: "mariadb-11.8.9", LastChange: at(day), Rows: 5000,
			Tables:  []Table{{Database: "shop", Name: "item", Rows: 4000, Checksum: "1", Schema: "a"}, {Database: "shop", Name: "small", Rows: 50, Checksum: "2", Schema: "b"}},
			Objects: []Object{{"view", "shop", "v"}, {"trigger", "shop", "t"}},
		}
	}
	for _, c := range []struct {
		name   string
		change func(r *Report)
		// want are the problems, and changes what is no fault.
		want, changes []Kind
	}{
		{"nothing", func(r *Report) { r.LastChange = at(day.Add(time.Hour)) }, nil, nil},
		{"the same backup", func(*Report) {}, nil, []Kind{Same}},
		{"an older backup", func(r *Report) { r.LastChange = at(day.Add(-time.Hour)) }, []Kind{Older}, nil},
		{"no age", func(r *Report) { r.LastChange = nil }, nil, nil},
		{"growth", func(r *Report) { r.LastChange = nil; r.Tables[0].Rows = 9000 }, nil, nil},
		{"a new table", func(r *Report) { r.LastChange = nil; r.Tables = append(r.Tables, Table{Database: "shop", Name: "new"}) }, nil, []Kind{New}},
		{"a table vanished", func(r *Report) { r.LastChange = nil; r.Tables = r.Tables[:1] }, []Kind{Vanished}, nil},
		{"emptied", func(r *Report) { r.LastChange = nil; r.Tables[1].Rows = 0 }, []Kind{Emptied}, nil},
		{"shrunk within the bound", func(r *Report) { r.LastChange = nil; r.Tables[0].Rows = 3200 }, nil, nil},
		{"shrunk beyond it", func(r *Report) { r.LastChange = nil; r.Tables[0].Rows = 3199 }, []Kind{Shrunk}, nil},
		{"a small table shrunk", func(r *Report) { r.LastChange = nil; r.Tables[1].Rows = 1 }, nil, nil},
		{"a table that cannot be read", func(r *Report) { r.LastChange = nil; r.Tables[0] = Table{Database: "shop", Name: "item", Unread: true} }, nil, nil},
		{"another definition", func(r *Report) { r.LastChange = nil; r.Tables[0].Schema = "x" }, nil, []Kind{Schema}},
		{"another definition of another server", func(r *Report) { r.LastChange = nil; r.Tables[0].Schema = "x"; r.Server = "mysql-9.7.4" }, nil, nil},
		{"other values", func(r *Report) { r.LastChange = nil; r.Tables[0].Checksum = "9" }, nil, []Kind{Content}},
		{"other values, not summed", func(r *Report) { r.LastChange = nil; r.Tables[0].Checksum = "" }, nil, nil},
		{"a trigger vanished", func(r *Report) { r.LastChange = nil; r.Objects = r.Objects[:1] }, []Kind{Vanished}, nil},
		{"a new view", func(r *Report) { r.LastChange = nil; r.Objects = append(r.Objects, Object{"view", "shop", "w"}) }, nil, []Kind{New}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := last()
			c.change(r)
			r.Compare(last(), Bounds{Shrink: 0.2})
			if d := cmp.Diff(c.want, kinds(r.Problems)); d != "" {
				t.Errorf("problems: %s", d)
			}
			if d := cmp.Diff(c.changes, kinds(r.Changes)); d != "" {
				t.Errorf("changes: %s", d)
			}
			r.Conclude()
			if want := map[bool]Status{true: Good, false: Faulty}[len(c.want) == 0]; r.Status != want {
				t.Errorf("status %s, want %s", r.Status, want)
			}
		})
	}
}

func kinds(list []Finding) (out []Kind) {
	for _, f := range list {
		out = append(out, f.Kind)
	}
	return out
}

func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		age  time.Duration // -1: nothing tells
		max  time.Duration
		want []Kind
	}{
		{"no bound", 1000 * time.Hour, 0, nil},
		{"young", 25 * time.Hour, 26 * time.Hour, nil},
		{"old", 27 * time.Hour, 26 * time.Hour, []Kind{TooOld}},
		{"unknown", -1, 26 * time.Hour, []Kind{TooOld}},
		{"unknown without a bound", -1, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Report{}
			if c.age >= 0 {
				at := now.Add(-c.age)
				r.LastChange = &at
			}
			r.Judge(Bounds{MaxAge: c.max}, now)
			if d := cmp.Diff(c.want, kinds(r.Problems)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCounter(t *testing.T) {
	for _, c := range []struct {
		kind     string
		unsigned bool
		next     string
		want     string
	}{
		{"tinyint", false, "110", "AUTO_INCREMENT of column id is at 110 of 127, 87 %"},
		{"tinyint", true, "110", ""},
		{"tinyint", true, "255", "AUTO_INCREMENT of column id is at 255 of 255, 100 %"},
		{"int", false, "1717986917", ""}, // a little below 80 %
		{"int", false, "1717986918", "AUTO_INCREMENT of column id is at 1717986918 of 2147483647, 80 %"},
		{"bigint", true, "18446744073709551615", "AUTO_INCREMENT of column id is at 18446744073709551615 of 18446744073709551615, 100 %"},
		{"double", false, "110", ""},
	} {
		definition := "CREATE TABLE `t` (\n  `id` int,\n  `a` varchar(40) DEFAULT ') AUTO_INCREMENT=7'\n) ENGINE=InnoDB AUTO_INCREMENT=" + c.next + " DEFAULT CHARSET=utf8mb4"
		if got := (counter{"id", mostOf(c.kind, c.unsigned)}).nearlyFull(definition); got != c.want {
			t.Errorf("%s, unsigned %v, at %s: %q, want %q", c.kind, c.unsigned, c.next, got, c.want)
		}
		want := "CREATE TABLE `t` (\n  `id` int,\n  `a` varchar(40) DEFAULT ') AUTO_INCREMENT=7'\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
		if got := autoIncrement.ReplaceAllString(definition, "$1"); got != want {
			t.Errorf("definition without its counter: %s", got)
		}
	}
}
