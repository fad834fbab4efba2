package dump

import (
	"bytes"
	"io"
)

// Statement is one statement of a dump, as the client would send it, except that
// comments inside it are still there.
type Statement struct {
	// Text has no delimiter. It is valid until the next call of Next.
	Text []byte
	// Line is the line in which the statement starts, from 1; EndLine that in
	// which it ends.
	Line, EndLine int
	// Offset is where Text starts in the decompressed dump, in bytes.
	Offset int64
	// Delimiter ended the statement; empty at the end of the input.
	Delimiter string
	// Rows are those of an INSERT or REPLACE, after ByRows: (1,'a'),(2,NULL), and Ends where
	// each of them ends in Rows. Text is then what stands before them. More says that the
	// statement has more of them, which come next; it has no Delimiter yet. RowsLine is the
	// line in which Rows begin.
	Rows     []byte
	Ends     []int
	More     bool
	RowsLine int
}

// Scanner splits a dump into statements. It holds one statement at a time, of at
// most MaxStatement bytes; DELIMITER and comments between statements are left
// out.
type Scanner struct {
	f   *splitter
	sum Summary
	// head is that of the INSERT that was counted last.
	head []byte
}

// NewScanner returns a Scanner over the text of a dump; file names it in errors.
func NewScanner(r io.Reader, file string) *Scanner {
	return &Scanner{f: newSplitter(r, file, 0, nil)}
}

// ByRows returns an INSERT or REPLACE that consists of a table, its columns if any, and literal
// rows by its rows, a large one in several parts.
func (s *Scanner) ByRows() { s.f.inserts.on = true }

// Next returns the next statement, io.EOF after the last, or an *Error for what
// the client would obey, drop silently or could not read. After an error it must
// not be called again.
func (s *Scanner) Next() (Statement, error) {
	f := s.f
	part := f.inserts.open
	if err := f.next(); err != nil {
		return Statement{}, err
	}
	if !part {
		if err := s.count(); err != nil {
			return Statement{}, f.blame(err)
		}
	}
	st := Statement{Text: f.text, Line: f.line, EndLine: f.endLine, Offset: f.offset, Delimiter: f.delimiter}
	if f.lex.continued && !f.inserts.is {
		st.Text = f.lex.joined(st.Text)
	}
	if in := &f.inserts; in.is {
		st.Text, st.Rows, st.Ends, st.More, st.RowsLine = in.head, f.text, in.ends, in.open, f.line
		if !part {
			st.RowsLine += bytes.Count(in.head, []byte{'\n'})
		}
	}
	return st, nil
}

// Wide says that the client's character set has characters whose second byte looks like a backslash or a backtick: of a
// statement it is known where it ends, but not what it holds.
func (s *Scanner) Wide() bool { return s.f.lex.session.now.has(wide) }

// count takes note of the present statement.
func (s *Scanner) count() error {
	if in := &s.f.inserts; in.is {
		if bytes.Equal(in.head, s.head) { // it tells nothing new
			s.sum.Statements++
			return nil
		}
		s.head = append(s.head[:0], in.head...)
	}
	return s.sum.add(s.f)
}

// Summary tells what was seen so far.
func (s *Scanner) Summary() Summary {
	sum := s.sum
	sum.Notices = s.f.lex.notices
	sum.Maker = s.f.lex.origin.maker
	sum.Bytes, sum.Lines = s.f.lex.offset, s.f.lines()
	return sum
}
