package scenario

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/durable"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/suite"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// uncheckedCases are the rows without a Check, by scenario and name, and why; a scenario alone
// has none of its rows checked.
var uncheckedCases = map[string]string{
	"suite":                         "the command is the user's: that it succeeds is the answer, in the round",
	"recovery, " + durable.RowPiped: "its server is compared at the end of the round, and goes with it",
	"reset, " + RowLease:            "every lease of a round is checked before it ends, which is in the round",
}

// TestEveryCaseIsChecked: no figure comes from work whose answer was not checked.
func TestEveryCaseIsChecked(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range append(slices.Clone(Kinds), SuiteKind(suite.Way{Argv: []string{"true"}})) {
		for _, c := range k.Make(labtest.Bare(t, lab.Options{})).Cases {
			name := k.Name + ", " + c.Name
			if uncheckedCases[k.Name] != "" {
				name = k.Name
			}
			seen[name] = true
			if _, listed := uncheckedCases[name]; listed == (c.Check != nil) {
				t.Errorf("%s: it has a check: %v, and is listed as one without: %v", name, c.Check != nil, listed)
			}
		}
	}
	for name := range uncheckedCases {
		if !seen[name] {
			t.Errorf("%s is listed, and there is no such row", name)
		}
	}
}

// TestRunIsChecked: a ramaria that runs nothing, or a server without the data, is no answer.
func TestRunIsChecked(t *testing.T) {
	for said, right := range map[string]bool{`239\t4079\t984\n`: true, "": false, `0\t0\t0\n`: false, `239\t4079\t983\n`: false} {
		l := labtest.Bare(t, lab.Options{})
		l.Exe = filepath.Join(t.TempDir(), "ramaria")
		if err := os.WriteFile(l.Exe, []byte("#!/bin/sh\ncase \"$1\" in run) printf '"+said+"';; esac\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		c := runRow(l.Fixture(), volume.Disk)
		l.Home, l.Host.Root = filepath.Join(l.Dir, "home"), "/"
		err := c.Prepare(t.Context())
		if err == nil {
			_, err = c.Round(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(t.Context()); (err == nil) != right {
			t.Errorf("it said %q: %v", said, err)
		}
	}
}

// TestServersAreChecked: servers whose data is another than it should be end the run, in every
// way of having one.
func TestServersAreChecked(t *testing.T) {
	for _, want := range []string{"mariadb:10.11", "mysql:9.7"} {
		t.Run(want, func(t *testing.T) {
			l := labtest.Real(t, want)
			kind := volume.Shm
			if o, err := l.Opener(); err == nil && o.Fit(t.Context(), branchKind) == nil {
				kind = branchKind
			}
			l.Options.Dump = filepath.Join(t.TempDir(), "own.sql")
			write(t, l.Options.Dump, "CREATE TABLE t (a INT PRIMARY KEY);\nINSERT INTO t VALUES (1), (2), (3);\n")
			p := l.Data()
			small := &parent{lab: l, kind: kind, make: func(ctx context.Context, kind volume.Kind) (*dataset, error) {
				return &dataset{name: "small", flags: p.From(string(kind)), check: p.VerifyInstance}, p.ReadyForImage(ctx)
			}}
			cases := []runner.Case{bareRow(p, kind), runRow(p, kind), small.snapshot("snapshot")}
			if kind == branchKind {
				cases = append(cases, startedRow(p, kind))
			}
			for _, c := range cases {
				if err := c.Prepare(t.Context()); err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
			}
			right := p.Want["own"]["t"]
			for _, c := range cases {
				for _, wrong := range []bool{false, true} {
					if wrong && c.Name == RowRun { // which knows from its Prepare on what to ask
						continue
					}
					if _, err := c.Round(t.Context()); err != nil {
						t.Fatalf("%s: %v", c.Name, err)
					}
					if wrong {
						p.Want["own"]["t"] = right + "1"
					}
					if err := c.Check(t.Context()); (err != nil) != wrong {
						t.Errorf("%s: wrong %v, and the check says %v", c.Name, wrong, err)
					}
					p.Want["own"]["t"] = right
				}
			}
			// A mark that holds more than there was when it was made.
			snapshot := cases[2]
			if err := l.Exec(t.Context(), "small", "CREATE TABLE later (n INT)"); err != nil {
				t.Fatal(err)
			}
			if _, err := snapshot.Round(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := snapshot.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "later") {
				t.Errorf("a mark with another table: %v", err)
			}
			for _, c := range slices.Backward(cases) {
				if c.Cleanup == nil {
					continue
				}
				if err := c.Cleanup(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestClonesAreChecked: a table too many, a row that was lost, tables that are not filled.
func TestClonesAreChecked(t *testing.T) {
	l := labtest.Real(t, servertest.Servers[0])
	path := filepath.Join(t.TempDir(), "own.sql")
	write(t, path, "CREATE DATABASE own;\nUSE own;\nCREATE TABLE t (a INT PRIMARY KEY);\nINSERT INTO t VALUES (1), (2), (3);\n")
	f := &lab.TemplateServer{Lab: l, Name: "clones", Settings: map[string]string{}, Flags: func(_ context.Context, kind volume.Kind) ([]string, error) {
		return []string{"--server", l.ServerFlag(), "--from", path, "--volume", string(kind)}, nil
	}}
	t.Cleanup(func() {
		if err := f.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	lease, err := f.NewLease(t.Context(), "own")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Close()
	same := func(why string, want bool) {
		t.Helper()
		if err := f.CheckClone(t.Context(), lease.Name, "own"); (err == nil) != want {
			t.Errorf("%s: %v", why, err)
		}
	}
	do := func(db lab.Executor, statements ...string) {
		t.Helper()
		if err := lab.ExecAll(t.Context(), db, statements...); err != nil {
			t.Fatal(err)
		}
	}
	same("unchanged", true)
	do(lease.Conn, "CREATE TABLE more (a INT)")
	same("a table more", false)
	do(lease.Conn, "DROP TABLE more")
	same("it is gone", true)
	do(lease.Conn, "DELETE FROM t WHERE a = 2")
	same("a row less", false)

	fill := fillRow(f, "fill", "own")
	if err := fill.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tamper := range []string{"", "DELETE FROM by_hand.t WHERE a = 2", "DROP TABLE by_hand.t", "CREATE TABLE by_hand.more (a INT)"} {
		if _, err := fill.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if tamper != "" {
			do(f.DB, tamper)
		}
		if err := fill.Check(t.Context()); (err != nil) != (tamper != "") {
			t.Errorf("%q: %v", tamper, err)
		}
	}

	do(f.DB, "CREATE DATABASE sbtest")
	for _, n := range "12345678" {
		name := "sbtest.sbtest" + string(n)
		do(f.DB, "CREATE TABLE "+name+" (id INT PRIMARY KEY)", "INSERT INTO "+name+" VALUES (1), (2), (3)")
	}
	conn, err := f.DB.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	db, err := dbconn.Open(f.Instance.Endpoint.Socket, f.Instance.Endpoint.Login, "sbtest")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	data := lab.SysbenchData{Rows: 3}
	for _, tc := range []struct{ statement, want string }{
		{"DO 1", ""}, {"DELETE FROM sbtest5 WHERE id = 2", "sbtest5 has 2 rows"}, {"INSERT INTO sbtest5 VALUES (4)", "the last of them 4"},
		{"DELETE FROM sbtest1", "sbtest1 has 0 rows"},
	} {
		do(db, tc.statement)
		if err := lab.CheckTablesIn(t.Context(), db, "it", data, 0); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.statement, err, tc.want)
		}
	}
}
