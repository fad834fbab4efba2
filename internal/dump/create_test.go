package dump

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// creates are statements and what is read of them. Bare is compared as a string.
var creates = []struct {
	name, in string
	want     Table
	bare     string
}{
	{
		"mysqldump", "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `a` varchar(20) DEFAULT NULL COMMENT 'x, (y',\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`a`),\n" +
			"  KEY `k` (`a`(5),`id`),\n  KEY `k2` (`id`,`a` DESC) COMMENT 'it''s',\n  CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`a`) ON DELETE CASCADE,\n" +
			"  CONSTRAINT `c` CHECK ((`id` > 0)) /*!80016 NOT ENFORCED */\n) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COMMENT='a ) b'",
		Table{Name: "t", Columns: []Column{{Name: "id", Kind: IntegerColumn}, {Name: "a", Kind: TextColumn}}, PrimaryKey: true, InnoDB: true,
			ForeignKeys: []string{"CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`a`) ON DELETE CASCADE"},
			Keys:        []string{"KEY `k` (`a`(5),`id`)", "KEY `k2` (`id`,`a` DESC) COMMENT 'it''s'"}},
		"CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `a` varchar(20) DEFAULT NULL COMMENT 'x, (y',\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`a`),\n" +
			"  CONSTRAINT `c` CHECK ((`id` > 0)) /*!80016 NOT ENFORCED */\n) ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COMMENT='a ) b'",
	},
	{
		"by hand", "create or replace table if not exists d . t (id integer primary key, -- the key, really\n a int, # another\n\tconstraint u unique (a) /* why */ , index i using btree(a,id) ) engine innodb, comment 'it\\'s'",
		Table{Database: "d", Name: "t", Columns: []Column{{Name: "id", Kind: IntegerColumn}, {Name: "a", Kind: IntegerColumn}}, AutoIncrement: -1, PrimaryKey: true, InnoDB: true,
			Keys: []string{"index i using btree(a,id)"}},
		"create or replace table if not exists d . t (id integer primary key, -- the key, really\n a int, # another\n\tconstraint u unique (a) /* why */  ) engine innodb, comment 'it\\'s'",
	},
	{
		"ansi quotes", "CREATE TABLE \"d\".\"t\" (\"i\"\"d\" int, \"b\" int, PRIMARY KEY (\"i\"\"d\"), KEY \"k\" (\"b\")) ENGINE=InnoDB",
		Table{Database: "d", Name: "t", Columns: []Column{{Name: `i"d`, Kind: IntegerColumn}, {Name: "b", Kind: IntegerColumn}}, AutoIncrement: -1, PrimaryKey: true, InnoDB: true, Keys: []string{`KEY "k" ("b")`}},
		"CREATE TABLE \"d\".\"t\" (\"i\"\"d\" int, \"b\" int, PRIMARY KEY (\"i\"\"d\")) ENGINE=InnoDB",
	},
	{
		"kinds", "CREATE TABLE t (a1 INTEGER, a2 INT4 UNSIGNED ZEROFILL, a3 BOOLEAN, b1 DEC(10,2), b2 NUMERIC, b3 FIXED, c1 DOUBLE PRECISION, c2 REAL, c3 FLOAT(7,4), d1 CHARACTER VARYING(10), " +
			"d2 NATIONAL CHAR(3), d3 LONG VARCHAR, d4 TINYTEXT, d5 LONG, d6 CHAR(5) BINARY, d7 CHAR(3) CHARACTER SET latin1 COLLATE latin1_bin, e1 CHAR(3) CHARACTER SET binary, e2 TEXT CHARSET 'binary', " +
			"e3 LONG VARBINARY, e4 MEDIUMBLOB, e5 CHAR(2) BYTE, e6 VARCHAR(3) COLLATE binary, f1 DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), f2 DATE, g YEAR(4), h1 ENUM('a,b',')') CHARSET binary, h2 SET('x'), " +
			"i JSON, j1 BIT(3), j2 GEOMETRY /*!80003 NOT NULL SRID 0 */, j3 UUID, j4 VECTOR(3))",
		Table{Name: "t", AutoIncrement: -1, Columns: []Column{{Name: "a1", Kind: IntegerColumn}, {Name: "a2", Kind: IntegerColumn}, {Name: "a3", Kind: IntegerColumn}, {Name: "b1", Kind: DecimalColumn},
			{Name: "b2", Kind: DecimalColumn}, {Name: "b3", Kind: DecimalColumn}, {Name: "c1", Kind: FloatColumn}, {Name: "c2", Kind: FloatColumn}, {Name: "c3", Kind: FloatColumn}, {Name: "d1", Kind: TextColumn},
			{Name: "d2", Kind: TextColumn}, {Name: "d3", Kind: TextColumn}, {Name: "d4", Kind: TextColumn}, {Name: "d5", Kind: TextColumn}, {Name: "d6", Kind: TextColumn}, {Name: "d7", Kind: TextColumn},
			{Name: "e1", Kind: BinaryColumn}, {Name: "e2", Kind: BinaryColumn}, {Name: "e3", Kind: BinaryColumn}, {Name: "e4", Kind: BinaryColumn}, {Name: "e5", Kind: BinaryColumn}, {Name: "e6", Kind: BinaryColumn},
			{Name: "f1", Kind: TimeColumn}, {Name: "f2", Kind: TimeColumn}, {Name: "g", Kind: YearColumn}, {Name: "h1", Kind: ListColumn}, {Name: "h2", Kind: ListColumn}, {Name: "i", Kind: JSONColumn},
			{Name: "j1"}, {Name: "j2"}, {Name: "j3"}, {Name: "j4"}}}, "",
	},
	{
		"table in binary", "CREATE TABLE t (a VARCHAR(3), b VARCHAR(3) CHARSET latin1, c NCHAR(3)) DEFAULT CHARACTER SET = binary",
		Table{Name: "t", AutoIncrement: -1, Columns: []Column{{Name: "a", Kind: BinaryColumn}, {Name: "b", Kind: TextColumn}, {Name: "c", Kind: TextColumn}}}, "",
	},
	{
		"attributes", "CREATE TABLE t (id BIGINT AUTO_INCREMENT KEY, a INT GENERATED ALWAYS AS (id + 1) STORED, b INT AS (2) VIRTUAL, c INT DEFAULT NULL /*!80023 INVISIBLE */, d INT INVISIBLE DEFAULT 1, " +
			"e TEXT DEFAULT ('primary key'), f INT COMMENT 'auto_increment' CHECK (f > 0), `key` INT, g INT DEFAULT invisible) ENGINE=InnoDB",
		Table{Name: "t", Columns: []Column{{Name: "id", Kind: IntegerColumn}, {Name: "a", Kind: IntegerColumn, Generated: true}, {Name: "b", Kind: IntegerColumn, Generated: true},
			{Name: "c", Kind: IntegerColumn, Hidden: true}, {Name: "d", Kind: IntegerColumn, Hidden: true}, {Name: "e", Kind: TextColumn}, {Name: "f", Kind: IntegerColumn}, {Name: "key", Kind: IntegerColumn},
			{Name: "g", Kind: IntegerColumn}}, PrimaryKey: true, InnoDB: true}, "",
	},
	{
		"references", "CREATE TABLE t (a INT PRIMARY KEY, `b``c` INT REFERENCES d.p (i) MATCH FULL ON DELETE SET NULL ON UPDATE CASCADE DEFAULT 5 INVISIBLE, FOREIGN KEY (a) REFERENCES q (i), KEY k (a)) ENGINE=InnoDB",
		Table{Name: "t", Columns: []Column{{Name: "a", Kind: IntegerColumn}, {Name: "b`c", Kind: IntegerColumn, Hidden: true}}, AutoIncrement: -1, PrimaryKey: true, InnoDB: true,
			ForeignKeys: []string{"FOREIGN KEY (`b``c`) REFERENCES d.p (i) MATCH FULL ON DELETE SET NULL ON UPDATE CASCADE", "FOREIGN KEY (a) REFERENCES q (i)"}}, "",
	},
	{
		"serial", "CREATE TABLE t (a SERIAL, b INT, KEY a_2 (b), KEY k (b)) ENGINE=InnoDB",
		Table{Name: "t", Columns: []Column{{Name: "a", Kind: IntegerColumn}, {Name: "b", Kind: IntegerColumn}}, InnoDB: true}, "",
	},
	{
		"words as columns", "CREATE TABLE t (period int, type int, vector int, date date, comment text)",
		Table{Name: "t", AutoIncrement: -1, Columns: []Column{{Name: "period", Kind: IntegerColumn}, {Name: "type", Kind: IntegerColumn}, {Name: "vector", Kind: IntegerColumn}, {Name: "date", Kind: TimeColumn},
			{Name: "comment", Kind: TextColumn}}}, "",
	},
}

func TestParseTable(t *testing.T) {
	for _, c := range creates {
		t.Run(c.name, func(t *testing.T) {
			got, ok := ParseTable([]byte(c.in))
			if !ok {
				t.Fatal("not understood")
			}
			bare := string(got.Bare)
			got.Bare = nil
			if d := cmp.Diff(&c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.bare, bare); d != "" {
				t.Error(d)
			}
		})
	}
}

// refusedTables are no tables, or odd ones.
var refusedTables = []string{
	"", "CREATE", "CREATE TABLE", "SELECT 1", "INSERT INTO t VALUES (1)", "CREATE DATABASE d", "CREATE VIEW v AS SELECT 1", "CREATE TABLE t", "CREATE TABLE t ()", "CREATE TABLE t (a int", "CREATE TABLE t (a int,)",
	"CREATE TEMPORARY TABLE t (a int)", "CREATE OR REPLACE TEMPORARY TABLE t (a int)", "CREATE TABLE t LIKE u", "CREATE TABLE t (LIKE u)", "CREATE TABLE t SELECT 1", "CREATE TABLE t (SELECT 1)",
	"CREATE TABLE t (a int) SELECT 1", "CREATE TABLE t (a int) ENGINE=InnoDB AS SELECT 1 AS a", "CREATE TABLE t (a int) IGNORE SELECT 1", "CREATE TABLE t (a int) (SELECT 1)", "CREATE TABLE t (a int) ENGINE=InnoDB TABLE u",
	"CREATE TABLE t (a int) WITH x AS (SELECT 1) SELECT * FROM x", "CREATE TABLE t (a int) PARTITION BY HASH(a) SELECT 1", "CREATE TABLE t (a int) START TRANSACTION",
	"/*!50001 CREATE TABLE `v` (\n  `a` tinyint NOT NULL\n) ENGINE=MyISAM */", "CREATE TABLE t (a int /*!50000 , b int */)", "CREATE TABLE t (a int /*!50000 PRIMARY KEY */)", "CREATE TABLE t (a int, /*!50000 b int */)",
	"CREATE TABLE t (a int DEFAULT /*!50000 ( */ 1, b int /*!50000 ) */)", "CREATE TABLE t /*! ( */ a int)", "CREATE TABLE t (a int) /*! ENGINE=InnoDB", "CREATE TABLE t (a int) COMMENT='x", "CREATE TABLE t (a int /* /* */ */)",
	"CREATE TABLE t (a int, PRIMARY KEY (a), PRIMARY KEY (a))", "CREATE TABLE t (a int AUTO_INCREMENT, b int AUTO_INCREMENT)", "CREATE TABLE t (a)", "CREATE TABLE 't' (a int)", "CREATE TABLE t ('a' int)",
	"CREATE TABLE t (KEY k (a))", "CREATE TABLE t (a int, KEY k)", "CREATE TABLE t (a int, VECTOR v (a))", "CREATE TABLE t (a int, FOREIGN KEY (a))", "CREATE TABLE t (a int, CONSTRAINT c KEY (a))",
	"CREATE TABLE [t] ([a] int)", "CREATE TABLE t (a int) ENGINE=InnoDB; DROP TABLE u", "CREATE TABLE t (a int --, KEY k(a)\n)",
	// Two columns, or one, by the sql_mode.
	`CREATE TABLE t (a int COMMENT 'a\', b int COMMENT ', c int COMMENT 'd\')`, `CREATE TABLE t ("a\", b int, c "\" int)`,
}

func TestParseTableRefuses(t *testing.T) {
	for _, in := range refusedTables {
		if got, ok := ParseTable([]byte(in)); ok {
			t.Errorf("%q: understood as %+v", in, got)
		}
	}
}

// TestDeferKeys looks at which keys can be made later. Those of the table t (id, a, b, g) are what
// differs: in has what follows its columns.
func TestDeferKeys(t *testing.T) {
	const innodb = ", PRIMARY KEY (id)) ENGINE=InnoDB"
	for _, c := range []struct {
		name, in string
		keys     []string
	}{
		{"one", ", KEY k (a)" + innodb, []string{"KEY k (a)"}},
		{"several", ", KEY k (a), UNIQUE u (b), INDEX `i``j` (b DESC, a(3)) USING BTREE VISIBLE" + innodb, []string{"KEY k (a)", "INDEX `i``j` (b DESC, a(3)) USING BTREE VISIBLE"}},
		{"other engine", ", KEY k (a), PRIMARY KEY (id)) ENGINE=MyISAM", nil},
		{"no engine", ", KEY k (a), PRIMARY KEY (id))", nil},
		{"engine for some", ", KEY k (a), PRIMARY KEY (id)) /*!40000 ENGINE=InnoDB */", nil},
		{"last engine", ", KEY k (a), PRIMARY KEY (id)) ENGINE=InnoDB ENGINE=MyISAM", nil},
		{"no primary key", ", KEY k (a)) ENGINE=InnoDB", nil},
		{"partitions", ", KEY k (a)" + innodb + " /*!50100 PARTITION BY HASH (`id`) PARTITIONS 4 */", nil},
		{"system versioning", ", KEY k (a)" + innodb + " WITH SYSTEM VERSIONING", nil},
		{"period", ", KEY k (a), PERIOD FOR p (a, b)" + innodb, nil},
		{"full text", ", KEY k (a), FULLTEXT KEY f (a), FULLTEXT f2 (b) /*!50100 WITH PARSER `ngram` */" + innodb, []string{"KEY k (a)"}},
		{"spatial behind", ", KEY k (a), SPATIAL KEY s (b), KEY l (a)" + innodb, []string{"KEY l (a)"}},
		{"vector", ", UNIQUE u (a), KEY k (a), VECTOR KEY s (b) M=6" + innodb, []string{"KEY k (a)"}},
		{"expression", ", KEY k (a), KEY e ( (a + 1) ), KEY l (b)" + innodb, []string{"KEY l (b)"}},
		{"generated", ", KEY k (b), KEY e (a, G)" + innodb, nil},
		{"no name", ", KEY (a), KEY l (b), KEY a_2 (b), KEY ab (b)" + innodb, []string{"KEY ab (b)"}},
		{"no names", ", KEY (a), UNIQUE (b), CONSTRAINT UNIQUE KEY (b)" + innodb, nil},
		{"versioned", ", KEY k (a), KEY l (b) /*!80000 INVISIBLE */, KEY m (a), /*!50000 KEY n (a) */, UNIQUE u (a), KEY o (a)" + innodb, []string{"KEY o (a)"}},
		{"hash", ", KEY k (a) USING HASH, KEY l (a)" + innodb, []string{"KEY l (a)"}},
		{"unknown option", ", KEY k (a) KEY_BLOCK_SIZE=4, KEY l (a)" + innodb, []string{"KEY l (a)"}},
		{"unknown column", ", KEY k (row_start)" + innodb, nil},
		{"key called type", ", KEY type (a)" + innodb, []string{"KEY type (a)"}},
		{"type of key", ", KEY TYPE BTREE (a)" + innodb, nil},
		{"full text document", ", UNIQUE KEY fts_doc_id_index (b), KEY v (a)" + innodb, []string{"KEY v (a)"}},
		{"auto increment", ", n int AUTO_INCREMENT, KEY k (n, a), KEY l (a, n)" + innodb, []string{"KEY l (a, n)"}},
		{"foreign key", ", KEY k (a, b), CONSTRAINT f FOREIGN KEY (a) REFERENCES p (a)" + innodb, []string{"KEY k (a, b)"}},
		{"foreign key on primary key", ", KEY k (b), CONSTRAINT f FOREIGN KEY i (ID) REFERENCES p (a)" + innodb, []string{"KEY k (b)"}},
		{"foreign key without key", ", KEY k (b, a), CONSTRAINT f FOREIGN KEY (a) REFERENCES p (a)" + innodb, nil},
		{"foreign key with part of a key", ", KEY k (a(3)), CONSTRAINT f FOREIGN KEY (a) REFERENCES p (a)" + innodb, nil},
		{"foreign key without name", ", KEY k (a), FOREIGN KEY (a) REFERENCES p (a)" + innodb, nil},
		{"foreign key for some", ", KEY k (a), CONSTRAINT f FOREIGN KEY (a) REFERENCES p (a) /*!50000 ON DELETE CASCADE */" + innodb, nil},
		{"foreign key only", ", CONSTRAINT f FOREIGN KEY (id) REFERENCES p (a)" + innodb, nil},
		{"foreign key in a column", ", c int REFERENCES p (a) /* FOREIGN KEY */, KEY k (a)" + innodb, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			const columns = "CREATE TABLE t (id int NOT NULL, a int, b int, g int AS (1)"
			in := columns + c.in
			got, ok := ParseTable([]byte(in))
			if !ok {
				t.Fatal("not understood")
			}
			if d := cmp.Diff(c.keys, got.Keys); d != "" {
				t.Error(d)
			}
			if strings.Contains(in, "FOREIGN") != (len(got.ForeignKeys) == 1) {
				t.Errorf("foreign keys: %q", got.ForeignKeys)
			}
			want := ""
			if c.keys != nil {
				want = in
				for _, key := range slices.Concat(got.Keys, got.ForeignKeys) {
					want = strings.Replace(want, ", "+key, "", 1)
				}
			}
			if d := cmp.Diff(want, string(got.Bare)); d != "" {
				t.Error(d)
			}
		})
	}
}

// FuzzParseTable holds that a statement without its keys is one of the same table.
func FuzzParseTable(f *testing.F) {
	for _, c := range creates {
		f.Add([]byte(c.in))
	}
	for _, in := range slices.Concat(refusedTables, strings.Split(realTables, ";\n")) {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, ok := ParseTable(in)
		if !ok {
			return
		}
		if (got.Bare == nil) != (len(got.Keys) == 0) {
			t.Fatalf("%q: %d keys, statement %q", in, len(got.Keys), got.Bare)
		}
		if got.Bare == nil {
			return
		}
		again, ok := ParseTable(got.Bare)
		if !ok {
			t.Fatalf("%q: not understood without its keys: %q", in, got.Bare)
		}
		got.Keys, got.ForeignKeys, got.Bare = nil, nil, nil
		if d := cmp.Diff(got, again); d != "" {
			t.Fatalf("%q: %s", in, d)
		}
	})
}

// realTables are for servers; the lines that only one flavour takes say so.
const realTables = `
CREATE TABLE p (id int NOT NULL, a int NOT NULL, b varchar(20), PRIMARY KEY (id), UNIQUE KEY a (a), KEY ab (a,b), UNIQUE KEY b (b)) ENGINE=InnoDB;
CREATE TABLE t1 (id int NOT NULL AUTO_INCREMENT, a int, b varchar(50) NOT NULL DEFAULT 'x,)', c datetime DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, d text COMMENT 'it''s; \\',
  PRIMARY KEY (id), KEY k1 (a), UNIQUE KEY u1 (a,b), KEY k2 (b(10),a), UNIQUE KEY u2 (b), KEY k3 (c DESC,a), UNIQUE KEY u3 (a,id) COMMENT 'z', KEY k4 (d(20)), UNIQUE KEY u4 (b(3),id)) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=latin1 COMMENT='a ) b';
create table t2 (id integer primary key, -- the key, really
  a int /* of, p */, b varchar(20), key i (b), constraint f2 foreign key (b) references p (b) on delete cascade, constraint f1 foreign key (a) references p (a) on update cascade,
  key j (a, b), check (id > 0), constraint c2 check (id < 100), constraint u unique (b, a), constraint f0 foreign key (id) references p (id)) engine innodb;
CREATE TABLE t3 (id bigint unsigned NOT NULL, parent bigint unsigned, n int UNIQUE, d text, PRIMARY KEY (id), KEY x (d(5)), KEY k (parent), FULLTEXT KEY ft (d), UNIQUE KEY u (parent,n), CONSTRAINT self FOREIGN KEY (parent) REFERENCES t3 (id)) ENGINE=InnoDB;
CREATE TABLE t4 (id int PRIMARY KEY, a int, b int, KEY (a), KEY a_2 (b), KEY n (b), KEY (b), KEY z (a,b), UNIQUE (a), UNIQUE b_2 (b)) ENGINE=InnoDB;
CREATE TABLE t5 (id int PRIMARY KEY, g geometry NOT NULL, a int, v int GENERATED ALWAYS AS (a + 1) STORED, w int AS (a + 2) VIRTUAL, KEY k1 (a), SPATIAL KEY s (g), KEY k2 (a,id), KEY kv (v), KEY k3 (id,a), KEY kw (w,a), KEY k4 (a,id,a2), a2 int) ENGINE=InnoDB;
CREATE TABLE t6 (id int, n int NOT NULL AUTO_INCREMENT, a int, PRIMARY KEY (id), KEY k1 (a), UNIQUE KEY u1 (n), UNIQUE KEY u2 (a), UNIQUE KEY u3 (a,n), KEY k2 (n,a)) ENGINE=InnoDB;
CREATE TABLE t7 (id int PRIMARY KEY, a int, KEY k1 (a), KEY k2 (a,id)) ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 3;
CREATE TABLE t8 (id int PRIMARY KEY, a varchar(100), KEY k1 (a) COMMENT 'x' USING BTREE, KEY k2 (a) KEY_BLOCK_SIZE=4, KEY k3 (a(9)), UNIQUE k4 (a)) ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;
CREATE TABLE t9 (id int PRIMARY KEY, FTS_DOC_ID bigint unsigned NOT NULL, d text, KEY k (d(4)), UNIQUE KEY FTS_DOC_ID_INDEX (FTS_DOC_ID), UNIQUE KEY u (id,FTS_DOC_ID), FULLTEXT KEY ft (d)) ENGINE=InnoDB;
CREATE TABLE t10 (a1 INTEGER, a2 INT4 UNSIGNED ZEROFILL, a3 BOOLEAN, b1 DEC(10,2), b2 NUMERIC, b3 FIXED, c1 DOUBLE PRECISION, c2 REAL, c3 FLOAT(7,4), d1 CHARACTER VARYING(10), d2 NATIONAL CHAR(3), d3 LONG VARCHAR, d4 TINYTEXT, d5 LONG, d6 CHAR(5) BINARY, d7 CHAR(3) CHARACTER SET latin1 COLLATE latin1_bin,
  e1 CHAR(3) CHARACTER SET binary, e2 TEXT CHARSET 'binary', e3 LONG VARBINARY, e4 MEDIUMBLOB, e5 CHAR(2) BYTE, e6 VARCHAR(3) COLLATE binary, f1 DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6), f2 DATE, f3 TIMESTAMP NULL, f4 TIME, g YEAR(4), h1 ENUM('a,b',')') CHARSET binary, h2 SET('x'),
  i JSON, j1 BIT(3), j2 GEOMETRY, k1 CHAR VARYING(9), k2 NCHAR VARCHAR(4), k3 NATIONAL CHARACTER VARYING(4), k4 LONG CHAR VARYING, k5 CHAR(3) ASCII, id SERIAL PRIMARY KEY, KEY a (a1), KEY d (d1,e6), KEY id_2 (a1)) ENGINE=InnoDB;
CREATE TABLE t11 (a VARCHAR(3) PRIMARY KEY, b VARCHAR(3) CHARSET latin1, c NCHAR(3), d TEXT, e CHAR(5) BINARY, KEY k (b), KEY l (d(3))) ENGINE=InnoDB DEFAULT CHARACTER SET = binary;
CREATE TABLE t12 (period int, type int, any_value int, date date, comment text, invisible int, PRIMARY KEY (type), KEY type (type), KEY comment (any_value, date), KEY ignored (comment(3))) ENGINE=InnoDB;
CREATE TABLE t13 (id int PRIMARY KEY, a int, b int INVISIBLE, c int DEFAULT NULL INVISIBLE, KEY k (b), KEY l (a)) ENGINE=InnoDB;
CREATE TABLE t14 (a int, b int, PRIMARY KEY (a,b), KEY b (b), CONSTRAINT j1 FOREIGN KEY (a) REFERENCES p (id), CONSTRAINT j2 FOREIGN KEY (b) REFERENCES p (id) ON DELETE CASCADE) ENGINE=InnoDB;
CREATE TABLE t15 (id int PRIMARY KEY, a int, b int, KEY k (a,b), FOREIGN KEY (b) REFERENCES p (id), CONSTRAINT m FOREIGN KEY (a) REFERENCES p (id)) ENGINE=InnoDB;
CREATE TABLE t16 (id int PRIMARY KEY, a int, b int, CONSTRAINT m2 FOREIGN KEY (b) REFERENCES p (id), KEY k (a,b)) ENGINE=InnoDB;
CREATE TABLE t25 (id int PRIMARY KEY, a int, b int, UNIQUE KEY a (b), KEY (a), KEY k (b), UNIQUE KEY u (b,a)) ENGINE=InnoDB;
CREATE TABLE t17 (id int PRIMARY KEY, a int REFERENCES p (id), KEY k (id,a)) ENGINE=InnoDB;
CREATE TABLE t18 (id int PRIMARY KEY, a int, KEY k0 (id,a), KEY k1 (a) INVISIBLE, KEY k2 (a,id), KEY e ((a + 1)), KEY k3 (a), KEY (( a + 2 )), KEY functional_index_9 (id), UNIQUE ((a + 3)), UNIQUE u (a)) ENGINE=InnoDB; -- mysql
CREATE TABLE t19 (id int PRIMARY KEY, a geometry NOT NULL SRID 0, b int NOT NULL DEFAULT (id + 1), KEY k (b), CONSTRAINT n CHECK (b > 0) NOT ENFORCED, KEY l (b,id) VISIBLE) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci; -- mysql
CREATE TABLE t20 (id int PRIMARY KEY, j json, a int, KEY m ((CAST(j->'$.x' AS UNSIGNED ARRAY))), KEY n (a)) ENGINE=InnoDB; -- mysql
CREATE TABLE t21 (id int PRIMARY KEY, a int, KEY k1 (a) IGNORED, KEY k2 (a,id) NOT IGNORED, b text, UNIQUE KEY long1 (b), UNIQUE KEY u (a), UNIQUE KEY long2 (b) USING HASH, c uuid, d inet6, KEY c (c,d)) ENGINE=InnoDB; -- mariadb
CREATE TABLE t22 (id int PRIMARY KEY, a int, KEY k1 (a)) ENGINE=InnoDB WITH SYSTEM VERSIONING; -- mariadb
CREATE TABLE t23 (id int PRIMARY KEY, s date, e date, a int, PERIOD FOR p (s,e), KEY k (a)) ENGINE=InnoDB; -- mariadb
CREATE TABLE t24 (id int PRIMARY KEY, a int, b varchar(100) COMPRESSED, KEY k1 (a), KEY IF NOT EXISTS k2 (a,id), c int AS (a + 1) PERSISTENT, KEY k3 (c), KEY k4 (a)) ENGINE=InnoDB PAGE_COMPRESSED=1; -- mariadb
CREATE TABLE t26 (id int PRIMARY KEY, a int, b text NOT NULL, c varchar(3000), KEY k (a), UNIQUE KEY h (b) USING HASH, KEY l (c(10)), UNIQUE KEY u (a), UNIQUE KEY h2 (c), KEY m (a,id)) ENGINE=InnoDB; -- mariadb
CREATE TABLE t27 (id int PRIMARY KEY, a int, b blob, KEY k (a), UNIQUE KEY h (b), CONSTRAINT f FOREIGN KEY (a) REFERENCES p (id)) ENGINE=InnoDB; -- mariadb
`

const vectorTable = `CREATE TABLE v (id int PRIMARY KEY, a int, e vector(3) NOT NULL, KEY k1 (a), VECTOR KEY vk (e) M=6, KEY k2 (a,id)) ENGINE=InnoDB`

// TestCreateOnServers makes each table as it is, and without keys that are added afterwards; and
// does the same with what the server then says of it.
func TestCreateOnServers(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1) // one session
		query := func(t *testing.T, text string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		query(t, "CREATE DATABASE d")
		query(t, "USE d")
		query(t, "SET foreign_key_checks=0")
		takenOut := 0
		tables := realTables
		if want == "mariadb:11.8" {
			tables += vectorTable
		}
		for text := range strings.SplitSeq(servertest.Flavoured(srv.Server, tables), ";\n") {
			text, _, _ = strings.Cut(strings.TrimSpace(text), "; -- ")
			if text == "" {
				continue
			}
			table, ok := ParseTable([]byte(text))
			if !ok {
				t.Errorf("not understood: %s", text)
				continue
			}
			t.Run(table.Name, func(t *testing.T) {
				query(t, text)
				first := showCreate(t, db, table.Name)
				sameColumns(t, db, table)
				shownTable, ok := ParseTable([]byte(first))
				if !ok {
					t.Fatalf("not understood: %s", first)
				}
				sameColumns(t, db, shownTable)
				for _, again := range []*Table{table, shownTable} {
					if again.Bare == nil {
						continue
					}
					takenOut++
					query(t, "DROP TABLE "+table.Name)
					query(t, string(again.Bare))
					query(t, "ALTER TABLE "+table.Name+" ADD "+strings.Join(again.Keys, ", ADD "))
					if len(again.ForeignKeys) > 0 {
						query(t, "ALTER TABLE "+table.Name+" ADD "+strings.Join(again.ForeignKeys, ", ADD "))
					}
					if d := cmp.Diff(first, showCreate(t, db, table.Name)); d != "" {
						t.Errorf("%s\nADD %q\n%s", again.Bare, again.Keys, d)
					}
				}
			})
		}
		t.Logf("%d tables made in parts", takenOut)
		if takenOut < 20 {
			t.Errorf("only %d tables had keys to take out", takenOut)
		}
	})
}

// showCreate returns what SHOW CREATE TABLE says.
func showCreate(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	var name, text string
	if err := db.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &text); err != nil {
		t.Fatal(err)
	}
	return text
}

// sameColumns compares columns with what the server says of them.
func sameColumns(t *testing.T, db *sql.DB, table *Table) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT column_name, data_type, extra FROM information_schema.columns WHERE table_schema='d' AND table_name=? ORDER BY ordinal_position", table.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var want []Column
	auto := -1
	for rows.Next() {
		var col Column
		var kind, extra string
		if err := rows.Scan(&col.Name, &kind, &extra); err != nil {
			t.Fatal(err)
		}
		extra = strings.ToLower(extra)
		col.Kind, col.Hidden, col.Generated = kindOfType(kind), strings.Contains(extra, "invisible"), strings.Contains(strings.ReplaceAll(extra, "default_generated", ""), "generated")
		if i := len(want); i < len(table.Columns) && table.Columns[i].Kind == JSONColumn && kind == "longtext" { // MariaDB's
			col.Kind = JSONColumn
		}
		if strings.Contains(extra, "auto_increment") {
			auto = len(want)
		}
		want = append(want, col)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, table.Columns); d != "" {
		t.Error(d)
	}
	if auto != table.AutoIncrement {
		t.Errorf("auto increment is column %d, not %d", auto, table.AutoIncrement)
	}
}
