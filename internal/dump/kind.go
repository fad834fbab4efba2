package dump

// kind is what a statement does, as far as loading it matters.
type kind uint8

const (
	kindOther kind = iota
	kindSet
	kindUse            // USE
	kindCreateDatabase // CREATE DATABASE or SCHEMA
	kindDropDatabase   // DROP DATABASE or SCHEMA
	kindSchema         // CREATE of anything in a database
	kindData           // INSERT, REPLACE, LOAD
	kindTable          // anything else that concerns objects in a database
)

// about is what the beginning of a statement tells.
type about struct {
	kind kind
	// name is the database of USE and of CREATE or DROP DATABASE, or that of what else the statement names first, "" where it
	// names none.
	name string
	// bare says that the statement names a table or the like without its database.
	bare bool
}

// kindOf tells the kind by the first word; CREATE and DROP take a closer look.
func kindOf(first token) kind {
	if first.kind != tokenWord {
		return kindOther
	}
	var low [16]byte
	switch string(lower(&low, first.text)) {
	case "insert", "replace", "load":
		return kindData
	case "set":
		return kindSet
	case "use":
		return kindUse
	case "create":
		return kindSchema
	case "drop", "alter", "lock", "truncate", "update", "delete", "rename", "call", "check", "analyze", "optimize", "repair":
		return kindTable
	}
	return kindOther
}

// read tells what a statement is about from its first bytes. It allocates only
// for names of databases.
func read(head []byte) about {
	t := tokens{b: head}
	first := t.next()
	a := about{kind: kindOf(first)}
	switch a.kind {
	case kindUse:
		a.name = t.next().name()
	case kindData:
		a.of(&t)
	case kindSchema, kindTable:
		a.object(first, &t)
	}
	return a
}

// object reads on after CREATE, DROP, ALTER and the like up to the word that
// says what is made, passing over OR REPLACE, DEFINER = ..., ALGORITHM = ...
func (a *about) object(first token, t *tokens) {
	if first.is("update") || first.is("call") || first.is("truncate") {
		a.of(t)
		return
	}
	for {
		tok := t.next()
		var low [16]byte
		switch {
		case tok.kind == tokenEnd:
			return
		case tok.kind != tokenWord:
			continue
		}
		switch string(lower(&low, tok.text)) {
		case "database", "schema":
			switch {
			case first.is("create"):
				a.kind, a.name = kindCreateDatabase, skipIf(t).name()
			case first.is("drop"):
				a.kind, a.name = kindDropDatabase, skipIf(t).name()
			default:
				a.kind = kindOther
			}
			return
		case "user", "role", "server", "logfile", "tablespace", "resource", "undo":
			a.kind = kindOther
			return
		case "table", "tables", "view", "trigger", "procedure", "function", "event", "sequence", "package", "from":
			a.of(t)
			return
		case "index":
			continue // its table follows ON
		case "on":
			a.of(t)
			return
		}
	}
}

// of reads up to the first name, and notes the database before it, or that there is none.
func (a *about) of(t *tokens) {
	for {
		tok := t.next()
		var low [16]byte
		switch {
		case tok.kind == tokenEnd:
			return
		case tok.kind == tokenName:
			a.qualifier(tok, t)
			return
		case tok.kind != tokenWord:
			continue
		}
		switch string(lower(&low, tok.text)) {
		case "into", "ignore", "low_priority", "high_priority", "delayed", "concurrent", "if", "not", "exists",
			"data", "xml", "local", "infile", "replace", "table", "body":
			continue
		}
		a.qualifier(tok, t)
		return
	}
}

// qualifier notes a name as the database, if a dot follows.
func (a *about) qualifier(tok token, t *tokens) {
	if a.bare = !t.afterDot(); !a.bare {
		a.name = tok.name()
	}
}

// afterDot consumes a dot if it is next.
func (t *tokens) afterDot() bool {
	t.space()
	if len(t.b) > 0 && t.b[0] == '.' {
		t.b = t.b[1:]
		return true
	}
	return false
}

// skipIf returns the first token after IF [NOT] EXISTS.
func skipIf(t *tokens) token {
	for {
		tok := t.next()
		if !tok.is("if") && !tok.is("not") && !tok.is("exists") {
			return tok
		}
	}
}

// DatabaseOf returns the database that a statement names, "" if it names none: that of CREATE, ALTER or DROP DATABASE, or the one
// before the dot of what it is about.
func DatabaseOf(text []byte) string {
	if name := alteredDatabase(text); name != "" {
		return name
	}
	return read(text[:min(len(text), headSize)]).name
}
