package dump

import "strings"

// Assignment is what a SET statement does to one variable of the session.
type Assignment struct {
	// Name is the variable's, in lower case; User says that it is one of the user, @name.
	Name string
	User bool
	// Value is a literal in lower case, without quotes. From is, instead, the variable that the
	// value is taken from, "@old" or "@@foreign_key_checks". Both are empty for anything else.
	Value, From string
}

// Assignments reads a statement that Classify takes for a StatementSet or StatementSetTransactions. SET NAMES
// and the like are none.
func Assignments(text []byte) []Assignment {
	list, _ := assignments(text)
	return list
}

// assignments counts those to global variables as well.
func assignments(text []byte) (list []Assignment, global int) {
	t := tokens{b: text}
	if !t.next().is("set") {
		return nil, 0
	}
	for last := false; !last; {
		left, ok := (*session)(nil).target(&t)
		if !ok {
			break
		}
		a := Assignment{Name: left.name, User: left.user}
		last = a.value(&t)
		if left.global {
			global++
		} else {
			list = append(list, a)
		}
	}
	return list, global
}

// plainValue reports whether the right side is one word, number or name, or strings and signs.
func plainValue(t tokens) bool {
	words := 0
	for {
		switch tok := t.next(); {
		case tok.kind == tokenEnd, tok.symbol(','):
			return words <= 1
		case tok.kind == tokenWord, tok.kind == tokenName:
			words++
		case tok.symbol('.') && words == 1: // @@session.
			words = 0
		case tok.kind == tokenSymbol && !tok.symbol('@') && !tok.symbol('-') && !tok.symbol('+'):
			return false
		}
	}
}

// value reads the right side, and says whether it is the last.
func (a *Assignment) value(t *tokens) (last bool) {
	sign, text, parts, depth := "", "", 0, 0
	for {
		tok := t.next()
		if tok.kind == tokenEnd || tok.symbol(',') && depth == 0 {
			last = tok.kind == tokenEnd
			break
		}
		switch {
		case tok.symbol('('):
			depth++
			parts = 2
		case tok.symbol(')'):
			depth--
		case tok.symbol('@') && parts == 0 && len(sign) < 2:
			sign += "@"
		case sign == "@@" && parts == 1 && tok.symbol('.') && (text == "session" || text == "local"):
			parts = 0
		case tok.isName():
			text = strings.ToLower(tok.name())
			parts++
		default:
			parts = 2 // more than is understood
		}
	}
	switch {
	case parts != 1:
	case sign == "":
		a.Value = text
	default:
		a.From = sign + text
	}
	return last
}
