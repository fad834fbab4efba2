package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

func packed(t *testing.T, in string, opts Options) (string, Summary) {
	t.Helper()
	var out strings.Builder
	sum, err := Pack(t.Context(), &out, strings.NewReader(in), "x.sql", opts)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), sum
}

func TestPack(t *testing.T) {
	const (
		table = "CREATE TABLE t (a INT, b TEXT) ENGINE=InnoDB;\n"
		count = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b TEXT) ENGINE=InnoDB;\n"
		keyed = "CREATE TABLE t (id INT PRIMARY KEY, b INT, UNIQUE KEY u (b), KEY k (id,b)) ENGINE=InnoDB;\n"
		child = "CREATE TABLE c (id INT PRIMARY KEY, t INT, KEY k (t), CONSTRAINT f FOREIGN KEY (t) REFERENCES t (b)) ENGINE=InnoDB;\n"
		off   = "SET foreign_key_checks=0;\n"
		rows  = "INSERT INTO t VALUES (1,1);\nINSERT INTO t VALUES (2,2);\n"
	)
	begun := func(rows string) string { return "START TRANSACTION;\n" + rows + "COMMIT;\n" }
	merged := begun("INSERT INTO t VALUES (1,1),\n(2,2);\n")
	later := func(table, drop, add, head, rows string) string {
		return "ALTER TABLE `" + table + "` " + drop + ";\n" + begun(head+rows) + "ALTER TABLE `" + table + "` " + add + ";\n"
	}
	tLater := later("t", "DROP KEY `k`", "ADD KEY k (id,b)", "INSERT INTO t VALUES ", "(1,1),\n(2,2);\n")
	cLater := later("c", "DROP FOREIGN KEY `f`, DROP KEY `k`", "ADD KEY k (t)", "INSERT INTO c VALUES ", "(1,1);\n")
	const cForeign = "SET @ramaria_checks = @@foreign_key_checks, @ramaria_mode = @@sql_mode, foreign_key_checks = 0, sql_mode = '';\n" +
		"ALTER TABLE `c` ADD CONSTRAINT f FOREIGN KEY (t) REFERENCES t (b);\n" +
		"SET foreign_key_checks = @ramaria_checks, sql_mode = @ramaria_mode;\n"
	const cRow = "INSERT INTO c VALUES (1,1);\n"
	all := Options{LargeTable: 1}
	for _, c := range []struct {
		name     string
		opts     Options
		in, want string
	}{
		{"one row each", Options{}, table + rows, table + merged},
		{"spread", Options{}, table + "INSERT INTO t VALUES\n (1,'a') , (2,NULL)\n;\n\n-- x\nINSERT INTO t VALUES\n (3,';')\n;", table + begun("INSERT INTO t VALUES\n (1,'a'),\n(2,NULL),\n(3,';');\n")},
		{"size", Options{Statement: 39}, table + rows + "INSERT INTO t VALUES (3,3),(4,4);\n", table + begun("INSERT INTO t VALUES (1,1),\n(2,2);\nINSERT INTO t VALUES (3,3),\n(4,4);\n")},
		{"large row", Options{Statement: 39}, table + rows + "INSERT INTO t VALUES (3,'" + strings.Repeat("x", 50) + "'),(4,4);\n",
			table + begun("INSERT INTO t VALUES (1,1),\n(2,2);\nINSERT INTO t VALUES (3,'"+strings.Repeat("x", 50)+"');\nINSERT INTO t VALUES (4,4);\n")},
		{"other head", Options{}, table + rows + "INSERT INTO t (a) VALUES (3);\n" + rows, table + begun("INSERT INTO t VALUES (1,1),\n(2,2);\nINSERT INTO t (a) VALUES (3);\nINSERT INTO t VALUES (1,1),\n(2,2);\n")},
		{"something between", Options{}, table + rows + "SET NAMES utf8;\n" + rows, table + merged + "SET NAMES utf8;\n" + merged},
		{"tables take turns", Options{}, table + "INSERT INTO t VALUES (1,1);\nINSERT INTO u VALUES (1);\nINSERT INTO t VALUES (2,2);\n", table + begun("INSERT INTO t VALUES (1,1);\nINSERT INTO u VALUES (1);\nINSERT INTO t VALUES (2,2);\n")},
		{"replace", Options{}, table + strings.ReplaceAll(rows, "INSERT", "REPLACE"), table + begun(strings.ReplaceAll(rows, "INSERT", "REPLACE"))},
		{"ignore", Options{}, table + strings.ReplaceAll(rows, "INSERT", "INSERT IGNORE"), table + strings.ReplaceAll(rows, "INSERT", "INSERT IGNORE")},
		{"not literal", Options{}, table + "INSERT INTO t VALUES (1,NOW());\nINSERT INTO t VALUES (2,NOW());\n", table + "INSERT INTO t VALUES (1,NOW());\nINSERT INTO t VALUES (2,NOW());\n"},

		{"NULL does not go alone", Options{Statement: 39}, table + "INSERT INTO t VALUES (1,NULL),(2,2),(3,3),(4,4),(5,NULL);\nINSERT INTO t VALUES (6,NULL);\nINSERT INTO t VALUES (7,'" + strings.Repeat("x", 50) + "'),(8,null);\n",
			table + begun("INSERT INTO t VALUES (1,NULL),\n(2,2);\nINSERT INTO t VALUES (3,3),\n(4,4),\n(5,NULL);\nINSERT INTO t VALUES (6,NULL);\nINSERT INTO t VALUES (7,'"+strings.Repeat("x", 50)+"'),\n(8,null);\n")},
		{"other engine", Options{Statement: 50}, strings.Replace(table, "InnoDB", "MyISAM", 1) + "INSERT INTO t VALUES (1,1),(2,2);\nINSERT INTO t VALUES (3,3);\nINSERT INTO t VALUES (1,1),(2,2),(3,3),(4,4),(5,5),(6,6);\n",
			strings.Replace(table, "InnoDB", "MyISAM", 1) + begun("INSERT INTO t VALUES (1,1),(2,2),\n(3,3);\nINSERT INTO t VALUES (1,1),(2,2),(3,3),(4,4),(5,5),(6,6);\n")},

		{"numbers", Options{}, count + rows, count + merged},
		{"numbers of the server", Options{}, count + "INSERT INTO t (b) VALUES (1);\nINSERT INTO t (b) VALUES (2);\nINSERT INTO t (b) VALUES (3);\n",
			count + begun("INSERT INTO t (b) VALUES (1),\n(2);\nINSERT INTO t (b) VALUES (3);\n")},
		{"NULL", Options{}, count + "INSERT INTO t VALUES (NULL,1);\nINSERT INTO t VALUES (DEFAULT,2);\nINSERT INTO t VALUES (null,3);\n",
			count + begun("INSERT INTO t VALUES (NULL,1),\n(DEFAULT,2);\nINSERT INTO t VALUES (null,3);\n")},
		{"NULL and numbers", Options{}, count + "INSERT INTO t VALUES (NULL,1);\nINSERT INTO t VALUES (7,1);\nINSERT INTO t VALUES (NULL,1);\n", count + begun("INSERT INTO t VALUES (NULL,1);\nINSERT INTO t VALUES (7,1);\nINSERT INTO t VALUES (NULL,1);\n")},
		{"NULL and numbers in one", Options{}, count + "INSERT INTO t VALUES (NULL,1),(7,1);\nINSERT INTO t VALUES (8,1),(NULL,1);\n", count + begun("INSERT INTO t VALUES (NULL,1),(7,1);\nINSERT INTO t VALUES (8,1),(NULL,1);\n")},
		{"zero", Options{}, count + "INSERT INTO t VALUES (0,1);\nINSERT INTO t VALUES (0,1);\n", count + begun("INSERT INTO t VALUES (0,1);\nINSERT INTO t VALUES (0,1);\n")},
		{"statements of generated numbers stay whole", Options{Statement: 30}, count + "INSERT INTO t (b) VALUES (1),(2),(3),(4);\nINSERT INTO t (b) VALUES (5);\n", count + begun("INSERT INTO t (b) VALUES (1),(2),(3),(4);\nINSERT INTO t (b) VALUES (5);\n")},
		{"no backslash escapes", Options{}, "CREATE TABLE t (a TEXT, id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB;\nSET sql_mode='NO_BACKSLASH_ESCAPES';\nINSERT INTO t VALUES ('\\',1);\nINSERT INTO t VALUES (',2,\\',2);\n",
			"CREATE TABLE t (a TEXT, id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB;\nSET sql_mode='NO_BACKSLASH_ESCAPES';\n" + begun("INSERT INTO t VALUES ('\\',1),\n(',2,\\',2);\n")},

		{"unknown table", Options{}, rows, begun("INSERT INTO t VALUES (1,1);\nINSERT INTO t VALUES (2,2);\n")},
		{"unknown table, more rows", Options{}, rows + rows, begun("INSERT INTO t VALUES (1,1),\n(2,2),\n(1,1);\nINSERT INTO t VALUES (2,2);\n")},
		{"unknown table, other NULLs", Options{}, rows + "INSERT INTO t VALUES (3,NULL),(4,NULL);\nINSERT INTO t VALUES (5,NULL);\nINSERT INTO t VALUES (0,NULL);\n",
			begun("INSERT INTO t VALUES (1,1);\nINSERT INTO t VALUES (2,2);\nINSERT INTO t VALUES (3,NULL),(4,NULL);\nINSERT INTO t VALUES (5,NULL);\nINSERT INTO t VALUES (0,NULL);\n")},
		{"table that may have been there", Options{LargeTable: 1}, "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, b INT, KEY k (b)) ENGINE=InnoDB;\n" + rows, "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, b INT, KEY k (b)) ENGINE=InnoDB;\n" + begun(rows)},
		{"trigger", Options{}, table + "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @a=1;\n" + rows, table + "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @a=1;\n" + begun(rows)},
		{"trigger of another table", Options{}, table + "CREATE TRIGGER g BEFORE INSERT ON u FOR EACH ROW SET @a=1;\n" + rows, table + "CREATE TRIGGER g BEFORE INSERT ON u FOR EACH ROW SET @a=1;\n" + merged},
		{"mystery", all, keyed + "CALL p();\n" + rows + "LOCK TABLES t WRITE;\n" + rows, keyed + "CALL p();\n" + rows + "LOCK TABLES t WRITE;\n" + rows},
		{"other database", Options{}, count + "USE d;\nINSERT INTO t VALUES (NULL,1);\nINSERT INTO t VALUES (2,2);\n", count + "USE d;\n" + begun("INSERT INTO t VALUES (NULL,1);\nINSERT INTO t VALUES (2,2);\n")},
		{"sequence of MariaDB", Options{}, "CREATE SEQUENCE s;\nDO SETVAL(`s`, 5, 0);\n" + table + rows, "CREATE SEQUENCE s;\nDO SETVAL(`s`, 5, 0);\n" + table + merged},

		{"locks", Options{}, table + "LOCK TABLES t WRITE;\n" + rows + "UNLOCK TABLES;\n" + "FLUSH TABLES WITH READ LOCK;\nUNLOCK TABLES;\n", table + merged + "FLUSH TABLES WITH READ LOCK;\nUNLOCK TABLES;\n"},
		{"transaction of the dump", Options{}, table + "BEGIN;\n" + rows + "COMMIT;\n" + rows, table + "BEGIN;\nINSERT INTO t VALUES (1,1),\n(2,2);\nCOMMIT;\n" + merged},
		{"transaction ended by DDL", Options{}, "BEGIN;\n" + table + rows + "COMMIT;\n", "BEGIN;\n" + table + merged + "COMMIT;\n"},
		{"rolled back", all, keyed + "BEGIN;\n" + rows + "ROLLBACK;\n" + rows, keyed + "BEGIN;\nINSERT INTO t VALUES (1,1),\n(2,2);\nROLLBACK;\n" + merged},
		{"autocommit off", Options{}, "SET @OLD=@@AUTOCOMMIT, @@AUTOCOMMIT=0;\n" + table + "LOCK TABLES t WRITE;\n" + rows + "UNLOCK TABLES;\nCOMMIT;\nSET AUTOCOMMIT=@OLD;\n" + rows,
			"SET @OLD=@@AUTOCOMMIT, @@AUTOCOMMIT=0;\n" + table + "INSERT INTO t VALUES (1,1),\n(2,2);\nCOMMIT;\nCOMMIT;\nSET AUTOCOMMIT=@OLD;\n" + merged},

		{"keys", all, keyed + rows + "INSERT INTO t VALUES (3,3);\nSELECT 1;\n" + rows, keyed + strings.Replace(tLater, "(2,2);", "(2,2),\n(3,3);", 1) + "SELECT 1;\n" + merged},
		{"keys of a small table", Options{LargeTable: 1000}, keyed + rows, keyed + merged},
		{"keys of a table that becomes large", Options{Statement: 1, LargeTable: 60}, keyed + rows + "INSERT INTO t VALUES (3,3);\n",
			keyed + later("t", "DROP KEY `k`", "ADD KEY k (id,b)", "", rows+"INSERT INTO t VALUES (3,3);\n")},
		{"keys of a table with rows", all, keyed + "INSERT INTO t SELECT 7,7;\n" + rows, keyed + "INSERT INTO t SELECT 7,7;\n" + merged},
		{"keys when the table comes again", all, keyed + rows + "INSERT INTO u VALUES (1);\n" + rows, keyed + tLater + begun("INSERT INTO u VALUES (1);\nINSERT INTO t VALUES (1,1),\n(2,2);\n")},
		{"keys that replace needs", all, keyed + rows + strings.ReplaceAll(rows, "INSERT", "REPLACE"), keyed + tLater + begun(strings.ReplaceAll(rows, "INSERT", "REPLACE"))},
		{"keys in another mode", all, keyed + "SET sql_mode='';\n" + rows, keyed + "SET sql_mode='';\n" + merged},
		{"keys with autocommit off", all, keyed + "SET autocommit=0;\n" + rows + "COMMIT;\n", keyed + "SET autocommit=0;\nALTER TABLE `t` DROP KEY `k`;\nINSERT INTO t VALUES (1,1),\n(2,2);\nALTER TABLE `t` ADD KEY k (id,b);\nCOMMIT;\n"},
		{"keys that a foreign key needs", all, off + child + strings.Replace(keyed, "k (id,b)", "k (b,id)", 1) + rows, off + child + strings.Replace(keyed, "k (id,b)", "k (b,id)", 1) + merged},
		{"keys while there are foreign keys", all, keyed + child + cRow, keyed + child + begun(cRow)},
		{"foreign keys", all, off + child + cRow, off + child + cLater + cForeign},
		{"foreign keys before checks are on", all, off + child + cRow + "/*!50001 CREATE VIEW v AS SELECT 1 */;\nSET foreign_key_checks=@x;\nSELECT 1;\n",
			off + child + cLater + "/*!50001 CREATE VIEW v AS SELECT 1 */;\n" + cForeign + "SET foreign_key_checks=@x;\nSELECT 1;\n"},
		{"foreign keys before something unknown", all, off + child + cRow + "DELIMITER //\nCALL p()//\nDELIMITER ;\nSELECT 1;\n", off + child + cLater + cForeign + "DELIMITER //\nCALL p()//\nDELIMITER ;\nSELECT 1;\n"},
		{"foreign keys before USE", all, off + child + cRow + "USE d;\n", off + child + cLater + cForeign + "USE d;\n"},
		{"foreign keys before DROP", all, off + child + cRow + "DROP TABLE d;\nDROP TABLE C;\n", off + child + cLater + "DROP TABLE d;\n" + cForeign + "DROP TABLE C;\n"},

		{"several statements in one", all, keyed + "DELIMITER //\nSET @a=1; DROP TABLE t//\nDELIMITER ;\n" + rows, keyed + "DELIMITER //\nSET @a=1; DROP TABLE t//\nDELIMITER ;\n" + rows},
		{"delimiters", Options{}, "DELIMITER ;;\n/*!50003 CREATE PROCEDURE p() BEGIN -- a;\n SELECT 1; END */;;\n" + strings.ReplaceAll(rows, ";", ";;") + "DELIMITER ;\nSELECT /* x */ 1;\n",
			"DELIMITER ;;\n/*!50003 CREATE PROCEDURE p() BEGIN -- a;\n SELECT 1; END */;;\nDELIMITER ;\n" + begun("INSERT INTO t VALUES (1,1);\nINSERT INTO t VALUES (2,2);\n") + "SELECT /* x */ 1;\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := packed(t, c.in, c.opts)
			got = strings.TrimSuffix(strings.TrimPrefix(got, dump.PackedHead+"\n"), "\n"+dump.PackedEnd+"\n")
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestHead(t *testing.T) {
	const in = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19  Distrib 10.11\r\n--\n-- Host: localhost\n\nSELECT 1;\n-- Dump completed on 2026-01-01\n"
	const want = "-- packed by ramaria\n-- from: MariaDB dump 10.19  Distrib 10.11\n--\n-- Host: localhost\n\nSELECT 1;\n\n-- Dump completed\n"
	got, sum := packed(t, in, Options{})
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if sum.In.Statements != 1 || sum.Statements != 1 || sum.Bytes != int64(len(want)) {
		t.Errorf("%+v", sum)
	}
	again, _ := packed(t, got, Options{})
	if d := cmp.Diff(want, again); d != "" {
		t.Errorf("packed again: %s", d)
	}
	if _, err := Pack(t.Context(), io.Discard, strings.NewReader(got[:len(got)-20]), "x.sql", Options{}); err == nil || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("a packed dump that is cut: %v", err)
	}
}

func TestPackFaults(t *testing.T) {
	const large = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b INT, KEY k (b)) ENGINE=InnoDB;\n"
	long := strings.Repeat("(1,'"+strings.Repeat("x", 1000)+"'),", 17000)
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "-- a comment\n", "x.sql: there is no statement in this dump\nhint: "},
		{"no end", "SELECT 1;\nSELECT 2", "x.sql:2: the last statement of the dump has no end\nhint: "},
		{"no end of rows", "INSERT INTO t VALUES (1)\n,\n(2)\n", "x.sql:3: the last statement of the dump has no end\nhint: "},
		{"cut in a row", "INSERT INTO t VALUES (1),(2", "x.sql:1: the last statement of the dump has no end\nhint: "},
		{"cut in a string", "SELECT 1;\nINSERT INTO t VALUES ('a", "x.sql:2: the dump ends in the middle of a string that begins in this line\n"},
		{"open transaction", large + "BEGIN;\nINSERT INTO t VALUES (1,1);\n", "x.sql: the dump ends in a transaction"},
		{"no autocommit", "SET autocommit=0;\nUPDATE t SET a=1;\n", "x.sql: the dump ends in a transaction"},
		{"no last line", "-- MySQL dump 10.13\nSELECT 1;\n", "x.sql:3: the dump is cut short"},
		{"client command", "SELECT 1;\nsource x\n", `x.sql:2: client command "source" is not executed in dumps`},
		{"rolled back", "SET autocommit=0;\n" + large + "INSERT INTO t VALUES (1,1);\nROLLBACK;\n", "x.sql:4: ROLLBACK would take back rows"},
		{"rolled back, and on", "SET autocommit=0;\n" + large + "INSERT INTO t VALUES (1,1);\nROLLBACK AND CHAIN;\n", "x.sql:4: ROLLBACK would take back rows"},
		{"rolled back to", "SET autocommit=0;\n" + large + "SAVEPOINT s;\nINSERT INTO t VALUES (1,1);\nROLLBACK TO s;\n", "x.sql:5: ROLLBACK would take back rows"},
		{"rolled back behind what is unknown", "SET autocommit=0;\n" + large + "INSERT INTO t VALUES (1,1);\nCALL p();\nROLLBACK;\n", "x.sql:5: ROLLBACK would take back rows"},
		{"rows of the statement before", large + "INSERT INTO t VALUES (1,1);\nSET @n = ROW_COUNT();\n", "x.sql:3: it asks what the statement before it has done"},
		{"mixed in parts", large + "INSERT INTO t VALUES " + long + "(NULL,1);\n", "x.sql:2: an INSERT of more than 16 MB has rows with an AUTO_INCREMENT number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Pack(t.Context(), io.Discard, strings.NewReader(c.in), "x.sql", Options{LargeTable: 1})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if _, ok := errors.AsType[*dump.Error](err); !ok {
				t.Errorf("%T", err)
			}
		})
	}
	full := errors.New("full")
	if _, err := Pack(t.Context(), writerFunc(func([]byte) (int, error) { return 0, full }), strings.NewReader("SELECT 1;"), "x", Options{}); !errors.Is(err, full) {
		t.Errorf("a writer's error: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Pack(ctx, io.Discard, strings.NewReader("SELECT 1;"), "x", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestWide leaves what stands behind SET NAMES of a character set with characters that end like a backslash as it is.
func TestWide(t *testing.T) {
	const rows = "INSERT INTO t VALUES (1,'\x83\x5c');\nINSERT INTO t VALUES (2,'b');\n"
	for _, set := range []string{"sjis", "latin1"} {
		var out bytes.Buffer
		_, err := Pack(t.Context(), &out, strings.NewReader("CREATE TABLE t (id INT PRIMARY KEY, v TEXT) ENGINE=InnoDB;\nSET NAMES "+set+";\n"+rows), "x.sql", Options{})
		if as := strings.Contains(out.String(), rows); as != (set == "sjis") || as && err != nil {
			t.Errorf("%s: %v:\n%q", set, err, out.String())
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestCutAnywhere cuts a dump behind every byte.
func TestCutAnywhere(t *testing.T) {
	const in = "-- MySQL dump 10.13\nCREATE TABLE t (a INT, b TEXT);\nLOCK TABLES t WRITE;\nINSERT INTO t VALUES (1,'a;b'),(2,NULL);\nUNLOCK TABLES;\n-- Dump completed"
	for n := range len(in) {
		if _, err := Pack(t.Context(), io.Discard, strings.NewReader(in[:n]), "x.sql", Options{}); err == nil {
			t.Errorf("cut to %q", in[:n])
		}
	}
}

// TestStatementsInParts packs statements that are never held whole.
func TestStatementsInParts(t *testing.T) {
	for _, c := range []struct{ name, table, row string }{
		{"numbers", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b TEXT, KEY k (b(9))) ENGINE=InnoDB;\n", "(7,'%s')"},
		{"as it is", "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, b TEXT, KEY k (b(9))) ENGINE=InnoDB;\n", "(NULL,'%s')"},
		{"unknown", "SELECT 1;\n", "(7,'%s')"},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := fmt.Sprintf(c.row, strings.Repeat("x", 1000))
			in := c.table + "INSERT INTO t VALUES " + strings.Repeat(row+",", 40000) + row + ";\nINSERT INTO t VALUES " + row + ";\n"
			out, sum := packed(t, in, Options{})
			if n := strings.Count(out, row); n != 40002 {
				t.Errorf("%d rows", n)
			}
			if d := cmp.Diff(events(t, in), events(t, out)); d != "" {
				t.Error(d)
			}
			if split := c.name == "numbers"; split != (sum.Statements > 30) {
				t.Errorf("%d statements", sum.Statements)
			}
		})
	}
}

// events are the statements and rows of a dump in order, without what Pack adds and leaves out.
func events(t *testing.T, in string) []string {
	t.Helper()
	s := dump.NewScanner(strings.NewReader(in), "")
	s.ByRows()
	var all []string
	for {
		st, err := s.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text := string(st.Text)
		if st.Rows == nil {
			added := text == "START TRANSACTION" || text == "COMMIT" || strings.HasPrefix(text, "ALTER TABLE `") || strings.Contains(text, "@ramaria")
			if !added && !locks(dump.Classify(st.Text, st.Delimiter).Kind) {
				all = append(all, text)
			}
			continue
		}
		from := 0
		for _, end := range st.Ends {
			row := st.Rows[from:end]
			all = append(all, text+string(row[bytes.IndexByte(row, '('):]))
			from = end
		}
	}
}

func locks(kind dump.StatementKind) bool {
	return kind == dump.StatementLock || kind == dump.StatementUnlock
}

// randomDump makes a dump of statements that mean something to Pack.
func randomDump(r *rand.Rand) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	name := func() string { return pick("a", "b", "`c;'`", "d.a") }
	value := func() string {
		return pick("1", "2", "'3'", "NULL", "DEFAULT", "0", "'x;y'", `'\'),('`, "\"q\"", "_binary '\x00\xff\\0'", "x'00'", "-1.5e3", "'a\nb'", "''")
	}
	row := func() string { return "(" + pick(value(), "5", "6", "7") + "," + pick("", " ", "\n") + value() + ")" }
	var b strings.Builder
	delimiter := ";"
	b.WriteString(pick("", "SET foreign_key_checks=0;\n"))
	for range 3 + r.IntN(80) {
		var s string
		switch r.IntN(40) {
		case 0, 1:
			s = "CREATE TABLE " + name() + " (id INT " + pick("AUTO_INCREMENT ", "") + "PRIMARY KEY, x INT, KEY k (x)" +
				pick("", ", UNIQUE KEY u (id,x)", ", CONSTRAINT f FOREIGN KEY (x) REFERENCES b (id)", ", CONSTRAINT f FOREIGN KEY (x) REFERENCES b (id)") + ") ENGINE=" + pick("InnoDB", "InnoDB", "InnoDB", "MyISAM")
		case 2:
			s = pick("DROP TABLE ", "DROP TABLE IF EXISTS ") + name()
		case 3:
			s = pick("SET foreign_key_checks=0", "SET foreign_key_checks=0", "SET foreign_key_checks=1", "/*!40014 SET @F=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */", "SET FOREIGN_KEY_CHECKS=@F",
				"SET autocommit=0", "SET autocommit=1", "SET sql_mode=''", "SET NAMES utf8mb4")
		case 4, 5:
			s = pick("LOCK TABLES a WRITE", "UNLOCK TABLES", "BEGIN", "SELECT 1")
		case 6:
			s = pick("USE d", "CREATE DATABASE d", pick("CALL p(';')", "SELECT 2"), "CREATE TRIGGER g BEFORE INSERT ON a FOR EACH ROW SET @x=1", "CREATE VIEW v AS SELECT 1", "UPDATE a SET x=1")
		case 7:
			delimiter = pick(";", ";;", "//", "$$")
			b.WriteString("DELIMITER " + delimiter + "\n")
			continue
		default:
			s = pick("INSERT INTO ", "INSERT INTO ", "INSERT INTO ", "REPLACE INTO ", "INSERT IGNORE INTO ") + pick("a", "a", "a", name()) + pick(" VALUES ", " VALUES ", " VALUES ", " VALUES ", " (x,id) VALUES ") + row()
			for r.IntN(3) == 0 {
				s += pick(",", ", ", "\n,") + row()
			}
		}
		if strings.HasSuffix(s, "/") {
			s += " " // or a delimiter of slashes begins there
		}
		b.WriteString(s + delimiter + pick("\n", "\n-- x\n", " "))
		if delimiter != ";" || strings.HasSuffix(b.String(), " ") {
			b.WriteString("\n")
		}
	}
	b.WriteString("COMMIT" + delimiter + "\n")
	return b.String()
}

func TestRandomDumps(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		in := randomDump(r)
		var out strings.Builder
		_, err := Pack(t.Context(), &out, strings.NewReader(in), "x.sql", Options{Statement: 1 + r.IntN(300), LargeTable: 1 + r.IntN(200)})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, in)
		}
		if d := cmp.Diff(events(t, in), events(t, out.String())); d != "" {
			t.Fatalf("seed %d: %s\n%s\n-----\n%s", seed, d, in, out.String())
		}
		for _, what := range []string{"DROP KEY", "DROP FOREIGN KEY", "@ramaria_checks", "START TRANSACTION"} {
			if strings.Contains(out.String(), what) {
				kinds[what]++
			}
		}
		if strings.Count(out.String(), "INSERT INTO ") < strings.Count(in, "INSERT INTO ") {
			kinds["merged"]++
		}
		checkOrder(t, seed, out.String())
	}
	t.Log(kinds)
	for _, what := range []string{"DROP KEY", "DROP FOREIGN KEY", "@ramaria_checks", "START TRANSACTION", "merged"} {
		if kinds[what] < 20 {
			t.Errorf("%s came up in %d dumps only", what, kinds[what])
		}
	}
}

// checkOrder checks that transactions end, and that every key comes back.
func checkOrder(t *testing.T, seed uint64, out string) {
	t.Helper()
	open, dropped := false, []string{}
	for _, line := range strings.Split(out, "\n") {
		table, rest, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, "ALTER TABLE "), ";"), " DROP ")
		switch {
		case line == "START TRANSACTION;" && open:
			t.Fatalf("seed %d: two transactions\n%s", seed, out)
		case line == "START TRANSACTION;":
			open = true
		case line == "COMMIT;":
			open = false
		case strings.HasPrefix(line, "ALTER TABLE `") && open:
			t.Fatalf("seed %d: %s in a transaction\n%s", seed, line, out)
		case strings.HasPrefix(line, "ALTER TABLE `") && rest != "":
			if strings.Contains(rest, "FOREIGN") {
				dropped = append(dropped, "ALTER TABLE "+table+" ADD CONSTRAINT")
			}
			if strings.HasPrefix(rest, "KEY") || strings.Contains(rest, "DROP KEY") {
				dropped = append(dropped, "ALTER TABLE "+table+" ADD ")
			}
		case strings.HasPrefix(line, "ALTER TABLE `"):
			foreign := strings.Contains(line, "FOREIGN")
			i := slices.IndexFunc(dropped, func(p string) bool {
				return strings.HasPrefix(line, p) && foreign == strings.HasSuffix(p, "CONSTRAINT")
			})
			if i < 0 {
				t.Fatalf("seed %d: %s\n%s", seed, line, out)
			}
			dropped = slices.Delete(dropped, i, i+1)
		}
	}
	if open || len(dropped) > 0 {
		t.Fatalf("seed %d: left: %v %v\n%s", seed, open, dropped, out)
	}
}

func TestFixtures(t *testing.T) {
	for _, shape := range []fixture.Shape{fixture.OneRow, fixture.Extended} {
		var in strings.Builder
		if err := (fixture.World{Database: "w"}).WriteDump(&in, shape); err != nil {
			t.Fatal(err)
		}
		out, sum := packed(t, in.String(), Options{})
		if d := cmp.Diff(events(t, in.String()), events(t, out)); d != "" {
			t.Error(d)
		}
		if sum.Statements > 100 {
			t.Errorf("%s: %d statements", shape, sum.Statements)
		}
	}
}
