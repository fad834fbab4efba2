package dump

import "bytes"

// LineFormat is how LOAD DATA finds the end of a row.
// https://mariadb.com/kb/en/load-data-infile/
type LineFormat struct {
	// Lines ends a row, Fields a field; both have at least one byte.
	Lines, Fields string
	// Enclosed stands around a field, Escaped before a byte that means something else; 0 for neither.
	Enclosed, Escaped byte
}

// Ends appends to ends where each row in text ends, behind what ends it. last says that nothing
// follows text. What stands behind the last of them belongs to a row that ends further on.
func (f LineFormat) Ends(ends []int, text []byte, last bool) []int {
	if f.Enclosed != 0 {
		return f.enclosedEnds(ends, text, last)
	}
	for from, i := 0, 0; ; {
		n := bytes.Index(text[i:], []byte(f.Lines))
		if n < 0 {
			return ends
		}
		i += n
		if f.Escaped != 0 && escaped(text[from:i], f.Escaped) {
			i++
			continue
		}
		i += len(f.Lines)
		ends, from = append(ends, i), i
	}
}

// escaped says that a byte behind row is escaped: an odd number of such bytes stands there.
func escaped(row []byte, by byte) bool {
	n := len(row)
	for n > 0 && row[n-1] == by {
		n--
	}
	return (len(row)-n)%2 == 1
}

// enclosedEnds is Ends where a field may stand in quotes, and hold what ends a row.
func (f LineFormat) enclosedEnds(ends []int, text []byte, last bool) []int {
	begin, quoted := true, false // of a field
	for i := 0; i < len(text); {
		rest := text[i:]
		if !last && len(rest) < len(f.Lines)+len(f.Fields)+1 { // what it is shows when more is there
			return ends
		}
		c := text[i]
		switch {
		case c == f.Escaped && f.Escaped != 0 && c != f.Enclosed:
			i, begin = i+2, false
		case quoted && c == f.Enclosed && at(rest, 1) == f.Enclosed:
			i += 2
		case quoted && c == f.Enclosed && (len(rest) == 1 || f.follows(rest[1:])):
			i, quoted = i+1, false
		case quoted:
			i++
		case begin && c == f.Enclosed:
			i, quoted, begin = i+1, true, false
		case bytes.HasPrefix(rest, []byte(f.Lines)):
			i, begin = i+len(f.Lines), true
			ends = append(ends, i)
		case bytes.HasPrefix(rest, []byte(f.Fields)):
			i, begin = i+len(f.Fields), true
		default:
			i, begin = i+1, false
		}
	}
	return ends
}

// follows says that a field or a row ends here.
func (f LineFormat) follows(text []byte) bool {
	return bytes.HasPrefix(text, []byte(f.Lines)) || bytes.HasPrefix(text, []byte(f.Fields))
}

// Count returns the number of fields in a row, which ends with what ends it.
func (f LineFormat) Count(row []byte) int {
	row = bytes.TrimSuffix(row, []byte(f.Lines))
	if f.Fields == f.Lines {
		return 1
	}
	fields := LineFormat{Lines: f.Fields, Fields: f.Lines, Enclosed: f.Enclosed, Escaped: f.Escaped}
	return len(fields.Ends(nil, row, true)) + 1
}
