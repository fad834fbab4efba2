package binlog

import (
	"encoding/base64"
	"errors"
	"fmt"
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
	s, _, err := openScan(path, g.Start)
	if err != nil {
		return nil, nil, err
	}
	if s == nil {
		return nil, nil, errors.New("the log has no format")
	}
	defer s.l.f.Close()
	var lot []byte
	statement := RowStatement{Inserts: true}
	for s.at < g.End {
		b, err := s.append(nil, s.at, s.at+headerLen)
		if err != nil {
			return nil, nil, err
		}
		n := int64(le.Uint32(b[9:]))
		if b, err = s.append(b, s.at+headerLen, s.at+n); err != nil {
			return nil, nil, err
		}
		e, err := ParseEvent(b, s.l.format)
		if err != nil {
			return nil, nil, located(err, s.pos())
		}
		s.at += n
		switch {
		case e.Type == TableMapEvent:
			m, err := ParseTableMap(&e)
			if err != nil {
				return nil, nil, err
			}
			statement.Tables = append(statement.Tables, m)
			lot = appendBare(lot, b, &e)
		case e.Type.Rows() != NotRows && len(e.Body) >= 8:
			statement.Inserts = statement.Inserts && e.Type.Rows() == Write
			lot = appendBare(lot, b, &e)
			const ends = 1
			if le.Uint16(e.Body[6:])&ends != 0 {
				statement.Text = base64.StdEncoding.AppendEncode(nil, lot)
				list, lot, statement = append(list, statement), lot[:0], RowStatement{Inserts: true}
			}
		case e.Type == MariaGTIDEvent, e.Type == XAPrepareEvent, e.Type == AnnotateRowsEvent, e.Type == XIDEvent:
		case e.Type == QueryEvent:
			text, err := queryText(&e)
			if err != nil {
				return nil, nil, err
			}
			if !begins(text, "XA ") && !begins(text, "SAVEPOINT") {
				return nil, nil, &NotUnderstoodError{e.Pos(), e.Type}
			}
		default:
			return nil, nil, &NotUnderstoodError{e.Pos(), e.Type}
		}
	}
	if len(lot) > 0 {
		return nil, nil, s.corrupt("transaction", "its last statement has no end")
	}
	return s.l.format, list, nil
}

// appendBare appends an event without the checksum that it may have.
func appendBare(to, b []byte, e *Event) []byte {
	at := len(to)
	to = append(to, b[:headerLen+len(e.Body)]...)
	le.PutUint32(to[at+9:], uint32(headerLen+len(e.Body))) // #nosec G115 -- no longer than it was
	return to
}
