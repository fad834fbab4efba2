package dump

// Token is one piece of a statement: a word or number, a quoted name, a string, or another byte.
type Token struct {
	token
	// From and To are where it stands in the text, quotes included.
	From, To int
}

// Is compares an unquoted word, given in lower case.
func (t Token) Is(word string) bool { return t.is(word) }

// Symbol compares a byte that is no part of a word.
func (t Token) Symbol(c byte) bool { return t.symbol(c) }

// IsName says that the token may be a name: a word, or what stands in quotes.
func (t Token) IsName() bool { return t.isName() }

// IsString says that the token stands in single or double quotes.
func (t Token) IsString() bool { return t.kind == tokenString }

// Name returns what the token names, without quotes.
func (t Token) Name() string { return t.name() }

// End says that the text has ended.
func (t Token) End() bool { return t.kind == tokenEnd }

// Walk goes through the tokens of a statement. Versioned comments are read as code, so give it what Scanner.Meant
// returns.
type Walk struct {
	text []byte
	t    tokens
}

// NewWalk begins at the first token of text.
func NewWalk(text []byte) *Walk { return &Walk{text, tokens{b: text}} }

// Next returns the next token.
func (w *Walk) Next() Token {
	w.t.space()
	from := len(w.text) - len(w.t.b)
	tok := w.t.next()
	return Token{tok, from, len(w.text) - len(w.t.b)}
}

// Peek returns the token that Next will.
func (w *Walk) Peek() Token {
	ahead := *w
	return ahead.Next()
}
