package dumper

import (
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/parts"
)

// dirOf is a directory that is written of databases with some tables.
func dirOf(t *testing.T, jobs int, databases []string, tables ...table) *dirJob {
	t.Helper()
	dir, err := parts.Create(t.TempDir(), "", 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(dir.Close)
	return &dirJob{job: &job{Request: Request{Name: "shop", Databases: databases, Dir: &Dir{Jobs: jobs}}, tables: tables}, dir: dir}
}

// TestShares: each table is read by one dumper, of its database, and all have about as much to read.
func TestShares(t *testing.T) {
	all := []table{
		{database: "a", name: "large", size: 900}, {database: "a", name: "m1", size: 500}, {database: "a", name: "m2", size: 400}, {database: "a", name: "none"},
		{database: "a", name: "v", kind: aView}, {database: "a", name: "s", kind: aSequence}, {database: "a", name: "out", size: 9000, ignored: true}, {database: "b", name: "x", size: 1},
	}
	for _, c := range []struct {
		jobs int
		want string
	}{
		{4, "a: large none; a: m1 m2; b: x"},
		{1, "a: large m1 m2 none; b: x"},
		{64, "a: large; a: m1; a: m2; a: none; b: x"},
	} {
		var got []string
		for _, share := range dirOf(t, c.jobs, []string{"a", "b"}, all...).shares() {
			names := []string{share[0].database + ":"}
			for _, s := range share {
				names = append(names, s.name)
			}
			got = append(got, strings.Join(names, " "))
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%d dumpers: %s, not %s", c.jobs, got, c.want)
		}
	}
}

// TestOnly: what a dumper is told to write is what is wanted, also where it takes two names for one.
func TestOnly(t *testing.T) {
	rows := func(of table) bool { return of.kind == aTable }
	plain := dirOf(t, 1, []string{"a"}, table{database: "a", name: "t"}, table{database: "a", name: "gone", ignored: true}, table{database: "a", name: "v", kind: aView}, table{database: "b", name: "t"})
	if got := plain.only("a", rows, "--no-data"); !slices.Equal(got, []string{"--no-data", "--ignore-table=a.gone", "--ignore-table=a.v", "--", "a"}) {
		t.Error(got)
	}
	alike := dirOf(t, 1, []string{"a"}, table{database: "a", name: "T"}, table{database: "a", name: "t"}, table{database: "a", name: "v", kind: aView}, table{database: "a", name: "s", kind: aSequence})
	if got := alike.only("a", func(of table) bool { return of.kind != aView }); !slices.Equal(got, []string{"--", "a", "s", "T", "t"}) {
		t.Error(got)
	}
	alike.tables[0].ignored = true
	if err := alike.spares(); err == nil || !strings.Contains(err.Error(), "would leave out t as well") {
		t.Error(err)
	}
}

// TestAgain: the command of a hint is the one that was given.
func TestAgain(t *testing.T) {
	q := Request{Name: "shop", Databases: []string{"a b"}, Out: "out/", Ignore: []string{"t"}, History: true, Dir: &Dir{Ending: ".zst"}}
	if got := q.Again("--jobs", "1"); got != "ramaria dump shop 'a b' --ignore-table t --history -o out/ --compress zst --jobs 1" {
		t.Error(got)
	}
	if got := (Request{Name: "shop", Out: Stdout}).Again(); got != "ramaria dump shop" {
		t.Error(got)
	}
}
