package template_test

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestPartitionsTogether clones tables whose partitions share a file: MySQL says so in SHOW CREATE TABLE, and
// refuses its own words. A comment that reads alike stays as it is.
func TestPartitionsTogether(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, conn, _ := start(t, want)
		run(t, conn, "SET GLOBAL innodb_file_per_table = 0")
		srv.Load(t, "CREATE DATABASE parts; USE parts;\n"+
			"CREATE TABLE ranged (id int NOT NULL PRIMARY KEY, y year) COMMENT ' TABLESPACE = `innodb_system`' PARTITION BY RANGE (id) (PARTITION low VALUES LESS THAN (0) COMMENT 'it''s', PARTITION high VALUES LESS THAN MAXVALUE);\n"+
			"CREATE TABLE listed (id int, a int NOT NULL) PARTITION BY LIST (a) SUBPARTITION BY HASH (a) SUBPARTITIONS 2 (PARTITION x VALUES IN (1, 2), PARTITION z VALUES IN (3));\n"+
			"INSERT INTO ranged VALUES (-1, 2001), (5, 2002); INSERT INTO listed VALUES (7, 1), (8, 3);\n")
		run(t, conn, "SET GLOBAL innodb_file_per_table = 0") // a server that was loaded may have been started anew
		shape := read(t, conn, "parts")
		if _, err := shape.Clone(t.Context(), conn, "c"); err != nil {
			t.Fatal(err)
		}
		same(t, srv, "parts", "c")
		if r := shape.Compare(read(t, conn, "c"), nil); !r.Empty() {
			t.Errorf("a fresh clone needs repair: %+v", r)
		}
	})
}
