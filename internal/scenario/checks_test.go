package scenario

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// uncheckedCases are the rows without a Check, by scenario and name, and why; a scenario alone
// has none of its rows checked.
var uncheckedCases = map[string]string{
	"suite":              "the command is the user's: that it succeeds is the answer, in the round",
	"reset, " + RowLease: "every lease of a round is checked before it ends, which is in the round",
}

// TestEveryCaseIsChecked: no figure comes from work whose answer nobody looked at.
func TestEveryCaseIsChecked(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range append(slices.Clone(Kinds), SuiteKind([]string{"true"})) {
		for _, c := range k.Make(workloadLab(t, Options{})).Cases {
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
		l := workloadLab(t, Options{})
		l.Exe = filepath.Join(t.TempDir(), "ramaria")
		if err := os.WriteFile(l.Exe, []byte("#!/bin/sh\ncase \"$1\" in run) printf '"+said+"';; esac\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		c := l.fixture().run(volume.Disk)
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
			l := ramariaLab(t, want)
			kind := volume.Shm
			if o, err := l.opener(); err == nil && o.Fit(t.Context(), branchKind) == nil {
				kind = branchKind
			}
			l.Options.Dump = filepath.Join(t.TempDir(), "own.sql")
			write(t, l.Options.Dump, "CREATE TABLE t (a INT PRIMARY KEY);\nINSERT INTO t VALUES (1), (2), (3);\n")
			p := l.payload()
			small := &parent{lab: l, kind: kind, make: func(ctx context.Context, kind volume.Kind) (*dataset, error) {
				return &dataset{name: "small", flags: p.from(string(kind)), check: p.verifyInstance}, p.imageable(ctx)
			}}
			cases := []bench.Case{p.bare(kind), p.run(kind), small.snapshot("snapshot")}
			if kind == branchKind {
				cases = append(cases, p.started(kind))
			}
			for _, c := range cases {
				if err := c.Prepare(t.Context()); err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
			}
			right := p.want["own"]["t"]
			for _, c := range cases {
				for _, wrong := range []bool{false, true} {
					if wrong && c.Name == RowRun { // which knows from its Prepare on what to ask
						continue
					}
					if _, err := c.Round(t.Context()); err != nil {
						t.Fatalf("%s: %v", c.Name, err)
					}
					if wrong {
						p.want["own"]["t"] = right + "1"
					}
					if err := c.Check(t.Context()); (err != nil) != wrong {
						t.Errorf("%s: wrong %v, and the check says %v", c.Name, wrong, err)
					}
					p.want["own"]["t"] = right
				}
			}
			// A mark that holds more than there was when it was made.
			snapshot := cases[2]
			if err := l.exec(t.Context(), "small", "CREATE TABLE later (n INT)"); err != nil {
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
	l := ramariaLab(t, servertest.Servers[0])
	path := filepath.Join(t.TempDir(), "own.sql")
	write(t, path, "CREATE DATABASE own;\nUSE own;\nCREATE TABLE t (a INT PRIMARY KEY);\nINSERT INTO t VALUES (1), (2), (3);\n")
	f := &farm{lab: l, name: "clones", settings: map[string]string{}, flags: func(_ context.Context, kind volume.Kind) ([]string, error) {
		return []string{"--server", l.want(), "--from", path, "--volume", string(kind)}, nil
	}}
	t.Cleanup(func() {
		if err := f.end(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	lease, err := f.newLease(t.Context(), "own")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.close()
	same := func(why string, want bool) {
		t.Helper()
		if err := f.same(t.Context(), lease.Name, "own"); (err == nil) != want {
			t.Errorf("%s: %v", why, err)
		}
	}
	do := func(db executor, statements ...string) {
		t.Helper()
		if err := execAll(t.Context(), db, statements...); err != nil {
			t.Fatal(err)
		}
	}
	same("nobody touched it", true)
	do(lease.conn, "CREATE TABLE more (a INT)")
	same("a table more", false)
	do(lease.conn, "DROP TABLE more")
	same("it is gone", true)
	do(lease.conn, "DELETE FROM t WHERE a = 2")
	same("a row less", false)

	fill := f.fill("fill", "own")
	if err := fill.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, tamper := range []string{"", "DELETE FROM by_hand.t WHERE a = 2", "DROP TABLE by_hand.t", "CREATE TABLE by_hand.more (a INT)"} {
		if _, err := fill.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if tamper != "" {
			do(f.db, tamper)
		}
		if err := fill.Check(t.Context()); (err != nil) != (tamper != "") {
			t.Errorf("%q: %v", tamper, err)
		}
	}

	do(f.db, "CREATE DATABASE sbtest")
	for _, n := range "12345678" {
		name := "sbtest.sbtest" + string(n)
		do(f.db, "CREATE TABLE "+name+" (id INT PRIMARY KEY)", "INSERT INTO "+name+" VALUES (1), (2), (3)")
	}
	conn, err := f.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	db, err := server.Open(f.instance.Endpoint.Socket, f.instance.Endpoint.Login, "sbtest")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	data := sysbenchData{rows: 3}
	for _, tc := range []struct{ statement, want string }{
		{"DO 1", ""}, {"DELETE FROM sbtest5 WHERE id = 2", "sbtest5 has 2 rows"}, {"INSERT INTO sbtest5 VALUES (4)", "the last of them 4"},
		{"DELETE FROM sbtest1", "sbtest1 has 0 rows"},
	} {
		do(db, tc.statement)
		if err := checkTablesIn(t.Context(), db, "it", data, 0); (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.statement, err, tc.want)
		}
	}
}

// TestHandshakeHasALimit: for a server that is not there, or says nothing, nobody waits for ever.
func TestHandshakeHasALimit(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	limited := func(want string) {
		t.Helper()
		if err := handshake(t.Context(), socket, nil, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "none in 50ms (last: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	limited("no such file")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	limited("closed")
	ended := make(chan struct{})
	close(ended)
	if err := handshake(t.Context(), socket+"2", ended, time.Minute); !errors.Is(err, errEnded) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := handshake(ctx, socket, nil, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, err = c.Write([]byte("x"))
			if errors.Is(err, syscall.EPIPE) { // one that has given up above
				err = nil
			}
			if err := errors.Join(err, c.Close()); err != nil {
				t.Error(err)
			}
		}
	}()
	if err := handshake(t.Context(), socket, nil, time.Minute); err != nil {
		t.Error(err)
	}
}
