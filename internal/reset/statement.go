package reset

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// effect is what a statement that was logged as text can have done.
type effect int

const (
	// unknown is anything at all.
	unknown effect = iota
	// harmless leaves every database as it was.
	harmless
	// structural changes the shape of what it names, and can replace its rows.
	structural
	// wide is about the whole instance: accounts, rights, plugins.
	wide
	// database makes or removes a whole database.
	database
	// Those that follow belong to transactions.
	begin
	commit
	rollback
	savepoint
	rollbackTo
	xaCommit
	xaRollback
	xaOther
)

// effects are by the first words of a statement, longest first. What has none of them is
// unknown.
var effects = []struct {
	words  string
	effect effect
}{
	{"ROLLBACK TO", rollbackTo}, {"ROLLBACK", rollback}, {"BEGIN", begin}, {"START TRANSACTION", begin}, {"COMMIT", commit},
	{"SAVEPOINT", savepoint}, {"RELEASE SAVEPOINT", savepoint}, {"XA COMMIT", xaCommit}, {"XA ROLLBACK", xaRollback}, {"XA", xaOther},

	{"ALTER USER", wide}, {"CREATE USER", wide}, {"CREATE OR REPLACE USER", wide}, {"DROP USER", wide}, {"RENAME USER", wide},
	{"CREATE ROLE", wide}, {"CREATE OR REPLACE ROLE", wide}, {"DROP ROLE", wide}, {"SET DEFAULT ROLE", wide}, {"SET PASSWORD", wide}, {"SET ROLE", wide},
	{"GRANT", wide}, {"REVOKE", wide}, {"ALTER INSTANCE", wide}, {"SET GLOBAL", wide}, {"SET PERSIST", wide},
	{"INSTALL", wide}, {"UNINSTALL", wide}, {"CREATE SERVER", wide}, {"CREATE OR REPLACE SERVER", wide}, {"ALTER SERVER", wide}, {"DROP SERVER", wide},
	{"CREATE TABLESPACE", wide}, {"ALTER TABLESPACE", wide}, {"DROP TABLESPACE", wide}, {"CREATE UNDO", wide}, {"ALTER UNDO", wide}, {"DROP UNDO", wide},
	{"CREATE RESOURCE", wide}, {"ALTER RESOURCE", wide}, {"DROP RESOURCE", wide}, {"CREATE SPATIAL REFERENCE", wide}, {"DROP SPATIAL REFERENCE", wide},

	{"CREATE DATABASE", database}, {"CREATE OR REPLACE DATABASE", database}, {"DROP DATABASE", database},
	{"CREATE SCHEMA", database}, {"CREATE OR REPLACE SCHEMA", database}, {"DROP SCHEMA", database},

	{"CREATE TEMPORARY", harmless}, {"CREATE OR REPLACE TEMPORARY", harmless}, {"DROP TEMPORARY", harmless},
	{"SET STATEMENT", unknown}, // MariaDB: SET STATEMENT ... FOR any other

	{"ANALYZE", harmless}, {"OPTIMIZE", harmless}, {"FLUSH", harmless}, {"CHECK", harmless}, {"SET", harmless},
	{"CREATE", structural}, {"ALTER", structural}, {"DROP", structural}, {"RENAME", structural}, {"TRUNCATE", structural}, {"REPAIR", harmless},
}

// effectOf tells what a statement can have done by its first words.
func effectOf(sql string) effect {
	effect := effectOfWords(firstWords(sql, 4))
	// Not every server takes what stands in a comment for a newer one.
	if bare := withoutNewer(sql); bare != sql && effectOfWords(firstWords(bare, 4)) != effect {
		return unknown
	}
	return effect
}

// newer is a comment that some servers that are supported execute and others do not:
// MariaDB passes over those for MySQL from 5.7 on.
// https://mariadb.com/kb/en/comment-syntax/
var newer = regexp.MustCompile(`(?s)/\*(?:M!|!(?:50[7-9]|5[1-9]|[6-9]|\d{6})).*?\*/`)

func withoutNewer(sql string) string {
	if !strings.Contains(sql, "/*") {
		return sql
	}
	return newer.ReplaceAllString(sql, " ")
}

func effectOfWords(words string) effect {
	for _, e := range effects {
		if words == e.words || strings.HasPrefix(words, e.words+" ") {
			return e.effect
		}
	}
	return unknown
}

// firstWords returns the first words of a statement in upper case with a space between,
// without comments. What stands in a versioned comment counts: a server writes DROP /*!40005
// TEMPORARY */ TABLE.
func firstWords(sql string, most int) string {
	var words []string
	for len(words) < most {
		sql = strings.TrimLeftFunc(sql, unicode.IsSpace)
		switch {
		case strings.HasPrefix(sql, "/*!"), strings.HasPrefix(sql, "/*M!"):
			sql = strings.TrimLeft(sql[strings.Index(sql, "!")+1:], "0123456789")
			continue
		case strings.HasPrefix(sql, "/*"):
			_, rest, _ := strings.Cut(sql[2:], "*/")
			sql = rest
			continue
		case strings.HasPrefix(sql, "*/"):
			sql = sql[2:]
			continue
		case strings.HasPrefix(sql, "#"), strings.HasPrefix(sql, "-- "), strings.HasPrefix(sql, "--\n"), strings.HasPrefix(sql, "--\t"):
			_, rest, _ := strings.Cut(sql, "\n")
			sql = rest
			continue
		}
		n := strings.IndexFunc(sql, func(r rune) bool { return !unicode.IsLetter(r) })
		if n < 0 {
			n = len(sql)
		}
		if n == 0 {
			break
		}
		words = append(words, strings.ToUpper(sql[:n]))
		sql = sql[n:]
	}
	return strings.Join(words, " ")
}

// mention is a name in a statement, in lower case. It qualifies what follows if a dot
// comes next, or what may hide one.
type mention struct {
	text      string
	qualifies bool
}

// names returns every name that a statement can mention: whatever stands behind a quote,
// and every run of characters that a name may have without quotes, wherever it stands. They
// are more than there are, never fewer: a quote may be one of a comment or a string and
// open nothing, so that each counts as one that opens.
func names(sql string) []mention {
	var list []mention
	add := func(text, rest string) {
		list = append(list, mention{strings.ToLower(text), dotted(rest)})
	}
	for len(sql) > 0 {
		r, size := utf8.DecodeRuneInString(sql)
		switch {
		case r == '`' || r == '"' || r == '[':
			if text, n := quotedName(sql); n > 0 {
				add(text, sql[n:])
			}
			sql = sql[size:]
		case plain(r):
			n := strings.IndexFunc(sql, func(r rune) bool { return !plain(r) })
			if n < 0 {
				n = len(sql)
			}
			// It may be a name in quotes of the statement's own.
			add(sql[:n], strings.TrimLeft(sql[n:], "`\"]"))
			sql = sql[n:]
		default:
			sql = sql[size:]
		}
	}
	return list
}

// dotted reports whether a dot comes first, but for comments. One that some server executes
// may have it inside.
func dotted(sql string) bool {
	for {
		sql = strings.TrimLeftFunc(sql, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		switch {
		case strings.HasPrefix(sql, "/*!"), strings.HasPrefix(sql, "/*M!"):
			return true
		case strings.HasPrefix(sql, "*/"):
			sql = sql[2:]
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql[2:], "*/")
		case strings.HasPrefix(sql, "#"), strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		default:
			return strings.HasPrefix(sql, ".")
		}
	}
}

// altersDatabase reports whether a statement names a database without a dot.
func altersDatabase(sql string) bool {
	words := firstWords(sql, 2)
	return words == "ALTER DATABASE" || words == "ALTER SCHEMA"
}

// plain reports whether a name may have r without quotes. Bytes of another character set
// count.
// https://dev.mysql.com/doc/refman/8.4/en/identifiers.html
func plain(r rune) bool {
	return r == '_' || r == '$' || r >= utf8.RuneSelf || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// longestName is more than a name has, in bytes: 64 characters, of which MySQL and MariaDB
// take those of up to three bytes.
const longestName = 64 * 4

// quotedName returns the name behind the quote that sql begins with, and the length of both
// quotes and it, or 0. Brackets are quotes to MariaDB in one of its modes.
func quotedName(sql string) (name string, length int) {
	quote := sql[0]
	if quote == '[' {
		quote = ']'
	}
	var b strings.Builder
	for i := 1; i < len(sql) && b.Len() <= longestName; i++ {
		switch {
		case sql[i] != quote:
			b.WriteByte(sql[i])
		case i+1 < len(sql) && sql[i+1] == quote:
			b.WriteByte(quote)
			i++
		default:
			return b.String(), i + 1
		}
	}
	return "", 0
}

func isASCII(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// speaksUTF8 reports whether the statements of a client with this collation are in UTF-8.
// Those from 2048 on are MariaDB's for Unicode, and a client cannot have its other forms.
// https://mariadb.com/kb/en/supported-character-sets-and-collations/
func speaksUTF8(collation uint16) bool {
	for _, r := range [][2]uint16{
		{33, 33}, {45, 46}, {76, 76}, {83, 83}, {192, 215}, {223, 247}, {254, 323}, {576, 578}, {608, 610},
		{1057, 1057}, {1069, 1070}, {1107, 1107}, {1216, 1216}, {1238, 1238}, {1248, 1248}, {1270, 1270}, {2048, 4095},
	} {
		if r[0] <= collation && collation <= r[1] {
			return true
		}
	}
	return false
}
