package dump

import "io"

// Statement is one statement of a dump, as the client would send it, except that
// comments inside it are still there.
type Statement struct {
	// Text has no delimiter. It is valid until the next call of Next.
	Text []byte
	// Line is the line in which the statement starts, from 1; EndLine that in
	// which it ends; ClientLine the one that the client names in an error, which
	// is an earlier one if the statement shares its first line with the end of
	// another.
	Line, EndLine, ClientLine int
	// Offset is where Text starts in the decompressed dump, in bytes.
	Offset int64
	// Delimiter ended the statement; empty at the end of the input.
	Delimiter string
}

// Scanner splits a dump into statements. It holds one statement at a time, of at
// most MaxStatement bytes; DELIMITER and comments between statements are left
// out.
type Scanner struct {
	f *feed
}

// NewScanner returns a Scanner over the text of a dump; file names it in errors.
func NewScanner(r io.Reader, file string) *Scanner {
	return &Scanner{newFeed(r, file, 0, nil)}
}

// Next returns the next statement, io.EOF after the last, or an *Error for what
// the client would obey, drop silently or could not read. After an error it must
// not be called again.
func (s *Scanner) Next() (Statement, error) {
	if err := s.f.next(); err != nil {
		return Statement{}, err
	}
	f := s.f
	return Statement{Text: f.text, Line: f.line, EndLine: f.endLine, ClientLine: f.clientLine, Offset: f.offset,
		Delimiter: f.delimiter}, nil
}
