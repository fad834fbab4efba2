package dump

import (
	"bytes"
	"regexp"
	"slices"
)

// Deed is what a statement does, as far as it concerns those who send the statements of a
// dump in another order, or by several connections.
type Deed struct {
	Kind DeedKind
	// Database and Table are what a statement about one table names; Database is empty if it
	// does not say, and the database itself for DeedUse.
	Database, Table string
}

// DeedKind is a kind of Deed.
type DeedKind uint8

// The kinds. All that is not understood is DeedOther: it may do anything.
const (
	DeedOther DeedKind = iota
	// DeedRows changes rows of tables, whichever, and nothing else.
	DeedRows
	// DeedSet sets variables of the session to values that any other session has as well.
	DeedSet
	// DeedSetTransactions is one of these that switches autocommit.
	DeedSetTransactions
	DeedUse
	DeedCreateTable
	DeedDropTable
	DeedTrigger // CREATE TRIGGER
	// DeedAside makes or drops what neither has rows nor concerns those of others: views,
	// routines and events.
	DeedAside
	// DeedLock is LOCK TABLES and UNLOCK TABLES, DeedKeys ALTER TABLE ... DISABLE or ENABLE KEYS.
	DeedLock
	DeedKeys
	// DeedBegin, DeedCommit and DeedRollback are of transactions.
	DeedBegin
	DeedCommit
	DeedRollback
	// DeedQuery reads, and changes nothing.
	DeedQuery
	// DeedMystery may also change the session in a way that cannot be followed.
	DeedMystery
)

// DeedOf tells what a statement does that ended with such a delimiter. A text that may be several
// statements is DeedMystery; only a body of a routine or trigger may have others behind it.
func DeedOf(text []byte, delimiter string) Deed {
	d := deedOf(text)
	if delimiter == ";" || bytes.IndexByte(text, ';') < 0 || (d.Kind == DeedAside || d.Kind == DeedTrigger) && makes.Match(text) {
		return d
	}
	return Deed{Kind: DeedMystery}
}

// makes matches the beginning of a CREATE.
var makes = regexp.MustCompile(`(?i)^(\s|/\*M?!\d*)*create\b`)

// deedOf tells what the first statement of a text does.
func deedOf(text []byte) Deed {
	t := tokens{b: text}
	first := t.next()
	if first.kind != tokenWord {
		return Deed{Kind: DeedMystery}
	}
	var low [16]byte
	switch string(lower(&low, first.text)) {
	case "set":
		return Deed{Kind: setDeed(text, t)}
	case "use":
		return Deed{Kind: DeedUse, Database: t.next().name()}
	case "create", "drop":
		return made(first, &t)
	case "lock", "unlock":
		if tok := t.next(); tok.is("tables") || tok.is("table") {
			return Deed{Kind: DeedLock}
		}
	case "alter":
		return altered(&t)
	case "begin":
		if tok := t.next(); tok.kind == tokenEnd || tok.is("work") {
			return Deed{Kind: DeedBegin}
		}
		return Deed{Kind: DeedMystery}
	case "start":
		if t.next().is("transaction") {
			return Deed{Kind: DeedBegin}
		}
	case "commit", "rollback":
		if tok := t.next(); tok.kind != tokenEnd && (!tok.is("work") || t.next().kind != tokenEnd) {
			return Deed{Kind: DeedMystery} // AND CHAIN, TO a savepoint
		}
		if first.is("rollback") {
			return Deed{Kind: DeedRollback}
		}
		return Deed{Kind: DeedCommit}
	case "do":
		if t.next().is("setval") { // of a sequence, as mariadb-dump writes it before the tables
			return Deed{}
		}
		return Deed{Kind: DeedMystery}
	case "select", "show", "check", "checksum", "desc", "describe", "explain":
		if bytes.IndexByte(text, '@') < 0 && !containsWord(text, "into") && !containsWord(text, "get_lock") {
			return Deed{Kind: DeedQuery}
		}
		return Deed{Kind: DeedMystery}
	case "insert", "replace", "update", "delete", "load":
		if bytes.Contains(text, []byte(":=")) {
			return Deed{Kind: DeedMystery}
		}
		return Deed{Kind: DeedRows}
	case "truncate", "rename", "grant", "revoke", "analyze", "optimize", "repair":
		return Deed{}
	}
	return Deed{Kind: DeedMystery}
}

// containsWord looks for a word, given in lower case, wherever it stands.
func containsWord(text []byte, word string) bool {
	return bytes.Contains(bytes.ToLower(text), []byte(word))
}

// setDeed reads on after SET; text is the whole statement.
func setDeed(text []byte, t tokens) DeedKind {
	for first := true; ; first = false {
		tok := t.next()
		if tok.kind == tokenEnd {
			break
		}
		switch {
		case tok.symbol('('), tok.symbol('\\'):
			return DeedMystery
		case tok.kind != tokenWord:
		case first && (tok.is("password") || tok.is("resource")):
			return DeedOther
		case first && (tok.is("statement") || tok.is("transaction") || tok.is("role") || tok.is("default")), tok.is("last_insert_id"), tok.is("insert_id"):
			return DeedMystery
		}
	}
	list, global := assignments(text)
	switch {
	case global > 0 && len(list) > 0:
		return DeedMystery
	case global > 0:
		return DeedOther
	case slices.ContainsFunc(list, func(a Assignment) bool { return a.Name == "autocommit" && !a.User }):
		return DeedSetTransactions
	}
	return DeedSet
}

// made reads on after CREATE or DROP.
func made(first token, t *tokens) Deed {
	for {
		tok := t.next()
		var low [16]byte
		switch {
		case tok.kind == tokenEnd:
			return Deed{}
		case tok.kind != tokenWord:
			continue
		}
		switch string(lower(&low, tok.text)) {
		case "temporary":
			return Deed{Kind: DeedMystery} // only the session that makes it has it
		case "view", "procedure", "function", "package", "event":
			return Deed{Kind: DeedAside}
		case "table":
			d := Deed{Kind: DeedCreateTable}
			if first.is("drop") {
				d.Kind = DeedDropTable
			}
			d.tableName(skipIf(t), t)
			if next := t.next(); first.is("drop") && next.kind != tokenEnd && !next.is("cascade") && !next.is("restrict") {
				return Deed{} // several
			}
			return d
		case "trigger":
			if first.is("drop") {
				return Deed{}
			}
			return trigger(t)
		case "or", "replace", "definer", "if", "exists", "not", "algorithm", "undefined", "merge", "temptable", "sql", "security", "invoker", "aggregate":
		case "database", "schema", "index", "unique", "fulltext", "spatial", "sequence", "server", "tablespace", "user", "role":
			return Deed{}
		}
	}
}

// trigger reads on after CREATE ... TRIGGER up to the table.
func trigger(t *tokens) Deed {
	for {
		tok := t.next()
		if tok.kind == tokenEnd {
			return Deed{}
		}
		if tok.is("on") {
			d := Deed{Kind: DeedTrigger}
			d.tableName(t.next(), t)
			return d
		}
	}
}

// altered reads on after ALTER.
func altered(t *tokens) Deed {
	if !t.next().is("table") {
		return Deed{}
	}
	d := Deed{Kind: DeedKeys}
	d.tableName(t.next(), t)
	if verb := t.next(); !verb.is("disable") && !verb.is("enable") || !t.next().is("keys") || t.next().kind != tokenEnd {
		return Deed{}
	}
	return d
}

// tableName takes a name, or the one behind it if a dot follows.
func (d *Deed) tableName(tok token, t *tokens) {
	d.Table = tok.name()
	if t.afterDot() {
		d.Database, d.Table = d.Table, t.next().name()
	}
}
