package dump

import (
	"bytes"
	"regexp"
	"slices"
)

// StatementClass is what a statement does, as far as it concerns those who send the statements of a
// dump in another order, or by several connections.
type StatementClass struct {
	Kind StatementKind
	// Database and Table are what a statement about one table names; Database is empty if it
	// does not say, and the database itself for StatementUse.
	Database, Table string
	// Chain says that a transaction is open behind a StatementCommit or StatementRollback: AND CHAIN, or TO a savepoint.
	Chain bool
}

// StatementKind is the kind of a statement.
type StatementKind uint8

// The kinds. All that is not understood is StatementOther: it may do anything.
const (
	StatementOther StatementKind = iota
	// StatementRows changes rows of tables, whichever, and nothing else.
	StatementRows
	// StatementSet sets variables of the session to values that any other session has as well.
	StatementSet
	// StatementSetTransactions is one of these that switches autocommit.
	StatementSetTransactions
	StatementUse
	StatementCreateTable
	StatementDropTable
	StatementTrigger // CREATE TRIGGER
	// StatementStoredObject makes or drops what neither has rows nor concerns those of others: views,
	// routines and events.
	StatementStoredObject
	// StatementLock is LOCK TABLES, StatementUnlock UNLOCK TABLES, and StatementKeys ALTER TABLE ... DISABLE or ENABLE KEYS.
	StatementLock
	StatementUnlock
	StatementKeys
	// StatementBegin, StatementCommit and StatementRollback are of transactions; StatementSavepoint sets a savepoint
	// or gives one up.
	StatementBegin
	StatementCommit
	StatementRollback
	StatementSavepoint
	// StatementQuery reads, and changes nothing.
	StatementQuery
	// StatementUnknown may also change the session in a way that cannot be followed.
	StatementUnknown
)

// Classify tells what a statement does that ended with such a delimiter. A text that may be several
// statements is StatementUnknown; only a body of a routine or trigger may have others behind it.
func Classify(text []byte, delimiter string) StatementClass {
	class := classify(text)
	if delimiter == ";" || bytes.IndexByte(text, ';') < 0 || (class.Kind == StatementStoredObject || class.Kind == StatementTrigger) && makes.Match(text) {
		return class
	}
	return StatementClass{Kind: StatementUnknown}
}

// makes matches the beginning of a CREATE.
var makes = regexp.MustCompile(`(?i)^(\s|/\*M?!\d*)*create\b`)

// classify tells what the first statement of a text does.
func classify(text []byte) StatementClass {
	t := tokens{b: text}
	first := t.next()
	if first.kind != tokenWord {
		return StatementClass{Kind: StatementUnknown}
	}
	var low [16]byte
	switch string(lower(&low, first.text)) {
	case "set":
		return StatementClass{Kind: classifySet(text, t)}
	case "use":
		return StatementClass{Kind: StatementUse, Database: t.next().name()}
	case "create", "drop":
		return classifyDefinition(first, &t)
	case "lock", "unlock":
		tok := t.next()
		switch tables := tok.is("tables") || tok.is("table"); {
		case tables && first.is("lock") && t.endsLocks():
			return StatementClass{Kind: StatementLock}
		case tables && first.is("unlock") && t.ends():
			return StatementClass{Kind: StatementUnlock}
		}
	case "alter":
		return classifyAlter(&t)
	case "begin":
		if t.endsOf("work") {
			return StatementClass{Kind: StatementBegin}
		}
		return StatementClass{Kind: StatementUnknown}
	case "start":
		// One that is READ ONLY refuses what changes rows, and must reach the server.
		if t.next().is("transaction") && t.endsOf("with", "consistent", "snapshot", "read", "write") {
			return StatementClass{Kind: StatementBegin}
		}
	case "commit", "rollback":
		return classifyEnd(first, &t)
	case "savepoint":
		if t.next().isName() && t.ends() {
			return StatementClass{Kind: StatementSavepoint}
		}
	case "release":
		if t.next().is("savepoint") && t.next().isName() && t.ends() {
			return StatementClass{Kind: StatementSavepoint}
		}
	case "do":
		if t.next().is("setval") { // of a sequence, as mariadb-dump writes it before the tables
			return StatementClass{}
		}
		return StatementClass{Kind: StatementUnknown}
	case "select", "show", "check", "checksum", "desc", "describe", "explain":
		if bytes.IndexByte(text, '@') < 0 && !containsWord(text, "into") && !containsWord(text, "get_lock") {
			return StatementClass{Kind: StatementQuery}
		}
		return StatementClass{Kind: StatementUnknown}
	case "insert", "replace", "update", "delete", "load":
		if bytes.Contains(text, []byte(":=")) {
			return StatementClass{Kind: StatementUnknown}
		}
		return StatementClass{Kind: StatementRows}
	case "truncate", "rename", "grant", "revoke", "analyze", "optimize", "repair":
		return StatementClass{}
	}
	return StatementClass{Kind: StatementUnknown}
}

// FirstWord returns the word that a statement begins with, "" if it begins with none; a versioned comment is read.
func FirstWord(text []byte) string {
	t := tokens{b: text}
	if tok := t.next(); tok.kind == tokenWord {
		return string(tok.text)
	}
	return ""
}

// containsWord looks for a word, given in lower case, wherever it stands.
func containsWord(text []byte, word string) bool {
	return bytes.Contains(bytes.ToLower(text), []byte(word))
}

// classifySet reads on after SET; text is the whole statement.
func classifySet(text []byte, t tokens) StatementKind {
	for first := true; ; first = false {
		tok := t.next()
		if tok.kind == tokenEnd {
			break
		}
		switch {
		case tok.symbol('('), tok.symbol('\\'):
			return StatementUnknown
		case tok.kind != tokenWord:
		case first && (tok.is("password") || tok.is("resource")):
			return StatementOther
		case first && (tok.is("statement") || tok.is("transaction") || tok.is("role") || tok.is("default")), tok.is("last_insert_id"), tok.is("insert_id"),
			tok.is("identity"), tok.is("warning_count"), tok.is("error_count"):
			return StatementUnknown
		}
	}
	list, global := assignments(text)
	switch {
	case global > 0 && len(list) > 0:
		return StatementUnknown
	case global > 0:
		return StatementOther
	case slices.ContainsFunc(list, func(a Assignment) bool { return a.Name == "autocommit" && !a.User }):
		return StatementSetTransactions
	}
	return StatementSet
}

// classifyEnd reads on after COMMIT or ROLLBACK. One with RELEASE ends the connection as well.
func classifyEnd(first token, t *tokens) StatementClass {
	class := StatementClass{Kind: StatementCommit}
	if first.is("rollback") {
		class.Kind = StatementRollback
	}
	tok := t.next()
	if tok.is("work") {
		tok = t.next()
	}
	if tok.is("to") && class.Kind == StatementRollback {
		tok = t.next()
		if tok.is("savepoint") {
			tok = t.next()
		}
		class.Chain = true
		if tok.isName() && t.ends() {
			return class
		}
		return StatementClass{Kind: StatementUnknown}
	}
	if tok.is("and") {
		tok = t.next()
		if class.Chain = !tok.is("no"); !class.Chain {
			tok = t.next()
		}
		if !tok.is("chain") {
			return StatementClass{Kind: StatementUnknown}
		}
		tok = t.next()
	}
	if tok.is("no") && t.next().is("release") {
		tok = t.next()
	}
	if tok.kind != tokenEnd {
		return StatementClass{Kind: StatementUnknown}
	}
	return class
}

// AsksForLast reports whether a statement uses what its session was told of the statement before it: how many rows
// that changed or found, or what it warned of. Who sends statements otherwise than they stand cannot have that be true.
func AsksForLast(text []byte) bool {
	t := tokens{b: text}
	ats := 0 // how many stand right before
	for first := true; ; first = false {
		tok := t.next()
		switch {
		case tok.kind == tokenEnd:
			return false
		case tok.symbol('@'):
			ats++
			continue
		case ats == 2 && (tok.is("session") || tok.is("local") || tok.symbol('.')):
			continue
		case first && tok.is("get"):
			return true // DIAGNOSTICS
		case first && tok.is("select") && !containsWord(text, "into") && !bytes.Contains(text, []byte(":=")):
			return false // it only shows it
		case tok.is("row_count"), tok.is("found_rows"):
			if t.space(); at(t.b, 0) == '(' {
				return true
			}
		case ats == 2 && (tok.is("warning_count") || tok.is("error_count")):
			return true
		}
		ats = 0
	}
}

// classifyDefinition reads on after CREATE or DROP.
func classifyDefinition(first token, t *tokens) StatementClass {
	for {
		tok := t.next()
		var low [16]byte
		switch {
		case tok.kind == tokenEnd:
			return StatementClass{}
		case tok.kind != tokenWord:
			continue
		}
		switch string(lower(&low, tok.text)) {
		case "temporary":
			return StatementClass{Kind: StatementUnknown} // only the session that makes it has it
		case "view", "procedure", "function", "package", "event":
			return StatementClass{Kind: StatementStoredObject}
		case "table":
			class := StatementClass{Kind: StatementCreateTable}
			if first.is("drop") {
				class.Kind = StatementDropTable
			}
			class.tableName(skipIf(t), t)
			if next := t.next(); first.is("drop") && next.kind != tokenEnd && !next.is("cascade") && !next.is("restrict") {
				return StatementClass{} // several
			}
			return class
		case "trigger":
			if first.is("drop") {
				return StatementClass{}
			}
			return classifyTrigger(t)
		case "or", "replace", "definer", "if", "exists", "not", "algorithm", "undefined", "merge", "temptable", "sql", "security", "invoker", "aggregate":
		case "database", "schema", "index", "unique", "fulltext", "spatial", "sequence", "server", "tablespace", "user", "role":
			return StatementClass{}
		}
	}
}

// classifyTrigger reads on after CREATE ... TRIGGER up to the table.
func classifyTrigger(t *tokens) StatementClass {
	for {
		tok := t.next()
		if tok.kind == tokenEnd {
			return StatementClass{}
		}
		if tok.is("on") {
			class := StatementClass{Kind: StatementTrigger}
			class.tableName(t.next(), t)
			return class
		}
	}
}

// classifyAlter reads on after ALTER.
func classifyAlter(t *tokens) StatementClass {
	if !t.next().is("table") {
		return StatementClass{}
	}
	class := StatementClass{Kind: StatementKeys}
	class.tableName(t.next(), t)
	if verb := t.next(); !verb.is("disable") && !verb.is("enable") || !t.next().is("keys") || t.next().kind != tokenEnd {
		return StatementClass{}
	}
	return class
}

// tableName takes a name, or the one behind it if a dot follows.
func (c *StatementClass) tableName(tok token, t *tokens) {
	c.Table = tok.name()
	if t.afterDot() {
		c.Database, c.Table = c.Table, t.next().name()
	}
}
