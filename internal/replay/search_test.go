package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// keyless are tables without a unique key, and what is done to many of their rows. @FILL@ adds some thousand rows of a
// table seq.
var keyless = `
CREATE TABLE many (a INT, b VARCHAR(300), c INT) ENGINE=InnoDB;
INSERT INTO many SELECT s.n + 4000 * t.n, CONCAT('row ', s.n), 0 FROM seq s JOIN seq t WHERE t.n < 10;
UPDATE many SET c = c + 1;
CREATE DATABASE ` + "`od``d`" + `;
CREATE TABLE ` + "`od``d`.`we``ird \"é`" + ` (` + "`a``b`" + ` INT, b CHAR(20)) ENGINE=InnoDB SELECT n AS ` + "`a``b`" + `, 'x' AS b FROM seq;
UPDATE ` + "`od``d`.`we``ird \"é`" + ` SET b = 'y';
CREATE TABLE copies (a INT, b VARCHAR(20)) ENGINE=InnoDB; INSERT INTO copies SELECT n % 2, 'same' FROM seq;
UPDATE copies SET b = 'other'; UPDATE copies SET a = 3 WHERE a = 1; DELETE FROM copies LIMIT 3999;
CREATE TABLE texts (t TEXT, g BLOB) ENGINE=InnoDB ROW_FORMAT=COMPACT; INSERT INTO texts SELECT CONCAT(n, ' text'), NULL FROM seq;
UPDATE texts SET g = t; DELETE FROM texts WHERE LENGTH(t) < 9;
CREATE TABLE floats (f DOUBLE, g FLOAT) ENGINE=InnoDB; INSERT INTO floats SELECT n / 7, n / 3 FROM seq WHERE n < 300; UPDATE floats SET f = f + 1;
CREATE TABLE parts (a INT, b DATETIME(6), c DECIMAL(20, 5), KEY (b)) ENGINE=InnoDB PARTITION BY HASH (a) PARTITIONS 3; INSERT INTO parts SELECT n, '2020-02-02', n / 8 FROM seq;
UPDATE parts SET c = c + 1, a = a + 1;
CREATE TABLE computed (a INT, v INT GENERATED ALWAYS AS (a * 2) VIRTUAL, s VARCHAR(20) GENERATED ALWAYS AS (CONCAT('v', a)) STORED, e ENUM('x', 'y'), st SET('p', 'q'), bi BIT(9)) ENGINE=InnoDB;
INSERT INTO computed (a, e, st, bi) SELECT n, 1 + n % 2, n % 4, n % 512 FROM seq; UPDATE computed SET a = a + 1, e = 'x';
CREATE TABLE nullable (u INT, a INT, b INT, UNIQUE (u)) ENGINE=InnoDB; INSERT INTO nullable SELECT n, n % 5, n % 3 FROM seq; UPDATE nullable SET b = b + 1;
CREATE TABLE plain (a INT, b INT) ENGINE=MyISAM; INSERT INTO plain SELECT n, n FROM seq WHERE n < 500; UPDATE plain SET b = b + 1;
CREATE TABLE changes (a INT, b INT, p CHAR(60) DEFAULT 'long enough that its changes are worth an index') ENGINE=InnoDB; INSERT INTO changes (a, b) SELECT n, n FROM seq; UPDATE changes SET b = b + 1;
ALTER TABLE changes ADD c INT FIRST; UPDATE changes SET c = b; CREATE TABLE alike LIKE changes; ALTER TABLE changes RENAME changed; UPDATE changed SET c = c + 1;
FLUSH BINARY LOGS;
UPDATE changed SET c = c + 1; ALTER TABLE changed ADD PRIMARY KEY (a, b); UPDATE changed SET c = c + 1;
UPDATE many SET c = c + 1 WHERE a % 2 = 0; TRUNCATE TABLE alike; DROP TABLE computed; DELETE FROM many WHERE a < 100;
CREATE TABLE history (a INT, b INT) ENGINE=InnoDB WITH SYSTEM VERSIONING; INSERT INTO history SELECT n, n FROM seq; UPDATE history SET b = b + 1; DELETE FROM history WHERE a < 2000; -- mariadb
CREATE TEMPORARY TABLE temporary (a INT, b INT); INSERT INTO temporary SELECT n, n FROM seq; UPDATE temporary SET b = 1;
CREATE TABLE prepared (a INT, b INT) ENGINE=InnoDB; INSERT INTO prepared SELECT n, n FROM seq; UPDATE prepared SET b = b + 1;
XA START 'x'; UPDATE prepared SET b = b + 1; XA END 'x'; XA PREPARE 'x'
`

// soon is how long it may take at most; without an index the table of 40,000 rows alone takes longer on MariaDB.
const soon = 4 * time.Minute

// TestReplayOfTablesWithoutKeys: what is done to all rows of tables without a key is done again in time, and leaves the
// tables as they were. It fails on MariaDB without addIndex; without binlog.copies it takes long; without dropIndex, or
// with that too late, tables have another definition; on tables with a unique key, MariaDB changes other rows.
func TestReplayOfTablesWithoutKeys(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "counted.sql")
		w.Load(t, "USE shop; CREATE TABLE seq (n INT PRIMARY KEY); INSERT INTO seq VALUES (0);"+strings.Repeat("SET @n = (SELECT COUNT(*) FROM seq); INSERT INTO seq SELECT n + @n FROM seq WHERE n + @n < 4000;", 12))
		w.Load(t, "USE shop; "+servertest.Flavoured(w.Server, keyless))
		before := state(t, w.Running)
		w.Kill()
		j := w.job(t, w.logs(t))
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		r, err := j.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.1f s", r.Seconds)
		equal(t, before, state(t, servertest.StartOn(t, w.Server, j.DataDir, logging)))
		if w.Flavour != server.MariaDB {
			return
		}
		given := fmt.Sprint(r.Searched)
		for name, is := range map[string]bool{"many": true, "copies": true, "texts": true, "parts": true, "computed": true, "changes": true, "changed": true, "floats": false, "nullable": false, "plain": false, "seq": false} {
			if got := strings.Contains(given, "`"+name+"`"); got != is {
				t.Errorf("table %s got an index: %v; of %s", name, got, given)
			}
		}
		if !strings.Contains(given, "`history`") {
			t.Errorf("a table with history got none: %s", given)
		}
	})
}

// TestStretches: an index is there for as long as no statement could see it.
func TestStretches(t *testing.T) {
	change := func(table string, n int64) *binlog.Touched {
		return &binlog.Touched{Tables: []binlog.TouchedTable{{Schema: "s", Table: table, Changed: n}}}
	}
	say := func(text string) *binlog.Touched { return &binlog.Touched{Texts: [][]byte{[]byte(text)}} }
	prepared := change("x", 1<<20)
	prepared.Prepared = true
	var s stretches
	for i, c := range []*binlog.Touched{
		change("t", 1<<20), change("few", 100), change("o`dd", 1<<20), say("CREATE TABLE z (a INT)"), change("t", 1), say("ALTER TABLE `T` ADD b INT"), change("t", 1<<20),
		change("x", 1<<20), prepared, change("x", 1<<20), {Unread: true}, change("t", 1<<20), say("DROP DATABASE other"),
	} {
		s.group(spot{0, int64(i)}, c)
	}
	var got []string
	for _, x := range s.end(spot{0, 100}) {
		got = append(got, fmt.Sprintf("%s %d-%d %d %v", x.table.Name, x.from.pos, x.to.pos, x.changed, x.first))
	}
	want := []string{"t 0-5 1048577 true", "o`dd 2-3 1048576 true", "t 6-10 1048576 false", "x 7-8 1048576 true", "t 11-12 1048576 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
