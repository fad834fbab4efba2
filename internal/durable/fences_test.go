package durable

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// startLogged starts a server that writes a binary log, and opens one connection to it.
func startLogged(t *testing.T, want string) (*servertest.Running, *sql.DB) {
	t.Helper()
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.RestartAs(t, server.Run, false, nil)
	db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return srv, db
}

// TestFences: whatever the pieces are in which a log is shown, and however often, the same statements are fences; a
// supervisor that follows knows them by the file, and finds them again without it.
func TestFences(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, db := startLogged(t, want)
		for _, s := range []string{
			"CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT) ENGINE=InnoDB", "CREATE TABLE u (a INT)", "INSERT INTO t VALUES (1)",
			"ALTER TABLE t ADD id INT AUTO_INCREMENT PRIMARY KEY",
			"SET default_storage_engine=MyISAM", "CREATE TABLE m (a INT)", "CREATE TABLE `o-dd é` (a INT)", "SET default_storage_engine=InnoDB",
			// Under lower_case_table_names=0 these are tables of their own.
			"CREATE TABLE `Ä` (a INT)", "CREATE DATABASE `D-1`", "CREATE TABLE `D-1`.t (a INT)", "CREATE DATABASE `d-1`",
			"SET default_storage_engine=MyISAM", "CREATE TABLE T (a INT)", "CREATE TABLE `ä` (a INT)", "CREATE TABLE `d-1`.t (a INT)", "SET default_storage_engine=InnoDB",
			"CREATE TABLE `Big Ä` (a INT) PARTITION BY HASH (a) PARTITIONS 2",
			"FLUSH BINARY LOGS",
			"CREATE TABLE `ä b` (a INT) PARTITION BY HASH (a) PARTITIONS 2", "CREATE DATABASE `d-2`", "CREATE TABLE `d-2`.x (a INT)",
			"CREATE TABLE x (a INT) ENGINE=InnoDB", "ALTER TABLE x DISCARD TABLESPACE",
		} {
			exec(t, db, s)
		}
		if srv.Flavour == server.MariaDB {
			for _, s := range []string{
				"CREATE TABLE u1 (a CHAR(3)) ENGINE=InnoDB CHARSET=utf8",
				"SET innodb_compression_default=ON", "CREATE TABLE c1 (a INT) ENGINE=InnoDB", "CREATE TABLE c2 (a INT) ENGINE=InnoDB page_compressed=1", "SET innodb_compression_default=OFF",
				"SET old_mode=''", "CREATE TABLE u2 (a CHAR(3)) ENGINE=InnoDB CHARSET=utf8",
				// Of these the first renames a temporary table, and the second one that it hides no more.
				"CREATE TABLE r1 (a INT) ENGINE=InnoDB", "CREATE TEMPORARY TABLE r1 (b INT)", "RENAME TABLE r1 TO r2", "RENAME TABLE r1 TO r3, r3 TO r4",
				// The second one changes no rows.
				"CREATE TABLE old1 (t TIME) ENGINE=InnoDB", "ALTER TABLE old1 MODIFY t DATETIME", "CREATE TABLE old2 (d DATE) ENGINE=InnoDB", "DO SLEEP(2.1)", "ALTER TABLE old2 CHANGE d e DATE",
				"INSERT INTO mysql.gtid_slave_pos VALUES (7, 7, 7, 7)",
			} {
				exec(t, db, s)
			}
		}
		i := &instance.Instance{Record: instance.Record{Dir: filepath.Dir(srv.DataDir())}, Made: instance.Made{Server: srv.Server}}
		var files [][]byte
		for n := uint32(1); ; n++ {
			b, err := os.ReadFile(filepath.Join(srv.DataDir(), serverLog(n)))
			if err != nil {
				break
			}
			files = append(files, b)
		}
		last := uint32(len(files))
		wantKinds := []string{"auto_increment", "engine", "engine", "engine", "engine", "engine", "tablespace"}
		if srv.Flavour == server.MariaDB {
			wantKinds = append(wantKinds, "option", "charset", "temporary", "now", "unknown")
		}
		for _, size := range []int{37, 4096, 8192} {
			t.Run(fmt.Sprint(size), func(t *testing.T) {
				if err := os.RemoveAll(i.FencesPath()); err != nil {
					t.Fatal(err)
				}
				found := 0
				f := begin(t, i, archive.Position{}, func() { found++ })
				for n, b := range files {
					for at := 0; at < len(b); at += size {
						piece := b[at:min(at+size, len(b))]
						for range 1 + size/4096 {
							f.Pass(archive.Position{File: uint32(n) + 1, Offset: int64(at)}, piece)
						}
					}
				}
				if diff := cmp.Diff(wantKinds, kindsOf(f.open)); diff != "" {
					t.Fatal(diff)
				}
				if found != len(wantKinds) {
					t.Errorf("it was told of %d", found)
				}
				if at, held := f.Limit(); !held || at != f.open[0].At {
					t.Errorf("the limit is %s, %t", at, held)
				}
				end := archive.Position{File: last, Offset: int64(len(files[last-1]))}
				if diff := cmp.Diff(f.open, begin(t, i, end, nil).open); diff != "" {
					t.Errorf("by the file: %s", diff)
				}
				if err := os.Remove(i.FencesPath()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(kindsOf(f.open), kindsOf(begin(t, i, end, nil).open)); diff != "" {
					t.Errorf("without the file: %s", diff)
				}
				f.covered(f.open[1].At)
				if diff := cmp.Diff(wantKinds[1:], kindsOf(f.open)); diff != "" {
					t.Errorf("behind a base: %s", diff)
				}
				f.covered(end)
				if _, held := f.Limit(); held {
					t.Error("commits wait on")
				}
			})
		}
	})
}

// TestJudgedAgainForPowers: a log that is judged again, since nothing is left of what an earlier supervisor found, as after a
// move, tells who may have got a right by which a session switches it off.
func TestJudgedAgainForPowers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.RestartAs(t, server.Run, false, nil)
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		exec(t, db, "CREATE USER other@localhost")
		exec(t, db, "GRANT SUPER ON *.* TO other@localhost")
		i := &instance.Instance{Record: instance.Record{Dir: filepath.Dir(srv.DataDir())}, Made: instance.Made{Server: srv.Server}}
		files, err := binlog.Files(srv.DataDir(), server.BinlogName)
		if err != nil {
			t.Fatal(err)
		}
		file, err := fileNumber(files[len(files)-1])
		if err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(filepath.Join(srv.DataDir(), serverLog(file)))
		if err != nil {
			t.Fatal(err)
		}
		powers := powersOf(srv.Server, nil)
		for _, found := range []string{"by the log", "by the file"} {
			f, err := newFences(i, 1, archive.Position{}, archive.Position{File: file, Offset: fi.Size()}, &powers, slog.New(slog.DiscardHandler), func() {})
			if err != nil {
				t.Fatal(err)
			}
			if why := "a statement names the privilege SUPER"; !slices.Contains(f.blind.Why, why) {
				t.Errorf("%s: nothing is said of it: %q", found, f.blind.Why)
			}
		}
	})
}

// TestFenceCutByAKill has a supervisor end when it was shown one half of a statement that is a fence, as where the log is
// archived in pieces: the next one, which is shown the other half, finds it.
func TestFenceCutByAKill(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.RestartAs(t, server.Run, false, nil)
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, s := range []string{"CREATE DATABASE d", "CREATE TABLE d.t (a INT) ENGINE=InnoDB", "ALTER TABLE d.t ADD id INT AUTO_INCREMENT PRIMARY KEY", "CREATE TABLE d.u (a INT) ENGINE=InnoDB"} {
			exec(t, db, s)
		}
		i := &instance.Instance{Record: instance.Record{Dir: filepath.Dir(srv.DataDir())}, Made: instance.Made{Server: srv.Server}}
		files, err := binlog.Files(srv.DataDir(), server.BinlogName)
		if err != nil {
			t.Fatal(err)
		}
		file, err := fileNumber(files[len(files)-1])
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(srv.DataDir(), serverLog(file)))
		if err != nil {
			t.Fatal(err)
		}
		whole := begin(t, i, archive.Position{}, nil)
		whole.Pass(archive.Position{File: file}, b)
		if len(whole.open) != 1 {
			t.Fatalf("fences: %v", whole.open)
		}
		at := whole.open[0].At
		for _, within := range []int64{0, 1, 18, 19, 20, 60} {
			if err := os.Remove(i.FencesPath()); err != nil {
				t.Fatal(err)
			}
			end := archive.Position{File: file, Offset: at.Offset + within}
			begin(t, i, archive.Position{}, nil).Pass(archive.Position{File: file}, b[:end.Offset])
			next := begin(t, i, end, nil)
			next.Pass(end, b[end.Offset:])
			if diff := cmp.Diff(kindsOf(whole.open), kindsOf(next.open)); diff != "" {
				t.Errorf("cut after %d bytes of it: %s", within, diff)
			}
		}
	})
}

func exec(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func begin(t *testing.T, i *instance.Instance, end archive.Position, found func()) *fences {
	t.Helper()
	if found == nil {
		found = func() {}
	}
	f, err := newFences(i, 1, archive.Position{}, end, &repeatable.Powers{}, slog.New(slog.DiscardHandler), found)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func kindsOf(list []Fence) (kinds []string) {
	for _, f := range list {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}

// TestLimitWhileBasesCover has base backups cover one statement while another waits: never does it seem that none does.
func TestLimitWhileBasesCover(t *testing.T) {
	t.Parallel()
	f := &fences{path: filepath.Join(t.TempDir(), "fences.json"), total: map[string]int64{}, found: func() {}, log: slog.New(slog.DiscardHandler)}
	f.add(Fence{At: archive.Position{File: 1, Offset: 4}})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 500 {
			if err := f.changed(); err != nil {
				t.Error(err)
			}
		}
	}()
	missed := 0
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
			if _, held := f.Limit(); !held {
				missed++
			}
		}
	}
	if missed > 0 {
		t.Errorf("a statement waits, and Limit said %d times that none does", missed)
	}
}
