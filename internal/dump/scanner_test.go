package dump

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scanned is what a Scanner said of one statement, kept.
type scanned struct {
	Text          string
	Line, EndLine int
	Offset        int64
	Delimiter     string
}

func scan(r io.Reader) (all []scanned, err error) {
	s := &Scanner{f: newSplitter(r, "x.sql", minBuffer, nil)} // small, so that it has to move and grow
	for {
		st, err := s.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, scanned{string(st.Text), st.Line, st.EndLine, st.Offset, st.Delimiter})
	}
}

func texts(all []scanned) []string {
	out := []string{}
	for _, s := range all {
		out = append(out, s.Text)
	}
	return out
}

// splits are inputs and the statements in them; the client agrees on every one,
// see TestClientAgrees.
var splits = []struct {
	name, in string
	want     []string
}{
	{"empty", "", nil},
	{"one", "SELECT 1;", []string{"SELECT 1"}},
	{"no delimiter at the end", "SELECT 1;\nSELECT 2\n", []string{"SELECT 1", "SELECT 2"}},
	{"several in a line", "SELECT 1;SELECT 2; SELECT 3;", []string{"SELECT 1", "SELECT 2", "SELECT 3"}},
	{"empty statements", ";;\n;\nSELECT 1;;;", []string{"SELECT 1"}},
	{"delimiter in strings", `SELECT ';', ";", 1 AS ";" ;`, []string{`SELECT ';', ";", 1 AS ";" `}},
	{"delimiter in name", "SELECT 1 AS `a;b`;SELECT 2;", []string{"SELECT 1 AS `a;b`", "SELECT 2"}},
	{"backslash escapes", `SELECT 'a\'b;', "a\"b;", '\\';SELECT 2;`, []string{`SELECT 'a\'b;', "a\"b;", '\\'`, "SELECT 2"}},
	{"doubled quotes", `SELECT 'a''b;', "a""b;", '''';SELECT 2;`, []string{`SELECT 'a''b;', "a""b;", ''''`, "SELECT 2"}},
	{"backslash in name", "SELECT 1 AS `a\\`;SELECT 2;", []string{"SELECT 1 AS `a\\`", "SELECT 2"}},
	{"no backslash escapes", `SET sql_mode='NO_BACKSLASH_ESCAPES';SELECT 'a\';SET SESSION sql_mode='';SELECT 'a\';';`,
		[]string{`SET sql_mode='NO_BACKSLASH_ESCAPES'`, `SELECT 'a\'`, `SET SESSION sql_mode=''`, `SELECT 'a\';'`}},
	{"sql_mode put back", "/*!50003 SET @saved = @@sql_mode */ ;\n/*!50003 SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI' */ ;\n" +
		"SELECT 'a\\';\nSET sql_mode = @saved ;\nSELECT 'a\\';';",
		[]string{"/*!50003 SET @saved = @@sql_mode */ ", "/*!50003 SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI' */ ",
			"SELECT 'a\\'", "SET sql_mode = @saved ", "SELECT 'a\\';'"}},
	{"dash comments", "-- a;\nSELECT 1 -- b; '\n, 2;--\tc\n--d\nSELECT 1--2;", []string{"SELECT 1 -- b; '\n, 2", "SELECT 1--2"}},
	{"hash comments", "# it's;\nSELECT 1 # b; '\n, 2;#", []string{"SELECT 1 # b; '\n, 2"}},
	{"block comments", "/* it's; */ SELECT 1 /* b; ' */, 2;/**/", []string{"SELECT 1 /* b; ' */, 2"}},
	{"comment of slash star slash", "SELECT /*/ 1; */ 2;", []string{"SELECT /*/ 1; */ 2"}},
	{"versioned comment", "/*!40101 SET NAMES utf8 */;\n/*M!100100 SELECT ';' */;",
		[]string{"/*!40101 SET NAMES utf8 */", "/*M!100100 SELECT ';' */"}},
	{"comment in versioned comment", "/*!50001 SELECT 1\n /* ; */ + 2 */;SELECT 3;",
		[]string{"/*!50001 SELECT 1\n /* ; */ + 2 */", "SELECT 3"}},
	{"delimiter command", "DELIMITER ;;\nSELECT 1;;\ndelimiter ;\nSELECT 2;", []string{"SELECT 1", "SELECT 2"}},
	{"delimiter with more behind", "  DeLiMiTeR $$ -- x ; $$\nSELECT 1$$SELECT 2$$", []string{"SELECT 1", "SELECT 2"}},
	{"delimiter in quotes", "DELIMITER '//'\nSELECT 1//", []string{"SELECT 1"}},
	{"delimiter as a word", "DELIMITER go\nSELECT 1 go SELECT 'go' go", []string{"SELECT 1 ", "SELECT 'go' "}},
	{"delimiter not at a start", "SELECT 1 AS\ndelimiter ;SELECT 2;", []string{"SELECT 1 AS\ndelimiter ", "SELECT 2"}},
	{"CRLF", "DELIMITER ;;\r\nSELECT 1;;\r\nDELIMITER ;\r\nSELECT\r\n2;\r\n", []string{"SELECT 1", "SELECT\r\n2"}},
	{"binary bytes", "SELECT _binary 'a\x00\xff\x80\\'\x1a;', 0xFF, x'00';SELECT 2;",
		[]string{"SELECT _binary 'a\x00\xff\x80\\'\x1a;', 0xFF, x'00'", "SELECT 2"}},
	{"null of old dumps", `SELECT \N;`, []string{`SELECT \N`}},
	{"Ctrl-Z at the end", "SELECT 1;\n\x1a", []string{"SELECT 1"}},
	{"sandbox", "/*M!999999\\- enable the sandbox mode */ \n-- x\nSELECT 1;", []string{"SELECT 1"}},
	{"words of commands inside", "SELECT 1 AS\nsource,\n2 AS\nsystem ;HELP 'contents';", []string{"SELECT 1 AS\nsource,\n2 AS\nsystem ", "HELP 'contents'"}},
}

func TestScannerSplits(t *testing.T) {
	for _, c := range splits {
		t.Run(c.name, func(t *testing.T) {
			all, err := scan(strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(append([]string{}, c.want...), texts(all)); d != "" {
				t.Error(d)
			}
			for _, s := range all {
				if !strings.HasPrefix(c.in[s.Offset:], s.Text) {
					t.Errorf("offset %d does not point to %q", s.Offset, s.Text)
				}
			}
		})
	}
}

func TestScannerLines(t *testing.T) {
	for _, c := range []struct {
		name, in   string
		statements int
	}{
		{"first line", "SELECT 1;\n\n-- c\nSELECT 1,\n2,\nfoo;\n", 2},
		{"versioned", "/*!50003 SELECT 1 */;\n\n/*!50003\nSELEC 2\n */;\n", 2},
		{"after a block comment", "/* a\n b */\n/* c\nd */ SELEC 1;\n", 1},
		{"shares a line", "SELECT 1,\n 2; SELEC\n 3;\n", 2},
		{"a newline between", "SELECT 1,\n 2; \n\n SELEC\n 3;\n", 2},
		{"a comment between", "SELECT 1,\n 2; -- c\n  SELEC\n 3;\n", 2},
		{"delimiter", "SELECT 1;\nDELIMITER ;;\nCREATE PROCEDURE t.p()\nBEGIN\n SELEC 1;\nEND ;;\n", 2},
		{"empty statements", "SELECT 1;\n;\nSELECT 1,\n2;; ; SELEC 2;", 3},
		{"sandbox", "/*M!999999\\- enable the sandbox mode */ \n-- x\n\nSELEC 1;\nSELECT 1;", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := scan(strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range all {
				if want := 1 + strings.Count(c.in[:s.Offset], "\n"); s.Line != want {
					t.Errorf("line of %q = %d, want %d", s.Text, s.Line, want)
				}
				if want := s.Line + strings.Count(s.Text, "\n"); s.EndLine != want {
					t.Errorf("end line of %q = %d, want %d", s.Text, s.EndLine, want)
				}
			}
			if len(all) != c.statements {
				t.Errorf("%d statements, want %d", len(all), c.statements)
			}
		})
	}
}

func TestScannerRefuses(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			_, err := scan(strings.NewReader(c.in))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("error = %v, want %s", err, c.want)
			}
		})
	}
}

func TestScannerLargeStatement(t *testing.T) {
	long := "INSERT INTO t VALUES ('" + strings.Repeat("a;b\\'", 1<<20) + "')"
	all, err := scan(strings.NewReader("SELECT 1;\n" + long + ";SELECT 2;"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 || all[1].Text != long {
		t.Errorf("got %d statements", len(all))
	}
}

func TestIndexQuote(t *testing.T) {
	b := bytes.Repeat([]byte{0x80, 'a', 0xff, '&', '(', ']', '[', 0}, 5)
	for i := range b {
		for _, c := range []byte{'\'', '\\'} {
			was := b[i]
			b[i] = c
			if got := indexQuote(b, '\'', true); got != i {
				t.Errorf("index of %q at %d = %d", c, i, got)
			}
			b[i] = was
		}
	}
	if got := indexQuote(b, '\'', true); got != -1 {
		t.Errorf("index in none = %d", got)
	}
}
