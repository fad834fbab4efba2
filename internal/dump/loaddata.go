package dump

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// maxIntegerDigits and maxNumber bound what number literals go into LOAD DATA: the server reads
// an INSERT's longer integers as decimals, and keeps no more than 81 digits of those.
const (
	maxIntegerDigits = 20
	maxNumber        = 60
)

// AppendFields appends a row of literals, (1,'a',NULL), as LOAD DATA reads it by default: fields
// end in a tab, lines in a newline, backslash escapes, \N for NULL. columns are those that the
// fields go into. It returns false, and to as it was, if a field's value cannot be had by LOAD
// DATA as INSERT takes it: an expression, DEFAULT, a number for a column of text, a column of
// another kind, bytes that are no UTF-8 (MySQL refuses them in a BLOB too, or drops those at the
// end of the file). What stands behind the end of to may have been written over even then.
//
// The row is one of Statement.Rows, in an sql_mode without ANSI_QUOTES and NO_BACKSLASH_ESCAPES.
// LOAD DATA must name the client's character set: utf8mb4, utf8 or latin1. With LOCAL it makes
// warnings of what an INSERT fails with, and leaves rows out; its sender must look at them.
// See https://mariadb.com/kb/en/load-data-infile/, READ_INFO::read_field in sql/sql_load.cc, and
// TestLoadDataEqualsInsert.
func AppendFields(to, row []byte, columns []Column) ([]byte, bool) {
	if len(row) == 0 || row[0] != '(' {
		return to, false
	}
	out, i := to, 1
	for n := range columns {
		var ok bool
		if out, i, ok = appendField(out, row, spaces(row, i), &columns[n]); !ok {
			return to, false
		}
		if i < len(row) && isSpace(row[i]) {
			i = spaces(row, i)
		}
		switch last := n == len(columns)-1; {
		case last && i == len(row)-1 && row[i] == ')':
			return append(out, '\n'), true
		case !last && at(row, i) == ',':
			out = append(out, '\t')
			i++
		default:
			return to, false
		}
	}
	return to, false
}

// appendField appends the literal at b[i] and returns where it ends.
func appendField(out, b []byte, i int, column *Column) ([]byte, int, bool) {
	if column.Kind == OtherColumn || column.Generated {
		return out, 0, false
	}
	switch c := at(b, i); {
	case c == '\'' || c == '"':
		if column.Kind == YearColumn && (fourDigits(b, i+1) == 0 || at(b, i+5) != c) {
			return out, 0, false
		}
		return appendString(out, b, i)
	case c == '0' && at(b, i+1) == 'x':
		if column.Kind != BinaryColumn || hexDigit[at(b, i+2)] == 0 {
			return out, 0, false // 0x alone is a name
		}
		return appendHex(out, b, i+2)
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
		n := numberFor(b, i, column.Kind)
		return append(out, b[i:i+n]...), i + n, n > 0
	}
	return appendWord(out, b, i, column)
}

// appendWord appends a literal that begins with a letter.
func appendWord(out, b []byte, i int, column *Column) ([]byte, int, bool) {
	kind, end := column.Kind, i
	for end < len(b) && isWordByte(b[end]) {
		end++
	}
	word := b[i:end]
	switch {
	case equalFold(word, "NULL"):
		if column.NullIsNow {
			return out, 0, false
		}
		return append(out, '\\', 'N'), end, true
	case kind == IntegerColumn && equalFold(word, "TRUE"):
		return append(out, '1'), end, true
	case kind == IntegerColumn && equalFold(word, "FALSE"):
		return append(out, '0'), end, true
	case kind == BinaryColumn && equalFold(word, "X") && at(b, end) == '\'':
		out, end, ok := appendHex(out, b, end+1)
		return out, end + 1, ok && at(b, end) == '\''
	case kind == BinaryColumn && equalFold(word, "_BINARY"):
		if end = spaces(b, end); at(b, end) == '\'' || at(b, end) == '"' {
			return appendString(out, b, end)
		}
	}
	return out, 0, false
}

// fourDigits returns 4 if that many digits stand at b[i], a year of this age or 0000, else 0.
func fourDigits(b []byte, i int) int {
	if len(b) < i+4 || b[i] != '1' && b[i] != '2' && string(b[i:i+4]) != "0000" {
		return 0
	}
	for _, c := range b[i : i+4] {
		if c < '0' || c > '9' {
			return 0
		}
	}
	return 4
}

// numberFor returns the length of the number at b[i], or 0 if it means something else as text in
// such a column. The sign of -0 is one such thing: the INSERT's number has none.
func numberFor(b []byte, i int, kind ColumnKind) int {
	from, negative := i, false
	if kind == YearColumn {
		return fourDigits(b, i)
	}
	if b[i] == '-' || b[i] == '+' {
		negative = b[i] == '-'
		i++
	}
	start, value := i, byte(0)
	for i < len(b) && b[i]-'0' <= 9 {
		value |= b[i] - '0'
		i++
	}
	digits := i - start
	fraction := at(b, i) == '.'
	if fraction {
		start = i + 1
		for i++; i < len(b) && b[i]-'0' <= 9; i++ {
			value |= b[i] - '0'
		}
		digits += i - start
	}
	switch {
	case digits == 0 || negative && value == 0:
		return 0
	case kind == IntegerColumn && !fraction && digits <= maxIntegerDigits:
		return i - from
	case kind != DecimalColumn && kind != FloatColumn:
		return 0
	case kind == FloatColumn && i < len(b) && b[i]|0x20 == 'e':
		if i++; i < len(b) && (b[i] == '-' || b[i] == '+') {
			i++
		}
		for digits = 0; i < len(b) && b[i]-'0' <= 9; i++ {
			digits++
		}
	}
	if digits == 0 || i-from > maxNumber {
		return 0
	}
	return i - from
}

// appendString appends the value of the string whose quote is b[i].
func appendString(out, b []byte, i int) ([]byte, int, bool) {
	start, quote, high := len(out), b[i], uint64(0)
	i++
	for {
		n, some := plainRun(b[i:], quote)
		out = append(out, b[i:i+n]...)
		high |= some
		i += n
		if i == len(b) {
			return out, 0, false
		}
		switch c := b[i]; {
		case c == quote && at(b, i+1) == quote:
			out = append(out, quote)
			i++
		case c == quote:
			return out, i + 1, high == 0 || utf8.Valid(out[start:])
		case c == '\\' && i+1 == len(b):
			return out, 0, false
		case c == '\\':
			i++
			high |= uint64(b[i] & 0x80)
			out = appendEscaped(out, b[i])
		default:
			out = appendByte(out, c)
		}
		i++
	}
}

// plainRun returns how many bytes of b stand before a quote, a backslash or a control character,
// and something else than 0 if one of them is not ASCII.
func plainRun(b []byte, quote byte) (n int, high uint64) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(b); n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		q, e := x^ones*uint64(quote), x^ones*'\\'
		// Of the bits that this sets, the lowest is right; those above it may be borrowed.
		if m := ((q-ones)&^q | (e-ones)&^e | (x-ones*' ')&^x) & highs; m != 0 {
			return n + bits.TrailingZeros64(m)/8, high | x&highs&(m&-m-1)
		}
		high |= x & highs
	}
	for ; n < len(b) && b[n] != quote && b[n] != '\\' && b[n] >= ' '; n++ {
		high |= uint64(b[n] & 0x80)
	}
	return n, high
}

// appendEscaped appends what a backslash and c are in a string of SQL.
func appendEscaped(out []byte, c byte) []byte {
	switch c {
	case '0', 'b', 'n', 'r', 't', 'Z':
		return append(out, '\\', c)
	case '%', '_': // the backslash stays, as for LIKE
		return append(out, '\\', '\\', c)
	}
	return appendByte(out, c)
}

// appendByte appends a byte alone.
func appendByte(out []byte, c byte) []byte {
	switch c {
	case 0:
		return append(out, '\\', '0')
	case '\t':
		return append(out, '\\', 't')
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\\':
		return append(out, '\\', c)
	}
	return append(out, c)
}

// appendHex appends the bytes that pairs of hexadecimal digits at b[i] stand for.
func appendHex(out, b []byte, i int) ([]byte, int, bool) {
	start, high := len(out), byte(0)
	for ; i+1 < len(b); i += 2 {
		hi, lo := hexDigit[b[i]], hexDigit[b[i+1]]
		if hi == 0 || lo == 0 {
			break
		}
		high |= hi - 1
		out = appendByte(out, (hi-1)<<4|(lo-1))
	}
	// An odd digit would be the first of them all.
	odd := hexDigit[at(b, i)] != 0
	return out, i, !odd && (high < 8 || utf8.Valid(out[start:]))
}

// hexDigit is the value of a digit plus 1, or 0 for a character that is no digit.
var hexDigit = func() (t [256]byte) {
	for i, c := range []byte("0123456789abcdef") {
		t[c] = byte(i + 1)
	}
	copy(t['A':], t['a':'g'])
	return t
}()
