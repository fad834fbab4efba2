package dump

import (
	"bytes"
	"slices"
	"strings"
)

// piece is a token of a statement and where it lies. What is versioned is run by some servers
// only.
type piece struct {
	token
	from, to  int
	first     byte // the quote of a string
	versioned bool
}

// allPieces returns those of a statement; false if it does not end, or has what no CREATE TABLE has.
func allPieces(text []byte) ([]piece, bool) {
	t := tokens{b: text}
	var all []piece
	for {
		t.space()
		p := piece{from: len(text) - len(t.b), versioned: t.versioned}
		if len(t.b) == 0 {
			return all, !t.versioned
		}
		p.first, p.token = text[p.from], t.next()
		p.to = len(text) - len(t.b)
		switch {
		case p.kind == tokenEnd:
			return nil, false
		case p.kind == tokenSymbol && strings.IndexByte("()+,-*/%<>=!&|^~.@:", p.text[0]) < 0:
			return nil, false
		case p.symbol('*') && at(t.b, 0) == '/': // comments in comments, which servers and clients end at different places
			return nil, false
		}
		all = append(all, p)
	}
}

// surePieces is allPieces of a text that has the same with NO_BACKSLASH_ESCAPES and ANSI_QUOTES, or
// none.
func surePieces(text []byte) ([]piece, bool) {
	all, ok := allPieces(text)
	if !ok || bytes.IndexByte(text, '\\') < 0 {
		return all, ok
	}
	for _, p := range all {
		if p.first == '"' && bytes.Contains(p.text, []byte(`\"`)) {
			return nil, false
		}
	}
	// A byte that means nothing in strings, and does not belong outside, as the backslash then.
	other, ok := allPieces(bytes.ReplaceAll(text, []byte{'\\'}, []byte{1}))
	if ok && !slices.EqualFunc(all, other, func(a, b piece) bool { return a.from == b.from && a.to == b.to }) {
		return nil, false
	}
	return all, true
}

// cursor reads pieces.
type cursor struct{ p []piece }

func (r *cursor) peek() piece {
	if len(r.p) == 0 {
		return piece{}
	}
	return r.p[0]
}

func (r *cursor) skip() piece {
	p := r.peek()
	r.p = r.p[min(1, len(r.p)):]
	return p
}

// follow says that these words are next.
func (r *cursor) follow(words ...string) bool {
	if len(r.p) < len(words) {
		return false
	}
	for i, word := range words {
		if !r.p[i].is(word) {
			return false
		}
	}
	return true
}

// accept passes over these words, if all are next.
func (r *cursor) accept(words ...string) bool {
	if !r.follow(words...) {
		return false
	}
	r.p = r.p[len(words):]
	return true
}

// acceptAny passes over one of these words.
func (r *cursor) acceptAny(words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return r.accept(word) })
}

func (r *cursor) acceptSymbol(c byte) bool {
	if !r.peek().symbol(c) {
		return false
	}
	r.skip()
	return true
}

// name passes over a name; what is in double quotes is one with ANSI_QUOTES.
func (r *cursor) name() (string, bool) {
	p := r.peek()
	if !p.isName() || p.first == '\'' {
		return "", false
	}
	r.skip()
	if p.kind == tokenString {
		return strings.ReplaceAll(string(p.text), `""`, `"`), true
	}
	return p.name(), true
}

// group passes over parentheses and returns what is in them.
func (r *cursor) group() ([]piece, bool) {
	if !r.peek().symbol('(') {
		return nil, false
	}
	depth := 0
	for i, p := range r.p {
		switch {
		case p.symbol('('):
			depth++
		case p.symbol(')'):
			depth--
		}
		if depth == 0 {
			in := r.p[1:i]
			r.p = r.p[i+1:]
			return in, true
		}
	}
	return nil, false
}
