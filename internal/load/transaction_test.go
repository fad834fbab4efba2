package load

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	counted = "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20)) ENGINE=InnoDB;\nINSERT INTO t VALUES (1,'a');\n"
	two     = "INSERT INTO t VALUES (2,'b'),(3,'c');\n"
)

// TestTransactionsEqualClient loads dumps with transactions of their own as the client does, or refuses them: sessions
// that load side by side cannot take back what one of them began.
func TestTransactionsEqualClient(t *testing.T) {
	const back = "ROLLBACK would take back what was loaded before it"
	each(t, func(t *testing.T, s *stand) {
		for _, tc := range []struct{ in, refusal string }{
			{in: "BEGIN;\n" + two + "COMMIT AND CHAIN;\nINSERT INTO t VALUES (4,'d');\nCOMMIT WORK AND NO CHAIN NO RELEASE;\n"},
			{in: "BEGIN;\n" + two + "SAVEPOINT s;\nINSERT INTO t VALUES (4,'d');\nRELEASE SAVEPOINT s;\nCOMMIT;\n"},
			{in: "LOCK TABLES t WRITE;\n" + two + "UNLOCK TABLES;\nROLLBACK;\n"},
			{in: "SET autocommit=0;\nLOCK TABLES t WRITE;\n" + two + "UNLOCK TABLES;\nROLLBACK;\nINSERT INTO t VALUES (4,'d');\nCOMMIT;\n"},
			{in: "BEGIN;\n" + two + "ROLLBACK AND CHAIN;\nINSERT INTO t VALUES (4,'d');\nCOMMIT;\n", refusal: back},
			{in: "BEGIN;\n" + two + "ROLLBACK WORK AND NO CHAIN;\n", refusal: back},
			{in: "BEGIN;\n" + two + "UNLOCK TABLES;\nROLLBACK;\n", refusal: back},
			{in: "BEGIN;\n" + two + "SET GLOBAL sort_buffer_size = 262144;\nROLLBACK;\n", refusal: back},
			{in: "BEGIN;\n" + two + "SAVEPOINT s;\nINSERT INTO t VALUES (4,'d');\nROLLBACK TO s;\nCOMMIT;\n", refusal: back},
			{in: "BEGIN;\n" + two + "SAVEPOINT s;\nINSERT INTO t VALUES (4,'d');\nROLLBACK WORK TO SAVEPOINT s;\nCOMMIT;\n", refusal: back},
			{in: "BEGIN;\nCOMMIT AND CHAIN;\n" + two + "ROLLBACK;\n", refusal: back},
			{in: "START TRANSACTION READ ONLY;\n" + two, refusal: "1792"},
		} {
			t.Run(tc.in, func(t *testing.T) { s.equalOrRefused(t, counted+tc.in, tc.refusal) })
		}
	})
}

// TestAnswersEqualClient loads dumps that use what the statement before was answered, or refuses them.
func TestAnswersEqualClient(t *testing.T) {
	const asks = "it asks what the statement before it has done"
	each(t, func(t *testing.T, s *stand) {
		for _, tc := range []struct{ in, refusal string }{
			{in: two + "SELECT ROW_COUNT(), FOUND_ROWS(), @@warning_count;\n"},
			{in: "INSERT INTO t (v) VALUES ('x'),('y');\nSET @i = @@identity;\nINSERT INTO t VALUES (@i + 10,'z');\n"},
			{in: "INSERT INTO t (v) VALUES ('x'),('y');\nSET @i = @@session.last_insert_id;\nINSERT INTO t VALUES (@i + 10,'z');\n"},
			{in: "INSERT INTO t VALUES (2,'row_count()');\nINSERT INTO t SELECT 3,'FOUND_ROWS()';\n"},
			{in: two + "SET @n = ROW_COUNT();\nINSERT INTO t VALUES (@n + 10,'z');\n", refusal: asks},
			{in: two + "INSERT INTO t SELECT 10 + ROW_COUNT (),'z';\n", refusal: asks},
			{in: two + "SELECT FOUND_ROWS() INTO @n;\nINSERT INTO t VALUES (@n + 10,'z');\n", refusal: asks},
			{in: two + "SET @n = @@warning_count;\nINSERT INTO t VALUES (@n + 10,'z');\n", refusal: asks},
			{in: two + "SET @n = @@session.error_count;\nINSERT INTO t VALUES (@n + 10,'z');\n", refusal: asks},
			{in: two + "GET DIAGNOSTICS @n = ROW_COUNT;\nINSERT INTO t VALUES (@n + 10,'z');\n", refusal: asks},
		} {
			t.Run(tc.in, func(t *testing.T) { s.equalOrRefused(t, counted+tc.in, tc.refusal) })
		}
	})
}

// equalOrRefused loads a dump as the client does, or is to be refused.
func (s *stand) equalOrRefused(t *testing.T, in, refusal string) {
	t.Helper()
	if refusal == "" {
		s.equal(t, []byte(in), tiny)
		return
	}
	s.clear(t)
	if err := s.load(t.Context(), strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), refusal) {
		t.Errorf("said %v, want %s; there is:\n%s", err, refusal, s.content(t))
	}
}

// TestCharactersLikeQuotes loads dumps in character sets whose second bytes look like backslashes and backticks, as the
// client does that is told of the set.
func TestCharactersLikeQuotes(t *testing.T) {
	// Characters of each set whose second byte is a backslash, a backtick, and another.
	characters := map[string][]string{
		"sjis": {"\x83\x5c", "\x95\x5c", "\x83\x60", "\x82\xa0", "\xb1"}, "cp932": {"\x83\x5c", "\x95\x5c", "\x83\x60", "\x82\xa0", "\xb1"},
		"gbk": {"\x81\x5c", "\xd5\x5c", "\x81\x60", "\xc4\xe3"}, "gb18030": {"\x81\x5c", "\xd5\x5c", "\x81\x60", "\xc4\xe3", "\x81\x30\x81\x30"},
		"big5": {"\xa5\x5c", "\xb3\x5c", "\xa5\x60", "\xa7\x41"},
	}
	each(t, func(t *testing.T, s *stand) {
		var last string
		for set, list := range characters {
			known := 0
			if err := s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.character_sets WHERE character_set_name = '"+set+"'").Scan(&known); err != nil {
				t.Fatal(err)
			}
			if known == 0 {
				continue // MariaDB has no gb18030
			}
			for _, way := range []string{
				"SET NAMES " + set, "/*!40101 SET NAMES '" + set + "' */", "SET @old = @@character_set_client;\nSET NAMES " + set + ";\nSET @is = @@character_set_client, character_set_client = @old;\nSET character_set_client = @is",
			} {
				t.Run(set+" "+way, func(t *testing.T) {
					var in strings.Builder
					fmt.Fprintf(&in, "%s;\nCREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(90) CHARACTER SET %s, KEY (v)) ENGINE=InnoDB COMMENT='%s';\n", way, set, list[0])
					id := 0
					for _, a := range list {
						for _, b := range list {
							id++
							fmt.Fprintf(&in, "INSERT INTO t VALUES (%d,'%s%s'),(%d,'it\\'s %s'),(%d,\"x';%s\");\n", id, a, b, id+1000, a, id+2000, b+a)
							fmt.Fprintf(&in, "INSERT INTO t SELECT %d,'%s'; -- %s'\n", id+3000, a+b, a)
						}
					}
					in.WriteString("SET NAMES utf8mb4;\nINSERT INTO t VALUES (9000,'\\\\'),(9001,'\\'');\n")
					s.clear(t)
					if _, said, err := s.client(t, s.Client, []byte(in.String()), "--binary-mode", "--default-character-set="+set, database); err != nil {
						t.Fatal(said, err)
					}
					want := s.content(t)
					for _, small := range []sizes{little, tiny} {
						small.set(t)
						s.clear(t)
						if err := s.load(t.Context(), bytes.NewReader([]byte(in.String()))); err != nil {
							t.Fatal(err)
						}
						if got := s.content(t); got != want {
							t.Errorf("other than by the client (-):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
						}
					}
					last = want
				})
			}
		}
		if !strings.Contains(last, "INSERT INTO") {
			t.Error("there were no rows to compare")
		}
	})
}

// TestTurnsOfOthers: rows wait for a statement that wants their table for itself, and that for rows of another table,
// which are held back until the turn of the first. No server takes that for a deadlock.
func TestTurnsOfOthers(t *testing.T) {
	each(t, func(t *testing.T, s *stand) {
		s.clear(t)
		s.exec(t, "USE d; CREATE TABLE p (a INT PRIMARY KEY) ENGINE=InnoDB; CREATE TABLE q (a INT PRIMARY KEY) ENGINE=InnoDB")
		var one, both *sql.Conn
		for _, c := range []**sql.Conn{&one, &both} {
			var err error
			if *c, err = s.db.Conn(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { (*c).Close() })
		}
		until := func(what, count string, n int) {
			t.Helper()
			for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if got := s.strings(t, count); slices.Equal(got, []string{strconv.Itoa(n)}) {
					return
				} else if time.Now().After(end) {
					t.Fatalf("%s: %s, want %d", what, got, n)
				}
			}
		}
		const waiting = "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata lock%'"
		if _, err := one.ExecContext(t.Context(), "LOCK TABLES d.p WRITE"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		locked, loaded := make(chan error, 1), make(chan error, 1)
		go func() {
			loaded <- s.load(ctx, strings.NewReader("INSERT INTO p VALUES (1);\nINSERT INTO q VALUES (2);\n"))
		}()
		until("one waits for p", waiting, 1)
		time.Sleep(300 * time.Millisecond) // the rows of q are in meanwhile, and held
		go func() {
			_, err := both.ExecContext(ctx, "LOCK TABLES d.p WRITE, d.q WRITE")
			locked <- err
		}()
		until("two wait for p", waiting, 2)
		if _, err := one.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
		if err := <-locked; err != nil {
			t.Fatalf("who wants both tables: %v", err)
		}
		if _, err := both.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
		if err := <-loaded; err != nil {
			t.Error(err)
		}
		if got := s.strings(t, "SELECT a FROM d.p UNION ALL SELECT a FROM d.q"); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("there are %s", got)
		}
	})
}
