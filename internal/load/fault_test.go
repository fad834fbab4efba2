package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// faulty are dumps with one row that is refused, in the line that has BAD in it; ids are of
// those that must be there. The table bad has its keys in the end.
var faulty = []struct {
	name, columns, rows string
	code                int
	ids                 string
	// statement says that the line is that of the statement.
	statement bool
}{
	{"duplicate primary key", "PRIMARY KEY (id), KEY t (t), UNIQUE KEY u (u)", "(1,'a',1),\n(2,'b',2),\n(1,'BAD',3),\n(4,'d',4)", 1062, "1,2", false},
	{"duplicate key", "PRIMARY KEY (id), KEY t (t), UNIQUE KEY u (u)", "(1,'a',1),\n(2,'b',2),\n(3,'BAD',2),\n(4,'d',4)", 1062, "1,2", false},
	{"too long", "PRIMARY KEY (id), KEY t (t)", "(1,'a',1),\n(2,'b',2),\n(3,'BAD too long for it',3),\n(4,'d',4)", 1406, "1,2", false},
	{"null", "PRIMARY KEY (id), KEY t (t)", "(1,'a',1),\n(2,'b',2),\n(3,NULL/*BAD*/,3),\n(4,'d',4)", 1048, "", true},
	{"check", "PRIMARY KEY (id), KEY t (t), CONSTRAINT c CHECK (u < 100)", "(1,'a',1),\n(2,'b',2),\n(3,'BAD',300),\n(4,'d',4)", 0, "1,2", false},
	{"too few values", "PRIMARY KEY (id), KEY t (t)", "(1,'a',1),\n(2,'b',2),\n(3,'BAD'),\n(4,'d',4)", 1136, "1,2", false},
	{"not in order", "KEY t (t), UNIQUE KEY u (u)", "(1,'a',1),\n(2,'b',2),\n(3,'BAD',2),\n(4,'d',4)", 1062, "1,2", false},
	{"no parent", "PRIMARY KEY (id), KEY t (t), CONSTRAINT f FOREIGN KEY (u) REFERENCES good (id)", "(1,'a',1),\n(2,'b',2),\n(3,'BAD',77),\n(4,'d',4)", 1452, "1,2", false},
}

func (s *stand) strings(t *testing.T, query string) []string {
	t.Helper()
	var list []string
	if err := dbconn.Query(t.Context(), s.db, query, func(c []string) error {
		list = append(list, strings.Join(c, "\t"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// shape returns a table as it is, but for its AUTO_INCREMENT number.
func (s *stand) shape(t *testing.T, table string) string {
	t.Helper()
	return regexp.MustCompile(` AUTO_INCREMENT=\d+`).ReplaceAllString(strings.Join(s.strings(t, "SHOW CREATE TABLE d."+table), ""), "")
}

// TestRefusedRows loads a dump with a row in the middle that the server refuses.
func TestRefusedRows(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		for _, c := range faulty {
			made := "CREATE TABLE bad (id int NOT NULL, t varchar(10) NOT NULL, u int, " + c.columns + ") ENGINE=InnoDB;\n"
			text := "CREATE TABLE good (id int NOT NULL, v int, PRIMARY KEY (id), KEY v (v)) ENGINE=InnoDB;\n" +
				"INSERT INTO good VALUES (1,1),(2,2),(3,3),(4,4),(5,5);\n" + made +
				"INSERT INTO bad VALUES\n" + c.rows + ";\nINSERT INTO good VALUES (6,6);\n"
			test := func(t *testing.T) {
				s.clear(t)
				s.exec(t, "USE d; CREATE TABLE good (id int PRIMARY KEY) ENGINE=InnoDB;"+made)
				want := s.shape(t, "bad")
				s.clear(t)
				err := s.load(t.Context(), strings.NewReader(text))
				fault, ok := errors.AsType[*dump.Error](err)
				if !ok {
					t.Fatalf("got %v, want a dump's fault", err)
				}
				t.Log(err)
				before, _, _ := strings.Cut(text, "BAD")
				line := strings.Count(before, "\n") + 1
				head, _, _ := strings.Cut(text, "INSERT INTO bad")
				first := strings.Count(head, "\n") + 1
				if fault.File != "test.sql" || fault.Line != line && (fault.Line != first || !c.statement && !strings.Contains(c.name, "duplicate key")) {
					t.Errorf("in %s:%d, want test.sql:%d", fault.File, fault.Line, line)
				}
				if !strings.Contains(fault.Msg, "the server refused a statement: "+strconv.Itoa(c.code)) && c.code > 0 {
					t.Errorf("said %q, want %d", fault.Msg, c.code)
				}
				if got := s.shape(t, "bad"); got != want {
					t.Errorf("the table is %s, want %s", got, want)
				}
				if good := strings.Join(s.strings(t, "SELECT id FROM d.good ORDER BY id LIMIT 5"), ","); good != "1,2,3,4,5" {
					t.Errorf("before it is %q", good)
				}
				if got := strings.Join(s.strings(t, "SELECT id FROM d.bad ORDER BY id"), ","); !strings.HasPrefix(got, c.ids) {
					t.Errorf("of the table are %q, want %q", got, c.ids)
				}
			}
			t.Run(c.name, test)
			t.Run(c.name+" small", func(t *testing.T) {
				tiny.set(t)
				test(t)
			})
			if c.code == 1452 {
				continue
			}
			text = "SET foreign_key_checks = 0, unique_checks = 0;\n" + text
			t.Run(c.name+" at once", test)
		}
	})
}

// TestFilledAtOnce looks at what the server is told: where it fills an empty table in one go, one
// session fills each small table with the checks off, and nothing else is done with them off.
func TestFilledAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		var text strings.Builder
		text.WriteString("SET foreign_key_checks = 0;\nCREATE TABLE small (id int NOT NULL, v varchar(60), PRIMARY KEY (id)) ENGINE=InnoDB;\n" +
			"CREATE TABLE other (id int NOT NULL, v varchar(60), PRIMARY KEY (id)) ENGINE=MyISAM;\n")
		rows := 3 * firstChunk / 60
		for i := range rows {
			fmt.Fprintf(&text, "INSERT INTO small VALUES (%d,'%050d');\n", i, i)
		}
		text.WriteString("INSERT INTO other VALUES (1,'x');\nINSERT INTO small VALUES (-1,'later');\n")
		s.clear(t)
		s.exec(t, "SET GLOBAL log_output = 'TABLE'; TRUNCATE TABLE mysql.general_log; SET GLOBAL general_log = 1")
		err := s.load(t.Context(), strings.NewReader(text.String()))
		s.exec(t, "SET GLOBAL general_log = 0")
		if err != nil {
			t.Fatal(err)
		}
		if n := s.strings(t, "SELECT COUNT(*), SUM(id), MIN(v), COUNT(DISTINCT v) FROM d.small"); n[0] != fmt.Sprintf("%d\t%d\t%050d\t%d", rows+1, rows*(rows-1)/2-1, 0, rows+1) {
			t.Errorf("the table has %q", n)
		}
		said := strings.Join(s.strings(t, "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log"), "\n")
		off, loads := strings.Count(said, "SET unique_checks = 0"), strings.Count(said, "INTO TABLE `d`.`small`")
		if s.FillsAtOnce() && (off != 1 || loads != 2) || !s.FillsAtOnce() && (off != 0 || loads < 3) {
			t.Errorf("the checks are off %d times, and there are %d LOAD DATA:\n%.2000s", off, loads, said)
		}
	})
}

// TestRowsBeforeFault: a row is refused while another worker loads rows that stand before it, and
// those are loaded all the same.
func TestRowsBeforeFault(t *testing.T) {
	s := newStand(t, servertest.Find(t, ""))
	const rows = 60_000
	var text strings.Builder
	text.WriteString("CREATE TABLE many (id int NOT NULL, v varchar(50), PRIMARY KEY (id)) ENGINE=InnoDB;\n" +
		"CREATE TABLE bad (id int NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB;\nINSERT INTO many VALUES (0,'')")
	for i := 1; i < rows; i++ {
		fmt.Fprintf(&text, ",(%d,'%050d')", i, i)
	}
	text.WriteString(";\nINSERT INTO bad VALUES (1),(1);\n")
	s.clear(t)
	err := s.load(t.Context(), strings.NewReader(text.String()))
	if fault, ok := errors.AsType[*dump.Error](err); !ok || fault.Line != 4 {
		t.Errorf("got %v, want a fault in line 4", err)
	}
	if n := s.strings(t, "SELECT COUNT(*) FROM d.many")[0]; n != strconv.Itoa(rows) {
		t.Errorf("before it are %s rows, want %d", n, rows)
	}
}

// TestTablesBehindFault: a dump that fails takes no rows with it that were there before and that it would replace later, also
// where workers are at its rows still.
func TestTablesBehindFault(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		s.clear(t)
		s.exec(t, "CREATE TABLE d.kept (id int PRIMARY KEY); INSERT INTO d.kept VALUES (1),(2); CREATE VIEW d.seen AS SELECT 1 AS a")
		var text strings.Builder
		text.WriteString("SET FOREIGN_KEY_CHECKS=0;\nDROP TABLE IF EXISTS bad;\nCREATE TABLE bad (id int NOT NULL, v varchar(50), PRIMARY KEY (id)) ENGINE=InnoDB;\nINSERT INTO bad VALUES (0,'')")
		for i := range 20_000 {
			fmt.Fprintf(&text, ",(%d,'%050d')", i+1, i)
		}
		text.WriteString(",(0,'');\nDROP TABLE IF EXISTS seen;\nDROP TABLE IF EXISTS `kept`;\nCREATE TABLE kept (id int PRIMARY KEY);\n")
		if err := s.load(t.Context(), strings.NewReader(text.String())); err == nil || !strings.Contains(err.Error(), "1062") {
			t.Errorf("got %v, want error 1062", err)
		}
		if got := s.strings(t, "SELECT id FROM d.kept"); len(got) != 2 {
			t.Errorf("the rows of before are %q", got)
		}
		if got := s.strings(t, "SELECT a FROM d.seen"); len(got) != 1 {
			t.Errorf("the view of before gives %q", got)
		}
	})
}

// TestObjectsBehindFault: nor does it drop or replace views, routines and events, or put triggers on tables that were there.
func TestObjectsBehindFault(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		s.clear(t)
		s.exec(t, "USE d; CREATE TABLE kept (id int PRIMARY KEY); CREATE VIEW v AS SELECT 1 AS a; CREATE VIEW w AS SELECT 1 AS a; CREATE PROCEDURE p() SELECT 1; "+
			"CREATE FUNCTION f() RETURNS int DETERMINISTIC RETURN 1; CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 1; INSERT INTO kept VALUES (1)")
		want := s.content(t)
		for _, behind := range []string{
			"/*!50001 DROP VIEW IF EXISTS `v`*/", "CREATE OR REPLACE VIEW w AS SELECT 2 AS a", "DROP PROCEDURE IF EXISTS p", "DROP FUNCTION IF EXISTS `f`",
			"/*!50106 DROP EVENT IF EXISTS `e` */", "CREATE TRIGGER t BEFORE INSERT ON kept FOR EACH ROW SET NEW.id = 7", "INSERT INTO kept VALUES (2)",
		} {
			var text strings.Builder
			text.WriteString("SET FOREIGN_KEY_CHECKS=0;\nCREATE TABLE bad (id int NOT NULL, v varchar(50), PRIMARY KEY (id)) ENGINE=InnoDB;\nINSERT INTO bad VALUES (0,'')")
			for i := range 20_000 {
				fmt.Fprintf(&text, ",(%d,'%050d')", i+1, i)
			}
			text.WriteString(",(0,'');\n" + behind + ";\n")
			if err := s.load(t.Context(), strings.NewReader(text.String())); err == nil || !strings.Contains(err.Error(), "1062") {
				t.Errorf("got %v, want error 1062", err)
			}
			s.exec(t, "DROP TABLE d.bad")
			is := s.content(t)
			if diff := cmp.Diff(want, is); diff != "" {
				t.Errorf("%s was carried out:\n%s", behind, diff)
			}
			want = is // the next is not blamed for it
		}
	})
}

// TestRefusedStatements compares what is said, and what is there, with the client.
func TestRefusedStatements(t *testing.T) {
	s := newStand(t, servertest.Find(t, ""))
	const head = "CREATE TABLE t (id int NOT NULL AUTO_INCREMENT, v varchar(5), PRIMARY KEY (id), KEY v (v)) ENGINE=InnoDB;\nINSERT INTO t VALUES (1,'a');\nINSERT INTO t (v) VALUES ('b');\n\n"
	for _, bad := range []string{
		"INSRT INTO t VALUES (2);", "CREATE TABLE t (id int);", "INSERT INTO nosuch VALUES (1,2);", "INSERT INTO t (nosuch) VALUES (1);",
		"INSERT INTO t (v) VALUES ('much too long');", "UPDATE t SET id = 1;", "USE nosuch;", "SET sql_mode='nosuch';",
		"SET @a = 1;\nSET sql_mode='nosuch';\nSET @b = 2;", "/*!99999 SET @a = 1 */;\n/*!40101 SET @b = 2 */;\n/*!40101 SET sql_mode='nosuch' */;\nSET @c = 3;", "CALL nosuch();",
		"INSERT INTO t VALUES (NULL,'ok'),(1,'dup');", "DROP TABLE nosuch;", "CREATE VIEW v AS SELECT nosuch FROM t;", "SET @a = (SELECT nosuch FROM t);",
		"DELIMITER ;;\nCREATE PROCEDURE p() BEGIN nosuch; END;;\nDELIMITER ;",
		"CREATE TABLE m (id int PRIMARY KEY) ENGINE=MyISAM; INSERT INTO m VALUES (1),(2),(1),(3);",
		"CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 'x';\nINSERT INTO t VALUES (5,'a'),(1,'b');",
	} {
		t.Run(bad, func(t *testing.T) {
			text := head + bad + "\nINSERT INTO t VALUES (99,'z');\n"
			s.clear(t)
			said, err := s.plain(t, []byte(text))
			if err == nil {
				t.Fatal("the client takes it")
			}
			want := s.content(t)
			m := regexp.MustCompile(`ERROR (\d+ \(\w+\)) at line (\d+)`).FindStringSubmatch(said)
			s.clear(t)
			err = s.load(t.Context(), strings.NewReader(text))
			if err == nil || m == nil || !strings.Contains(err.Error(), "test.sql:"+m[2]+": the server refused a statement: "+m[1]) {
				t.Errorf("said %v; the client %s", err, said)
			}
			if diff := cmp.Diff(want, s.content(t)); diff != "" {
				t.Errorf("other than by the client (-):\n%s", diff)
			}
		})
	}
}

// trap is a dump in the midst of which something happens.
type trap struct {
	io.Reader
	at   int
	does func()
}

func (r *trap) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p[:min(len(p), 8<<10)])
	if r.at -= n; r.at < 0 && r.does != nil {
		r.does()
		r.does = nil
	}
	return n, err
}

func shop(t *testing.T, rows int) []byte {
	t.Helper()
	var in bytes.Buffer
	if err := (fixture.Shop{Rows: rows}).WriteDump(&in, fixture.Extended); err != nil {
		t.Fatal(err)
	}
	return in.Bytes()
}

// TestInterrupted ends loads at several places.
func TestInterrupted(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		little.set(t)
		in := shop(t, 20_000)
		s.clear(t)
		if err := s.load(t.Context(), bytes.NewReader(in)); err != nil {
			t.Fatal(err)
		}
		tables := s.strings(t, "SHOW TABLES FROM d")
		want := map[string]string{}
		for _, table := range tables {
			want[table] = s.shape(t, table)
		}
		for _, part := range []int{0, 10, 35, 50, 65, 80, 95} {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				was := goleak.IgnoreCurrent()
				s.clear(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				err := s.load(ctx, &trap{bytes.NewReader(in), len(in) * part / 100, cancel})
				if err == nil || err.Error() != context.Canceled.Error() {
					t.Errorf("got %v, want %v", err, context.Canceled)
				}
				if err := goleak.Find(was); err != nil {
					t.Error(err)
				}
				made := s.strings(t, "SHOW TABLES FROM d")
				for _, table := range made {
					if got := s.shape(t, table); got != want[table] {
						t.Errorf("%s is %s, want %s", table, got, want[table])
					}
				}
				t.Logf("%d tables", len(made))
				deadline := time.Now().Add(2 * time.Minute)
				for len(s.strings(t, "SELECT id FROM information_schema.processlist WHERE command = 'Query' AND info NOT LIKE '%processlist%'")) > 0 {
					if time.Now().After(deadline) {
						t.Fatal("the server is still at it")
					}
					time.Sleep(20 * time.Millisecond)
				}
			})
		}
	})
}

// TestServerDies kills the server in the middle.
func TestServerDies(t *testing.T) {
	for _, part := range []int{5, 40, 90} {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			s := newStand(t, servertest.Find(t, ""))
			little.set(t)
			s.clear(t)
			var name, file string
			if err := s.db.QueryRowContext(t.Context(), "SHOW VARIABLES LIKE 'pid_file'").Scan(&name, &file); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			in := shop(t, 20_000)
			var killed time.Time
			err = s.load(t.Context(), &trap{bytes.NewReader(in), len(in) * part / 100, func() {
				killed = time.Now()
				if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}})
			t.Log(err)
			if !errors.Is(err, ErrServerGone) {
				t.Errorf("got %v, want %v", err, ErrServerGone)
			}
			if took := time.Since(killed); took > 2*time.Minute {
				t.Errorf("it took %s to notice", took)
			}
		})
	}
}

// cutDump is cut everywhere.
const cutDump = `/*!40101 SET @old=@@sql_mode, sql_mode='NO_AUTO_VALUE_ON_ZERO' */;
CREATE TABLE a (
  id int NOT NULL AUTO_INCREMENT,
  v varchar(9) DEFAULT 'x;y',
  PRIMARY KEY (id),
  KEY v (v)
) ENGINE=InnoDB;
-- rows; of a
INSERT INTO a VALUES (1,'one'),(2,'it''s'),(30,'\\');
INSERT INTO a (v) VALUES ('four');
SET NAMES utf8mb4;
START TRANSACTION;
INSERT INTO a VALUES (50,'fifty');
COMMIT;
CREATE TABLE b (id int NOT NULL) ENGINE=InnoDB;
INSERT INTO b VALUES (3),(1);
INSERT INTO b VALUES (12);
DELIMITER ;;
CREATE TRIGGER t BEFORE INSERT ON b FOR EACH ROW BEGIN SET NEW.id = NEW.id + 1; END;;
DELIMITER ;
INSERT INTO b VALUES (7);
UPDATE b SET id = id * 10 WHERE id > 3;
`

// TestCutDump loads a dump that was cut, at every byte. If nothing is said of it, what is there
// is what the client has loaded.
func TestCutDump(t *testing.T) {
	s := newStand(t, servertest.Find(t, ""))
	content := func(t *testing.T) string {
		var all []string
		for _, table := range s.strings(t, "SHOW TABLES FROM d") {
			all = slices.Concat(all, s.strings(t, "SHOW CREATE TABLE d."+table), s.strings(t, "SELECT * FROM d."+table), s.strings(t, "SHOW TRIGGERS FROM d WHERE NOT SLEEP(0)"))
		}
		return regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d\d`).ReplaceAllString(strings.Join(all, "\n"), "")
	}
	silent := 0
	for cut := range len(cutDump) {
		s.clear(t)
		err := s.load(t.Context(), strings.NewReader(cutDump[:cut]))
		if err != nil {
			if _, ok := errors.AsType[*dump.Error](err); !ok {
				t.Errorf("at %d: %v", cut, err)
			}
			continue
		}
		silent++
		got := content(t)
		s.clear(t)
		if said, err := s.plain(t, []byte(cutDump[:cut])); err != nil {
			t.Errorf("at %d, behind %q: nothing is said; the client: %s", cut, cutDump[max(0, cut-40):cut], said)
		} else if diff := cmp.Diff(content(t), got); diff != "" {
			t.Errorf("at %d, behind %q: other than by the client (-):\n%s", cut, cutDump[max(0, cut-40):cut], diff)
		}
	}
	t.Logf("%d of %d cuts without a word", silent, len(cutDump))
}

// TestDuplicateInOrder: of two rows with one value of a key it is the later one that is refused, wherever
// they stand and whichever worker has them, and nothing that stands behind it goes in. Numbers of rows
// do not rise with their place, so that the order of the primary key is another.
func TestDuplicateInOrder(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		const rows = 120
		for i, key := range []string{"id", "t", "u", "h"} {
			if key == "t" { // which may stand twice
				continue
			}
			for _, there := range []bool{false, true} {
				for _, at := range [][2]int{{3, 7}, {0, 119}, {58, 61}, {10, 90}, {60, 100}} {
					t.Run(fmt.Sprintf("%s %v there before %t", key, at, there), func(t *testing.T) {
						tiny.set(t)
						made := "CREATE TABLE bad (id int NOT NULL, t varchar(10), u varchar(20), h varchar(30), PRIMARY KEY (id), KEY t (t), UNIQUE KEY u (u), UNIQUE KEY h (h)) ENGINE=InnoDB;\n"
						var text strings.Builder
						if !there {
							text.WriteString(made)
						}
						text.WriteString("SET @a = 1;\nCREATE TABLE behind (id int PRIMARY KEY) ENGINE=InnoDB;\n")
						for n := range rows {
							row := []any{1000 - n, n, n, n}
							if n == at[1] {
								row[i] = []any{1000 - at[0], 0, at[0], at[0]}[i]
							}
							lead := "INSERT INTO bad VALUES "
							if n%4 > 0 {
								lead = ","
							}
							fmt.Fprintf(&text, "%s(%d,'t%d','u%d',\n'h%d')", append([]any{lead}, row...)...)
							if n%4 == 3 {
								text.WriteString(";\n")
							}
						}
						text.WriteString("INSERT INTO behind VALUES (1);\n")
						begin := func() {
							s.clear(t)
							if there {
								s.exec(t, "USE d; "+made)
							}
						}
						begin()
						said, err := s.plain(t, []byte(text.String()))
						m := regexp.MustCompile(`ERROR 1062 \(23000\) at line (\d+)[^:]*: (.*)`).FindStringSubmatch(said)
						if err == nil || m == nil {
							t.Fatalf("the client said %q", said)
						}
						first, _ := strconv.Atoi(m[1])
						want := s.strings(t, "SELECT * FROM d.bad ORDER BY id")
						begin()
						err = s.load(t.Context(), strings.NewReader(text.String()))
						fault, ok := errors.AsType[*dump.Error](err)
						// The line is that of the row, or of its statement, as the client's.
						if !ok || fault.Line < first || fault.Line > first+7 || !strings.Contains(fault.Msg, m[2]) {
							t.Errorf("got %v, the client said %s", err, said)
						}
						got := s.strings(t, "SELECT * FROM d.bad ORDER BY id")
						if there {
							if diff := cmp.Diff(want, got); diff != "" {
								t.Errorf("other than by the client (-):\n%s", diff)
							}
						} else if n := len(got); n < len(want) || n != at[1] {
							t.Errorf("%d rows stay, want %d; the client leaves %d", n, at[1], len(want))
						}
						if n := s.strings(t, "SELECT COUNT(*) FROM d.behind")[0]; n != "0" {
							t.Errorf("behind it are %s rows", n)
						}
					})
				}
			}
		}
	})
}
