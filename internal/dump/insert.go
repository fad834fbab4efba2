package dump

import (
	"bytes"
	"fmt"
	"strings"
)

// Insert is what stands before the rows of an INSERT; see Statement.Rows.
type Insert struct {
	Database, Table string
	// Columns are those that are named; nil if none are.
	Columns []string
	// Plain says that it is an INSERT without IGNORE: a row that cannot be had is an error.
	Plain bool
	// Ignore says that a row that cannot be had is passed over.
	Ignore bool
}

// ParseInsert reads the Text of a Statement that has Rows.
func ParseInsert(head []byte) Insert {
	t := tokens{b: head}
	in := readTarget(&t)
	if !t.next().symbol('(') {
		return in
	}
	for {
		switch tok := t.next(); {
		case tok.symbol(')'), tok.kind == tokenEnd:
			return in
		case tok.isName():
			in.Columns = append(in.Columns, tok.name())
		}
	}
}

// readTarget reads up to the end of the table's name.
func readTarget(t *tokens) Insert {
	in := Insert{Plain: t.next().is("insert")}
	for {
		tok := t.next()
		var low [16]byte
		if tok.kind == tokenWord {
			switch string(lower(&low, tok.text)) {
			case "ignore":
				in.Plain, in.Ignore = false, true
				continue
			case "into", "low_priority", "high_priority":
				continue
			}
		}
		var d StatementClass
		d.tableName(tok, t)
		in.Database, in.Table = d.Database, d.Table
		return in
	}
}

// Onto returns the Text of a Statement that has Rows with other columns, which are quoted.
func Onto(head []byte, columns []string) []byte {
	t := tokens{b: head}
	readTarget(&t)
	return fmt.Appendf(nil, "%s (%s) VALUES ", head[:len(head)-len(t.b)], strings.Join(columns, ","))
}

// Field returns the literal of a number, from 0, in a row of the present statement; nil if there
// is none.
func (s *Scanner) Field(row []byte, n int) []byte {
	literal, rest := s.firstField(row)
	for ; n > 0 && literal != nil; n-- {
		literal, rest = s.nextField(rest)
	}
	return literal
}

// Fields appends the literals of a row of the present statement to list.
func (s *Scanner) Fields(list [][]byte, row []byte) [][]byte {
	literal, rest := s.firstField(row)
	for literal != nil {
		list = append(list, literal)
		literal, rest = s.nextField(rest)
	}
	return list
}

func (s *Scanner) firstField(row []byte) (literal, rest []byte) {
	return s.fieldIn(row[bytes.IndexByte(row, '(')+1:])
}

// nextField returns the literal behind a comma, or nil.
func (s *Scanner) nextField(b []byte) (literal, rest []byte) {
	if b = b[spaces(b, 0):]; at(b, 0) != ',' {
		return nil, nil
	}
	return s.fieldIn(b[1:])
}

func (s *Scanner) fieldIn(b []byte) (field, rest []byte) {
	b = b[spaces(b, 0):]
	n, what := literal(b, s.f.lex.session.now)
	if what != rowWhole {
		return nil, nil
	}
	return b[:n], b[n:]
}
