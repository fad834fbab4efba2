package datafiles_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestFrm reads what MariaDB writes.
func TestFrm(t *testing.T) {
	servertest.EachAlways(t, func(t *testing.T, want string) {
		found := servertest.Find(t, want)
		if found.Flavour != server.MariaDB {
			return // MySQL has no such files
		}
		srv := servertest.Start(t, found)
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		var collations []string
		err = dbconn.Query(t.Context(), db, "SELECT "+fullName(found)+" FROM information_schema.collation_character_set_applicability WHERE character_set_name = 'utf8mb4'", func(cols []string) error {
			if !strings.Contains(cols[0], "_0900_") { // MySQL's, which utf8mb3 has none of
				collations = append(collations, cols[0])
			}
			return nil
		})
		if err != nil || len(collations) < 20 {
			t.Fatalf("%d collations of utf8mb4: %v", len(collations), err)
		}
		for _, s := range []string{
			"CREATE DATABASE d CHARACTER SET latin1", "USE d",
			"CREATE TABLE plain (a INT, b VARCHAR(10) CHARACTER SET utf8mb3, c ENUM('x') CHARACTER SET utf8mb3 COLLATE utf8mb3_unicode_ci, g POINT, d JSON) ENGINE=InnoDB",
			"CREATE TABLE computed (a INT, v INT AS (a+1) VIRTUAL, k VARCHAR(3) CHARACTER SET utf8mb4 DEFAULT 'abc' CHECK (k <> 'x')) ENGINE=InnoDB",
			"CREATE VIEW v AS SELECT 1",
			"SET innodb_compression_default = ON",
			"CREATE TABLE packed (a INT) ENGINE=InnoDB",
		} {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
		read := func(table string) (datafiles.Definition, error) {
			b, err := os.ReadFile(filepath.Join(srv.DataDir(), "d", table+".frm"))
			if err != nil {
				t.Fatal(err)
			}
			return datafiles.ParseFrm(b)
		}
		for table, want := range map[string][3]bool{"plain": {false, true, false}, "computed": {true, false, false}, "packed": {false, false, true}} {
			d, err := read(table)
			if err != nil || d.UTF8MB4 != want[0] || d.Binary != want[1] || d.Has("PAGE_COMPRESSED") != want[2] {
				t.Errorf("%s: utf8mb4 %t, binary %t, compressed %t, %v", table, d.UTF8MB4, d.Binary, d.Has("PAGE_COMPRESSED"), err)
			}
		}
		if _, err := read("v"); !errors.Is(err, datafiles.ErrNotFrm) {
			t.Errorf("of a view: %v", err)
		}
		for _, c := range collations {
			if _, err := db.ExecContext(t.Context(), "CREATE OR REPLACE TABLE c (a CHAR(1) CHARACTER SET utf8mb4 COLLATE "+c+") ENGINE=InnoDB"); err != nil {
				t.Fatal(err)
			}
			if d, err := read("c"); err != nil || !d.UTF8MB4 && !d.Binary {
				t.Errorf("%s is not known as one of utf8mb4: %v", c, err)
			}
		}
	})
}

// fullName is the column that has the name of a collation as statements take it: since 10.10 others have that of a family.
func fullName(srv *server.Server) string {
	if srv.Version.Compare(server.Version{Major: 10, Minor: 10}) >= 0 {
		return "full_collation_name"
	}
	return "collation_name"
}
