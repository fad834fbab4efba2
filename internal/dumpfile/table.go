package dumpfile

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// statements are the words that a dump's first statement may begin with.
var statements = []string{
	"alter", "analyze", "begin", "binlog", "call", "change", "commit", "create", "delete", "delimiter", "do", "drop", "flush", "grant", "handler", "import",
	"insert", "install", "kill", "load", "lock", "optimize", "rename", "repair", "replace", "reset", "revoke", "rollback", "savepoint", "select", "set", "show",
	"start", "table", "truncate", "unlock", "update", "use", "values", "with", "xa",
}

// tableLine is a line of fields that a comma, a semicolon or a tab separates: a word or a quoted text, and then anything
// but what SQL has in its statements.
var tableLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A(\w+|"[^"\n]*")([,;\t])((?:"[^"\n]*"|[^"\n()'` + "`" + `])+)\z`)
})

// isTable says that a text is a table, as CSV is: at least two lines of as many fields each, of which the first is no
// beginning of a statement.
func isTable(begin []byte) bool {
	lines := bytes.SplitN(begin, []byte("\n"), 3)
	if len(lines) < 3 {
		return false
	}
	first := tableLine().FindSubmatch(lines[0])
	if len(first) == 0 || slices.Contains(statements, strings.ToLower(string(first[1]))) {
		return false
	}
	fields := bytes.Count(lines[0], first[2])
	if first[2][0] == ';' && bytes.HasSuffix(lines[0], first[2]) {
		return false
	}
	return bytes.Count(lines[1], first[2]) == fields
}
