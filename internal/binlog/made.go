package binlog

import (
	"errors"
	"fmt"
)

// makes is what such a statement begins with.
const makes = "CREATE "

// ScanMade is Scan for the statements of MariaDB's that make a table and are logged with its rows, in one transaction:
// CREATE TABLE ... SELECT. It calls other for the statements that are groups of their own. Those that are compressed are
// passed over.
func ScanMade(path string, made, other func(*Query, Group) error) (Extent, error) {
	s, ext, err := openScan(path, 0)
	if s != nil {
		defer s.l.f.Close()
		var first *Query
		s.events = func(e *Event) error {
			if e.Type != QueryEvent || first != nil {
				return nil
			}
			q, err := ParseQuery(e)
			if err == nil && (s.progress == alone || begins(q.SQL, makes)) {
				first = &q
			}
			return err
		}
		s.each = func(g Group) error {
			q := first
			if first = nil; q == nil {
				return nil
			}
			if g.Kind == Statement {
				return other(q, g)
			}
			return made(q, g)
		}
		err = s.run()
		ext = s.ext
	}
	if err != nil {
		err = fmt.Errorf("scan binary log: %w", err)
	}
	return ext, err
}

// mostMade is how much of the rows of such a statement is done at once, in bytes: the server takes no more than its
// max_allowed_packet.
const mostMade = 256 << 10

// MadeRows calls do with what is to be put between the quotes of BINLOG '...' to describe the rows of such a group, and to
// insert them.
func MadeRows(path string, g Group, do func(text []byte) error) error {
	f, err := readFormat(path)
	if err != nil {
		return err
	}
	if err := do(f.Base64()); err != nil {
		return err
	}
	_, err = eachRowStatement(path, g, makes, mostMade, func(s RowStatement) error { return do(s.Text) })
	return err
}

// OfStart reports whether a file is the first one that a server wrote when it was started.
func OfStart(path string) (bool, error) {
	f, err := readFormat(path)
	return err == nil && f.Created != 0, err
}

// readFormat returns the format of a file.
func readFormat(path string) (*Format, error) {
	s, _, err := openScan(path, 0)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, errors.New("the log has no format")
	}
	return s.l.format, s.l.f.Close()
}

// ScanTouched is ScanStatements, and calls touched for the databases whose tables have rows changed, as often as the log
// says so.
func ScanTouched(path string, from int64, each func(*Query, Group) error, touched func(schema string)) (Extent, error) {
	s, ext, err := openScan(path, from)
	if s != nil {
		defer s.l.f.Close()
		var last *Query
		if touched != nil {
			s.events = func(e *Event) error {
				if e.Type != TableMapEvent {
					return nil
				}
				m, err := ParseTableMap(e)
				if err == nil {
					touched(m.Schema)
				}
				return err
			}
		}
		s.statements = func(e *Event) error {
			q, err := ParseQuery(e)
			last = &q
			return err
		}
		s.each = func(g Group) error {
			q := last
			if last = nil; q == nil {
				return nil
			}
			return each(q, g)
		}
		err = s.run()
		ext = s.ext
	}
	if err != nil {
		err = fmt.Errorf("scan binary log: %w", err)
	}
	return ext, err
}
