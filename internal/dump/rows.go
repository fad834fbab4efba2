package dump

import (
	"bytes"
	"strings"
)

const (
	// maxHeld is how much of an INSERT is looked at before its rows are given out, in bytes:
	// what stands behind the last of them (ON DUPLICATE KEY UPDATE) concerns them all.
	maxHeld = 16 << 20
	// maxInsertHead bounds what stands before the rows, in bytes: a table may have 4096 columns.
	maxInsertHead = 512 << 10
	// rowDelimiters begin the delimiters that nothing in a row can be taken for.
	rowDelimiters = ";$|/"
)

// inserts is what a splitter knows of the INSERT that it gives out by rows.
type inserts struct {
	// on has INSERT and REPLACE of literal rows given out as such; is says that the present
	// statement is one.
	on, is bool
	// head is what stands before the rows, and rows where they begin in the buffer; ends are
	// the ends of those that were seen, from there.
	head []byte
	rows int
	ends []int
	// open says that the statement goes on behind the rows that were given out.
	open bool
}

// insertHead returns the length of what stands before the first row of b: INSERT or REPLACE,
// a table, its columns if they are named, VALUES and white space. 0 means that it is something
// else, or written in another way, -1 that more of it must be seen.
func insertHead(b []byte) int {
	t := tokens{b: b}
	first := t.next()
	if !first.is("insert") && !first.is("replace") {
		return 0
	}
	list, last := 0, first
	for {
		t.spaceOnly()
		tok := t.next()
		switch {
		case tok.kind == tokenEnd && len(b) < maxInsertHead:
			return -1
		case tok.kind == tokenWord && (last.kind == tokenName || last.symbol(')') || last.kind == tokenWord) && list != 1 &&
			(tok.is("values") || tok.is("value")):
			t.spaceOnly()
			switch {
			case len(t.b) == 0 && len(b) < maxInsertHead:
				return -1
			case at(t.b, 0) != '(' || hasComment(b[:len(b)-len(t.b)]):
				return 0
			}
			return len(b) - len(t.b)
		case tok.symbol('('):
			if list++; list > 1 {
				return 0
			}
		case tok.symbol(')'):
			list++
		case tok.symbol('.'), tok.symbol(','), tok.kind == tokenName:
		case tok.kind == tokenWord && !tok.is("select") && !tok.is("set") && !tok.is("partition") && !tok.is("delayed"):
		default:
			return 0
		}
		last = tok
	}
}

// hasComment says that there may be a comment in b.
func hasComment(b []byte) bool {
	return bytes.ContainsAny(b, "#*") || bytes.Contains(b, []byte("--"))
}

// spaceOnly drops white space.
func (t *tokens) spaceOnly() {
	for len(t.b) > 0 && isSpace(t.b[0]) {
		t.b = t.b[1:]
	}
}

// startRows looks at the statement that begins at buf[at] and returns whether it is given out
// by rows. If it is, all of its rows were seen, or so many that the rest is yet to come.
func (f *splitter) startRows() (bool, error) {
	if strings.IndexByte(rowDelimiters, f.lex.delim[0]) < 0 {
		return false, nil
	}
	in := &f.inserts
	n := len(in.head)
	if n == 0 || !bytes.HasPrefix(f.buf[f.at:f.end], in.head) || at(f.buf[f.at:f.end], n) != '(' {
		for {
			if n = insertHead(f.buf[f.at:f.end]); n >= 0 {
				break
			}
			if f.eof {
				return false, nil
			}
			if err := f.fill(); err != nil {
				return false, err
			}
		}
		if n == 0 {
			return false, nil
		}
		in.head = append(in.head[:0], f.buf[f.at:f.at+n]...)
	}
	in.rows, in.ends = f.at+n, in.ends[:0]
	return f.seeRows()
}

// seeRows looks for rows up to the end of the statement, or until enough is held. It returns
// false, and changes nothing, if the statement has anything but literal rows.
func (f *splitter) seeRows() (bool, error) {
	in := &f.inserts
	from := in.rows // of what has not been looked at
	if len(in.ends) > 0 {
		from += in.ends[len(in.ends)-1]
	}
	for {
		rest := f.buf[from:f.end]
		n, what := 0, rowWhole
		if len(in.ends) > 0 { // what separates it from the row before
			n, what = f.lex.separator(rest, f.eof)
		}
		if what == rowWhole {
			var row int
			row, what = literalRow(rest[n:], f.lex.session.now)
			n += row
		}
		switch what {
		case rowWhole:
			from += n
			in.ends = append(in.ends, from-in.rows)
			continue
		case rowsEnd:
			f.endRows(from, from+n)
			return true, nil
		case rowOdd:
			return false, nil
		}
		if f.eof {
			return false, nil // cut short: the lexer says where
		}
		if len(in.ends) > 0 && f.start == 0 && f.end == len(f.buf) && len(f.buf) >= maxHeld {
			f.passRows(from)
			in.open = true
			return true, nil
		}
		before := f.start
		if err := f.double(f.end - from); err != nil {
			return false, err
		}
		in.rows -= before - f.start
		from -= before - f.start
	}
}

// double reads on until there is twice as much of a row as the n bytes that did not hold all of it,
// or the buffer is full. The row is looked at from its beginning each time, so that a large
// one would otherwise be looked at once for every few kilobytes that a decompressor gives.
func (f *splitter) double(n int) error {
	for want := f.end + n; ; {
		start := f.start
		if err := f.fill(); err != nil {
			return err
		}
		want -= start - f.start
		if f.eof || f.end >= want || f.end == len(f.buf) {
			return nil
		}
	}
}

// endRows ends a statement whose last row ends at buf[to], and itself at buf[end].
func (f *splitter) endRows(to, end int) {
	f.delimiter = f.lex.delimiter
	if end == to {
		f.delimiter = "" // the end of the input
	}
	f.passRows(end)
	f.text = f.buf[f.inserts.rows:to]
	f.inserts.open = false
	f.lex.state, f.lex.within, f.lex.sandboxed = inWhitespace, false, false
}

// passRows takes the buffer up to buf[to] as read.
func (f *splitter) passRows(to int) {
	passed := f.buf[f.at:to]
	f.text = f.buf[f.inserts.rows:to]
	f.lex.line += bytes.Count(passed, []byte{'\n'})
	f.lex.offset += int64(len(passed))
	f.endLine = f.lex.line
	f.at = to
}

// moreRows goes on with a statement of which rows were given out.
func (f *splitter) moreRows() error {
	in := &f.inserts
	f.start, f.line, f.offset = f.at, f.lex.line, f.lex.offset
	in.rows, in.ends = f.at, in.ends[:0]
	// The comma behind the last row that was given out is passed over with it.
	for {
		n, what := f.lex.separator(f.buf[f.at:f.end], f.eof)
		switch what {
		case rowWhole:
			f.lex.line += bytes.Count(f.buf[f.at:f.at+n], []byte{'\n'})
			f.lex.offset += int64(n)
			f.at += n
			in.rows, f.start = f.at, f.at
			f.line, f.offset = f.lex.line, f.lex.offset
			if ok, err := f.seeRows(); ok || err != nil {
				return err
			}
			return f.oddRows()
		case rowsEnd:
			f.endRows(f.at, f.at+n)
			return nil
		case rowOdd:
			return f.oddRows()
		}
		if f.eof {
			return f.oddRows()
		}
		if err := f.fill(); err != nil {
			return err
		}
		in.rows = f.start
	}
}

// oddRows is the fault of a statement whose first rows are gone when something else comes.
func (f *splitter) oddRows() error {
	if f.eof {
		return f.blame(&Error{Line: f.lex.line, Msg: "the dump ends in the middle of an INSERT",
			Hint: "the file is cut short: make the dump again"})
	}
	return f.blame(&Error{Line: f.lex.line,
		Msg:  "an INSERT of more than 16 MB has something else than literal rows here",
		Hint: "make the dump again with smaller statements, or load it with the client program"})
}

// rowState is what literalRow and separator found.
type rowState uint8

const (
	rowWhole rowState = iota
	rowShort          // more must be seen
	rowOdd            // something else
	rowsEnd           // the end of the statement
)

// separator returns the length of what stands between two rows of b: white space and a comma;
// or that of what ends the statement.
func (l *lexer) separator(b []byte, eof bool) (int, rowState) {
	i := spaces(b, 0)
	switch {
	case i == len(b) && eof:
		return 0, rowsEnd
	case i == len(b):
		return 0, rowShort
	case b[i] == ',':
		i = spaces(b, i+1)
		switch {
		case i == len(b):
			return 0, rowShort
		case b[i] != '(':
			return 0, rowOdd
		}
		return i, rowWhole
	case bytes.HasPrefix(b[i:], l.delim):
		return i + len(l.delim), rowsEnd
	case !eof && len(b)-i < len(l.delim) && bytes.HasPrefix(l.delim, b[i:]):
		return 0, rowShort
	}
	return 0, rowOdd
}
