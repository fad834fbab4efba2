package dump_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// TestNotices has what dumpers say among the statements.
func TestNotices(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		statements int
		notice     string
		fault      string
	}{
		{"a warning first", "mysqldump: [Warning] Using a password on the command line interface can be insecure.\n-- MySQL dump\nSELECT 1;\n-- Dump completed\n", 1, "mysqldump: [Warning] Using a password on the command line interface can be insecure.", ""},
		{"an older one", "Warning: Using a password; it's insecure.\nSELECT 1;\n", 1, "Warning: Using a password; it's insecure.", ""},
		{"of another name", "/usr/bin/mysqldump: Deprecated program name. use '/usr/bin/mariadb-dump' instead\nSELECT 1;\n", 1, "/usr/bin/mysqldump: Deprecated program name. use '/usr/bin/mariadb-dump' instead", ""},
		{"a prompt", "Enter password: \nSELECT 1;\nSELECT 2;\n", 2, "Enter password:", ""},
		{"in the middle", "SELECT 1;\nmysqldump: [Warning] x\nSELECT 2;\n", 2, "mysqldump: [Warning] x", ""},
		{"tablespaces", "SELECT 1;\nmysqldump: Error: 'Access denied; you need (at least one of) the PROCESS privilege(s) for this operation' when trying to dump tablespaces\nSELECT 2;\n", 2, "mysqldump: Error: 'Access denied; you need (at least one of) the PROCESS privilege(s) for this operation' when trying to dump tablespaces", ""},
		{"a failure", "SELECT 1;\nmysqldump: Got error: 1449: The user does not exist when using LOCK TABLES\n", 1, "", "x.sql:2: the program that wrote the dump has failed"},
		{"within a statement", "SELECT\nmysqldump: x;\n", 1, "", ""},
		{"not first in its line", "SELECT 1; mysqldump: x;\n", 2, "", ""},
		{"in a string", "SELECT '\nmysqldump: Got error: x';\n", 1, "", ""},
	} {
		s := dump.NewScanner(strings.NewReader(tt.text), "x.sql")
		n := 0
		_, err := s.Next()
		for ; err == nil; _, err = s.Next() {
			n++
		}
		if errors.Is(err, io.EOF) != (tt.fault == "") || tt.fault != "" && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := strings.Join(s.Summary().Notices, "|"); n != tt.statements || got != tt.notice {
			t.Errorf("%s: %d statements, notices %q", tt.name, n, got)
		}
	}
}

// TestContinuedLines has lines that end in a backslash, which the client leaves out, as in the schemas of kea.
func TestContinuedLines(t *testing.T) {
	for text, want := range map[string]string{
		"INSERT INTO t VALUES (1, \\\n 2);\n":               "INSERT INTO t VALUES (1, \n 2)",
		"SELECT 1 \\\r\n+ 1;\n":                             "SELECT 1 \r\n+ 1",
		"SELECT 'a\\\nb', \\\n1;\n":                         "SELECT 'a\\\nb', \n1",
		"SELECT 1 /* \\\n */ \\\n+ 1 -- \\\n + 1;\n":        "SELECT 1 /* \\\n */ \n+ 1 -- \\\n + 1",
		"SELECT `a\\\n`, \\\n1; SELECT 2;\n":                "SELECT `a\\\n`, \n1",
		"SELECT 1 \\":                                       "SELECT 1 ",
		"INSERT INTO t VALUES (1),\\\n(2);\nSELECT '\\\n';": "INSERT INTO t VALUES (1),\n(2)",
	} {
		s := dump.NewScanner(strings.NewReader(text), "x.sql")
		s.ByRows()
		st, err := s.Next()
		if err != nil || string(st.Text)+string(st.Rows) != want {
			t.Errorf("%q: %q%q, %v", text, st.Text, st.Rows, err)
		}
	}
	if _, err := dump.NewScanner(strings.NewReader("SELECT 1 \\g"), "x.sql").Next(); err == nil {
		t.Error("a client command is a statement")
	}
}
