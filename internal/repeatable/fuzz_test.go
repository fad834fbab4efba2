package repeatable

import (
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// No statement makes the judge panic, and a verdict has a kind where it has a fence.
func FuzzQuery(f *testing.F) {
	for _, c := range verdicts {
		f.Add(c.sql, uint64(0), uint16(utf8mb4), false)
	}
	for _, statements := range corpus(f) {
		for _, s := range statements {
			f.Add(s, uint64(ansiQuotes|noBackslashEscapes|mssql), uint16(0), true)
		}
	}
	f.Fuzz(func(t *testing.T, sql string, mode uint64, charset uint16, mysql bool) {
		j := New(mysql)
		j.Known("shop", "t", []string{"id"})
		v := j.Query(&binlog.Query{Schema: "shop", SQL: []byte(sql), SQLMode: mode, CharsetClient: charset})
		if (v.Fence == "") != (v.Kind == "") || v.Kind != "" && !slices.Contains(Kinds, v.Kind) {
			t.Fatalf("%+v", v)
		}
		if again := New(mysql).Query(&binlog.Query{Schema: "shop", SQL: []byte(sql), ErrorCode: 1}); again.Fence == "" {
			t.Fatal("an error passes")
		}
	})
}

// fenced are statements with a fence, whose words are separated by blanks: HERE is where harmless
// clauses may stand.
var fenced = []string{
	"ALTER TABLE t HERE ADD id INT AUTO_INCREMENT PRIMARY KEY",
	"ALTER TABLE t HERE ADD COLUMN id SERIAL , ADD b INT",
	"ALTER TABLE t HERE ADD ( b INT , id INT NOT NULL AUTO_INCREMENT , KEY ( id ) )",
	"ALTER TABLE t HERE MODIFY id BIGINT AUTO_INCREMENT",
	"ALTER TABLE t HERE CHANGE COLUMN id nid BIGINT UNSIGNED NOT NULL AUTO_INCREMENT FIRST",
	"ALTER TABLE t HERE ADD token CHAR ( 36 ) DEFAULT ( UUID ( ) )",
	"ALTER TABLE t HERE ADD token CHAR ( 36 ) NOT NULL DEFAULT ( CONCAT ( 'a' , RAND ( ) ) ) AFTER b",
	"ALTER TABLE t HERE ADD at DATETIME ( 6 ) DEFAULT ( SYSDATE ( 6 ) )",
	"ALTER TABLE t HERE ADD g INT AS ( f ( b ) ) STORED",
	"ALTER TABLE t HERE ADD g INT GENERATED ALWAYS AS ( b / 2 ) PERSISTENT COMMENT 'x'",
	"ALTER TABLE t HERE ADD SYSTEM VERSIONING",
	"ALTER TABLE t HERE DISCARD TABLESPACE",
	"ALTER TABLE t HERE IMPORT TABLESPACE",
	"ALTER TABLE t HERE ENGINE = TokuDB",
	"ALTER TABLE t HERE TABLESPACE ts",
	"ALTER TABLE t HERE FROBNICATE = 5",
	"ALTER TABLE t HERE ADD CONSTRAINT c CHECK ( b < UUID_SHORT ( ) )",
	"CREATE TABLE t ( a INT ) ENGINE = InnoDB SELECT 1 AS a",
	"CREATE TABLE t ( a INT , b INT , PRIMARY KEY ( a ) ) COMMENT = 'x' AS SELECT 1",
	"CREATE TABLE t AS ( SELECT 1 )",
	"CREATE TABLE t ( a INT ) DATA DIRECTORY = '/x'",
	"CREATE TABLE t ( a INT ) PARTITION BY HASH ( a ) PARTITIONS 2 SELECT 1 AS a",
	"CREATE OR REPLACE TABLE t SELECT 1",
	"CREATE FUNCTION f RETURNS STRING SONAME 'x.so'",
	"CREATE EVENT e ON SCHEDULE AT NOW ( ) + INTERVAL RAND ( ) HOUR DO SELECT 1",
	"INSERT INTO t VALUES ( 1 )",
	"INSTALL PLUGIN p SONAME 'x.so'",
}

var harmlessClauses = []string{
	"", "ADD COLUMN z INT DEFAULT 5 ,", "DROP COLUMN y ,", "ADD INDEX i ( b , c DESC ) ,", "COMMENT = 'AUTO_INCREMENT (' ,", "ENGINE = InnoDB ,",
	"ALGORITHM = COPY ,", "MODIFY x VARCHAR ( 10 ) DEFAULT 'it''s' NOT NULL ,", "ADD CONSTRAINT FOREIGN KEY ( a ) REFERENCES u ( b ) ON DELETE CASCADE ,",
	"RENAME COLUMN p TO q ,", "ALTER w SET DEFAULT ( 1 ) ,", "ADD vv INT AS ( b + 1 ) VIRTUAL ,", "ADD COLUMN ( m INT , n DATETIME DEFAULT NOW ( ) ) ,",
	"CONVERT TO CHARACTER SET utf8mb4 ,", "DEFAULT CHARSET utf8mb4 ,", "ORDER BY a , b DESC ,", "ROW_FORMAT = DYNAMIC ,", "DROP PRIMARY KEY ,", "FORCE ,",
}

// A fence is seen wherever it stands, and however it is written.
func FuzzFence(f *testing.F) {
	for i := range fenced {
		for k := range harmlessClauses {
			f.Add(byte(i), byte(k), byte(k+i), []byte{byte(i), byte(k), 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9}, i%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, which, first, second byte, how []byte, mysql bool) {
		sql := fenced[int(which)%len(fenced)]
		clauses := harmlessClauses[int(first)%len(harmlessClauses)] + " " + harmlessClauses[int(second)%len(harmlessClauses)]
		sql = strings.Replace(sql, "HERE", clauses, 1)
		sql = disguise(strings.Fields(strings.ReplaceAll(sql, "AUTO_INCREMENT (", "AUTO_INCREMENT(")), how, mysql)
		if v := New(mysql).Query(query(sql)); v.Fence == "" {
			t.Fatalf("passes: %s", sql)
		}
	})
}

// disguise writes words with other case, and with white space and comments between them.
func disguise(words []string, how []byte, mysql bool) string {
	var b strings.Builder
	for i, w := range words {
		h := byte(0)
		if len(how) > 0 {
			h = how[i%len(how)] + byte(i/len(how))
		}
		if h&1 != 0 && !strings.Contains(w, "'") {
			w = strings.ToLower(w)
		}
		switch (h >> 1) % 8 {
		case 0, 1:
			b.WriteString(w + " ")
		case 2:
			b.WriteString(w + "\t\n")
		case 3:
			b.WriteString(w + "/* ' ) , ; */")
		case 4:
			b.WriteString(w + "-- ` ( \n")
		case 5:
			b.WriteString(w + "#\"\n")
		case 6:
			b.WriteString("/*!50100 " + w + " */")
		default:
			if mysql {
				b.WriteString("/*! " + w + " */ ")
			} else {
				b.WriteString("/*M!100100 " + w + " */ ")
			}
		}
	}
	return b.String()
}
