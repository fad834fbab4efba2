package dump

// What is left out of a dump must be read to its end: behind a statement without its delimiter stands the next one, which would
// be left out with it, and nothing would say so.

// ends reports whether nothing follows.
func (t *tokens) ends() bool { return t.next().kind == tokenEnd }

// endsOf reports whether nothing follows but such words, given in lower case, and commas.
func (t *tokens) endsOf(words ...string) bool {
next:
	for {
		tok := t.next()
		if tok.kind == tokenEnd {
			return true
		}
		for _, w := range words {
			if tok.is(w) {
				continue next
			}
		}
		if !tok.symbol(',') {
			return false
		}
	}
}

// endsLocks reports whether tables to lock follow, each with how, and nothing else.
func (t *tokens) endsLocks() bool {
	for {
		if !t.next().isName() { // a table, or its database
			return false
		}
		if t.afterDot() && !t.next().isName() {
			return false
		}
		tok := t.next()
		if tok.is("as") {
			tok = t.next()
		}
		if !tok.is("read") && !tok.is("write") && !tok.is("low_priority") { // an alias
			tok = t.next()
		}
		if tok.is("low_priority") {
			tok = t.next()
		}
		if !tok.is("read") && !tok.is("write") {
			return false
		}
		tok = t.next()
		if tok.is("local") || tok.is("concurrent") {
			tok = t.next()
		}
		switch {
		case tok.kind == tokenEnd, tok.is("nowait") && t.ends(), tok.is("wait") && t.next().kind == tokenWord && t.ends():
			return true
		case !tok.symbol(','):
			return false
		}
	}
}

// endsDatabase reports whether the options of a database follow, and nothing else.
func (t *tokens) endsDatabase() bool {
	for {
		tok := t.next()
		if tok.is("default") {
			tok = t.next()
		}
		switch {
		case tok.kind == tokenEnd:
			return true
		case tok.is("character") && t.next().is("set"), tok.is("charset"), tok.is("collate"), tok.is("encryption"), tok.is("comment"):
		default:
			return false
		}
		value := t.next()
		if value.symbol('=') {
			value = t.next()
		}
		if !value.isName() {
			return false
		}
	}
}

// whole reports whether a statement that USE, CREATE DATABASE or DROP DATABASE begins is no more than that.
func (a about) whole(text []byte) bool {
	t := tokens{b: text}
	first := t.next()
	if a.kind == kindUse {
		return t.next().isName() && t.ends()
	}
	for tok := t.next(); !tok.is("database") && !tok.is("schema"); tok = t.next() {
		if tok.kind == tokenEnd {
			return false
		}
	}
	skipIf(&t)
	if first.is("drop") {
		return t.ends()
	}
	return t.endsDatabase()
}
