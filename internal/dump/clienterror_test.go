package dump

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseClientError(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     ClientError
		ok       bool
	}{
		{"nothing", "", ClientError{}, false},
		{"no error", "Warning: something\n", ClientError{}, false},
		{"syntax", "ERROR 1064 (42000) at line 17: You have an error near 'SELEC' at line 3\n",
			ClientError{17, 1064, "42000", "You have an error near 'SELEC' at line 3"}, true},
		{"statement echoed", "--------------\nSELEC '\nERROR 1 (00000) at line 9: x'\n--------------\n\nERROR 1064 (42000) at line 1: You have an error near 'SELEC\n1' at line 1\n",
			ClientError{1, 1064, "42000", "You have an error near 'SELEC\n1' at line 1"}, true},
		{"of the client", "ERROR at line 3: Unknown command '\\x'.\n", ClientError{Line: 3, Msg: `Unknown command '\x'.`}, true},
		{"no connection", "ERROR 2002 (HY000): Can't connect to local server\n", ClientError{0, 2002, "HY000", "Can't connect to local server"}, true},
		{"in a file", "ERROR 1146 (42S02) at line 2 in file: 'a.sql': Table 't' doesn't exist\n", ClientError{2, 1146, "42S02", "Table 't' doesn't exist"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := ParseClientError(c.in)
			if d := cmp.Diff(c.want, got); d != "" || ok != c.ok {
				t.Error(ok, d)
			}
		})
	}
}

func TestStatementAt(t *testing.T) {
	const text = "-- head\n\nCREATE TABLE t (\n  a int,\n  b int\n);\n" + // lines 3 to 6
		"DELIMITER ;;\nCREATE PROCEDURE p()\nBEGIN\n  SELECT 1;\nEND ;;\nDELIMITER ;\n" + // 8 to 11
		"SELECT 1,\n 2; SELEC\n 3; SELECT 4;\n" + // 13, and twice more by the client's count
		"-- c\nINSERT INTO t VALUES ('a\n" // 17, cut short
	p := filepath.Join(t.TempDir(), "x.sql.gz")
	if err := os.WriteFile(p, gzipped(t, text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line int
		want string
	}{
		{3, "CREATE TABLE t (\n  a int,\n  b int\n)"},
		{5, "CREATE TABLE t (\n  a int,\n  b int\n)"},
		{8, "CREATE PROCEDURE p()\nBEGIN\n  SELECT 1;\nEND"},
		{13, "SELECT 1,\n 2\nSELEC\n 3\nSELECT 4"},
		{17, "INSERT INTO t VALUES ('a"},
		{18, "INSERT INTO t VALUES ('a"},
	} {
		got, err := StatementAt(p, c.line)
		if err != nil {
			t.Errorf("line %d: %v", c.line, err)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("line %d: %s", c.line, d)
		}
	}
	if _, err := StatementAt(p, 1); err == nil || !strings.Contains(err.Error(), "no statement is in this line") {
		t.Errorf("line 1: %v", err)
	}
}
