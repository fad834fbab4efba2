package basebackup_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/basebackup"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// sums is the checksum of each table that is not the server's own, and the count of its rows.
func sums(t *testing.T, srv *servertest.Running) (list []string) {
	t.Helper()
	db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables
		WHERE table_type = 'BASE TABLE' AND table_schema IN ('shop', 'world', 'other') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var table, sum, n string
		if err := errors.Join(db.QueryRowContext(t.Context(), "CHECKSUM TABLE "+name).Scan(&table, &sum),
			db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+name).Scan(&n)); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s %s %s", name, sum, n))
	}
	return list
}

// TestServers: servers start on what was restored from a base and from one on top of it, and have all
// that they had.
func TestServers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		var dump strings.Builder
		if err := errors.Join((fixture.World{}).WriteDump(&dump, fixture.Extended), (fixture.Shop{Rows: 40_000}).WriteDump(&dump, fixture.Extended)); err != nil {
			t.Fatal(err)
		}
		srv.Load(t, "CREATE DATABASE world; USE world; "+dump.String())
		srv.Load(t, "CREATE DATABASE other; CREATE TABLE other.m (id INT PRIMARY KEY, t TEXT) ENGINE=MyISAM; INSERT INTO other.m VALUES (1, 'one'), (2, NULL)")

		d := archive.OSDisk{Dir: t.TempDir()}
		first := sums(t, srv)
		srv.Stop(t)
		one, full := write(t, d, 1, srv.DataDir(), nil, nil)
		srv.Restart(t)
		if got := sums(t, srv); !slices.Equal(got, first) {
			t.Fatalf("the server has %v, and had %v", got, first)
		}
		srv.Load(t, "DELETE FROM other.m WHERE id = 1; CREATE TABLE other.t (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO other.t VALUES (7)")
		second := sums(t, srv)
		srv.Stop(t)
		_, less := write(t, d, 2, srv.DataDir(), one, nil)
		t.Logf("all: %+v, what a start and a few rows change: %+v", full, less)
		if less.Changed > full.Changed/2 {
			t.Errorf("%d pages were written, and %d before", less.Changed, full.Changed)
		}

		was := srv.DataDir() + ".was"
		if err := os.Rename(srv.DataDir(), was); err != nil {
			t.Fatal(err)
		}
		for id, want := range [][]string{first, second} {
			fresh(t, srv)
			x, err := basebackup.ReadIndex(d, testID, uint32(id+1))
			if err != nil {
				t.Fatal(err)
			}
			if err := basebackup.Restore(t.Context(), d, x, srv.DataDir(), nil); err != nil {
				t.Fatal(err)
			}
			own(t, srv)
			srv.Restart(t)
			if got := sums(t, srv); len(want) < 3 || !slices.Equal(got, want) {
				t.Errorf("the restored server has %v, want %v", got, want)
			}
			srv.Stop(t)
		}
	})
}

// fresh makes the data directory an empty one.
func fresh(t *testing.T, srv *servertest.Running) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(srv.DataDir()), os.Mkdir(srv.DataDir(), 0o700)); err != nil {
		t.Fatal(err)
	}
}

// own gives what was restored to the server's account.
func own(t *testing.T, srv *servertest.Running) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	if err := filepath.WalkDir(srv.DataDir(), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, srv.Account.UID, srv.Account.GID))
	}); err != nil {
		t.Fatal(err)
	}
}
