package binlog

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
)

// XAStep is what a group does to an XA transaction.
type XAStep uint8

// Steps of an XA transaction that are logged.
const (
	XAPrepares XAStep = iota + 1
	XACommits
	XARollsBack
)

// XAGroup is a group that is a step of an XA transaction.
type XAGroup struct {
	Group
	Step XAStep
	// Name is that of the transaction, as XID.String has it.
	Name string
}

// ScanXA is Scan for the groups that are steps of XA transactions.
func ScanXA(path string, each func(XAGroup) error) (Extent, error) {
	s, ext, err := openScan(path, 0)
	if s != nil {
		defer s.l.f.Close()
		var step XAStep
		var name string
		s.steps = func(is XAStep, of string) { step, name = is, of }
		s.each = func(g Group) error {
			is, of := step, name
			step, name = 0, ""
			if is == 0 {
				return nil
			}
			return each(XAGroup{g, is, of})
		}
		err = s.run()
		ext = s.ext
	}
	if err != nil {
		err = fmt.Errorf("scan binary log: %w", err)
	}
	return ext, err
}

// prepares notes an XA transaction that is prepared.
func (s *scan) prepares(e *Event) error {
	if s.steps == nil {
		return nil
	}
	x, err := ParseXAPrepare(e)
	if err == nil && !x.OnePhase {
		s.steps(XAPrepares, x.XID.String())
	}
	return err
}

// verdict notes a statement that ends an XA transaction: XA COMMIT X'61',X”,1 as the server writes it, whatever it was
// given.
func (s *scan) verdict(e *Event) error {
	if s.steps == nil {
		return nil
	}
	text, err := queryText(e)
	if err != nil {
		return err
	}
	for words, step := range map[string]XAStep{"XA COMMIT ": XACommits, "XA ROLLBACK ": XARollsBack} {
		if begins(text, words) {
			s.steps(step, strings.ReplaceAll(string(text[len(words):]), " ", ""))
		}
	}
	return nil
}

// RowStatement is what a statement of a group does to rows.
type RowStatement struct {
	// Text is to be put between the quotes of BINLOG '...'.
	Text []byte
	// Tables are those that it changes.
	Tables []*TableMap
	// Inserts says that it does nothing but insert.
	Inserts bool
}

// RowStatements returns what a group does to rows, by statements, and the format to describe them by before. Of a group
// that does more than that there is a *NotUnderstoodError.
func RowStatements(path string, g Group) (f *Format, list []RowStatement, err error) {
	f, err = eachRowStatement(path, g, "", math.MaxInt, func(statement RowStatement) error {
		list = append(list, statement)
		return nil
	})
	return f, list, err
}

// eachRowStatement calls each for what a group does to rows, by statements, or parts of them where they have more than so
// many bytes. It may also set savepoints and, unless passed is "", have
// statements that begin so, and a COMMIT, which one has that changes no rows.
func eachRowStatement(path string, g Group, passed string, most int, each func(RowStatement) error) (f *Format, err error) {
	s, _, err := openScan(path, g.Start)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, errors.New("the log has no format")
	}
	defer s.l.f.Close()
	var tables, lot []byte // what describes the tables of the statement, and that with its rows
	statement := RowStatement{Inserts: true}
	for s.at < g.End {
		b, err := s.append(nil, s.at, s.at+headerLen)
		if err != nil {
			return nil, err
		}
		n := int64(le.Uint32(b[9:]))
		if b, err = s.append(b, s.at+headerLen, s.at+n); err != nil {
			return nil, err
		}
		e, err := ParseEvent(b, s.l.format)
		if err != nil {
			return nil, located(err, s.pos())
		}
		s.at += n
		switch {
		case e.Type == TableMapEvent:
			m, err := ParseTableMap(&e)
			if err != nil {
				return nil, err
			}
			statement.Tables = append(statement.Tables, m)
			tables = appendBare(tables, b, &e)
		case e.Type.Rows() != NotRows && len(e.Body) >= 8:
			statement.Inserts = statement.Inserts && e.Type.Rows() == Write
			if len(lot) == 0 {
				lot = append(lot, tables...)
			}
			at := len(lot)
			lot = appendBare(lot, b, &e)
			const ends = 1
			flags := le.Uint16(e.Body[6:])
			if flags&ends == 0 && len(lot) < most {
				continue
			}
			le.PutUint16(lot[at+headerLen+6:], flags|ends)
			statement.Text = base64.StdEncoding.AppendEncode(nil, lot)
			if err := each(statement); err != nil {
				return nil, err
			}
			if lot = lot[:0]; flags&ends != 0 {
				tables, statement = tables[:0], RowStatement{Inserts: true}
			}
		case e.Type == MariaGTIDEvent, e.Type == XAPrepareEvent, e.Type == AnnotateRowsEvent, e.Type == XIDEvent:
		case e.Type == QueryEvent:
			text, err := queryText(&e)
			if err != nil {
				return nil, err
			}
			if !begins(text, "XA ") && !begins(text, "SAVEPOINT") && (passed == "" || !begins(text, passed) && !isWord(text, "COMMIT")) {
				return nil, &NotUnderstoodError{e.Pos(), e.Type}
			}
		default:
			return nil, &NotUnderstoodError{e.Pos(), e.Type}
		}
	}
	if len(tables) > 0 {
		return nil, s.corrupt("transaction", "its last statement has no end")
	}
	return s.l.format, nil
}

// appendBare appends an event without the checksum that it may have.
func appendBare(to, b []byte, e *Event) []byte {
	at := len(to)
	to = append(to, b[:headerLen+len(e.Body)]...)
	le.PutUint32(to[at+9:], uint32(headerLen+len(e.Body))) // #nosec G115 -- no longer than it was
	return to
}
