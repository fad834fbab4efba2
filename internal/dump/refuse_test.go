package dump

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// refusals are inputs and how the error for them begins.
var refusals = []struct{ name, in, want string }{
	{"system", "SELECT 1;\nsystem rm -rf /;\n", `x.sql:2: client command "system" is not executed in dumps` + "\n  system rm -rf /;\nhint: remove the line"},
	{"system without delimiter", "SELECT 1;\n\n  SYSTEM ls\n", `x.sql:3: client command "SYSTEM" is not executed`},
	{"system after a comment", "/* c */ system ls;", `x.sql:1: client command "system" is not`},
	{"system mid-line", "SELECT 1; system ls;", `x.sql:1: client command "system" is not`},
	{"source", "source other.sql", `x.sql:1: client command "source" is not`},
	{"exit alone", "exit\nSELECT 1;", `x.sql:1: client command "exit" is not`},
	{"quit with delimiter", "DELIMITER //\nquit//", `x.sql:2: client command "quit" is not`},
	{"help sign", "?\n", `x.sql:1: client command "?" is not`},
	{"shell", "SELECT 1;\n\\! ls\n", `x.sql:2: client command "\!" is not executed in dumps`},
	{"backslash within", "SELECT 1\n\\. foo;\n", `x.sql:2: client command "\." is not`},
	{"charset", "\\C gbk\nSELECT 1;", `x.sql:1: client command "\C" is not`},
	{"go", "SELECT 1\\g", `x.sql:1: client command "\g" is not`},
	{"backslash in versioned comment", "/*!50003 \\! ls */;", `x.sql:1: client command "\!" is not`},
	{"sandbox by hand", "\\-\nSELECT 1;", `x.sql:1: client command "\-" is not`},
	{"delimiter mid-line", "SELECT 1; DELIMITER //\n", "x.sql:1: DELIMITER is not at the start of a line"},
	{"delimiter after sandbox", "/*!999999\\- enable the sandbox mode */\nDELIMITER //\n", "x.sql:2: DELIMITER is not at the start of a line"},
	{"delimiter without one", "SELECT 1;\nDELIMITER\n", "x.sql:2: DELIMITER is not followed by a delimiter"},
	{"delimiter run together", "DELIMITER;;\n", "x.sql:1: DELIMITER is not followed by a delimiter"},
	{"delimiter in half a quote", "DELIMITER '//\n", "x.sql:1: DELIMITER is followed by a quote that does not end"},
	{"delimiter with NUL", "DELIMITER\x00 //\n", "x.sql:1: DELIMITER is not followed by a delimiter"},
	{"delimiter with backslash", "DELIMITER \\\\\n", "x.sql:1: the delimiter has a backslash in it"},
	{"delimiter too long", "DELIMITER 0123456789abcdef\n", "x.sql:1: the delimiter is longer than the 15 bytes"},
	{"delimiter not ASCII", "DELIMITER §\n", "x.sql:1: the delimiter is not plain ASCII"},
	{"NUL outside quotes", "SELECT 1;\n\x00SELECT 2;", "x.sql:2: there is a NUL byte outside quotes"},
	{"NUL in code", "SELECT\n \x00 2;", "x.sql:2: there is a NUL byte outside quotes"},
	{"ends in a string", "SELECT 1;\nSELECT\n 'a\nb;\n", "x.sql:3: the dump ends in the middle of a string that begins in this line"},
	{"ends after a backslash", "SELECT 'a\\", "x.sql:1: the dump ends in the middle of a string"},
	{"ends in a name", "SELECT `a;\n", "x.sql:1: the dump ends in the middle of a quoted name"},
	{"ends in a comment", "SELECT 1;\n/* a\n", "x.sql:2: the dump ends in the middle of a comment"},
	{"mysqldump cut short", "-- MySQL dump 10.13\nSELECT 1;\nSELECT 2;\n", "x.sql:4: the dump is cut short"},
	{"mariadb-dump cut short", "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n", "x.sql:3: the dump is cut short"},
	{"second dump cut short", "-- MySQL dump 10\n-- Dump completed on x\n-- MySQL dump 10\nSELECT 1;", "x.sql:4: the dump is cut short"},
	{"first dump cut short", "-- MySQL dump 10\n\n-- MySQL dump 10\n-- Dump completed\n", "x.sql:3: the dump is cut short"},
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range append(refusals, []struct{ name, in, want string }{
		{"USE without delimiter, and a comment", "SELECT 1;\nuse shop -- x\nSELECT 2;\n", "x.sql:2: USE has no delimiter at the end of its line"},
		{"USE without delimiter", "SELECT 1;\nuse shop\nSELECT 2;\n", "x.sql:2: USE has no delimiter at the end of its line"},
	}...) {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			before := "SELECT 'before';\n"
			_, err := Check(&out, strings.NewReader(c.in), Options{File: "x.sql"})
			var fault *Error
			if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), c.want) {
				t.Fatalf("error = %v, want %s", err, c.want)
			}
			if len(fault.Statement) > MaxHead || !utf8.ValidString(fault.Statement) || strings.ContainsAny(fault.Statement, "\n\x00") {
				t.Errorf("statement is not fit to show: %q", fault.Statement)
			}
			if out.Len() > 0 {
				t.Errorf("passed on %q", out.String())
			}
			// The same in a buffer that the input does not fit in: what is passed on
			// then must hold nothing of the refused statement.
			out.Reset()
			_, err = Check(&out, iotest.OneByteReader(strings.NewReader(strings.Repeat(before, 500)+c.in)), Options{Buffer: 1})
			if err == nil {
				t.Fatal("no error in a small buffer")
			}
			if n := out.Len() - 500*len(before); n > len(c.in)-1 || strings.Contains(out.String(), "rm -rf") || strings.Contains(out.String(), "\\") {
				t.Errorf("passed on %q", out.String()[500*len(before):])
			}
		})
	}
}

func TestErrorShowsStatement(t *testing.T) {
	_, err := Check(&bytes.Buffer{}, strings.NewReader("INSERT  INTO\n t VALUES (\x01\xff\\! ls"), Options{File: "shop.sql"})
	var fault *Error
	if !errors.As(err, &fault) {
		t.Fatalf("error = %v", err)
	}
	if d := cmp.Diff("INSERT INTO t VALUES (\uFFFD\uFFFD", fault.Statement); d != "" {
		t.Error(d)
	}
	if fault.Line != 2 || fault.File != "shop.sql" {
		t.Errorf("at %s:%d", fault.File, fault.Line)
	}
}
