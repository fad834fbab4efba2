package dumpfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// utf16Order tells the order of the bytes of UTF-16 text, and how long its byte order mark is; nil for other text.
// Without a mark it is told by its first characters, which are ASCII in every dump.
func utf16Order(begin []byte) (order binary.ByteOrder, mark int) {
	switch {
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe, 0, 0}): // UTF-32
		return nil, 0
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(begin, []byte{0xfe, 0xff}):
		return binary.BigEndian, 2
	case len(begin) < utf16Sure:
		return nil, 0
	}
	for _, order = range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		ascii := true
		for i := 0; i < utf16Sure; i += 2 {
			c := order.Uint16(begin[i:])
			ascii = ascii && (c >= ' ' && c < 0x7f || c == '\n' || c == '\r' || c == '\t')
		}
		if ascii {
			return order, 0
		}
	}
	return nil, 0
}

// utf16Sure is how many first bytes tell UTF-16 without a byte order mark.
const utf16Sure = 8

// utf16Chunk is how much is decoded at once, in bytes.
const utf16Chunk = 32 << 10

// utf16Reader gives UTF-16 text as UTF-8. Text that is none is an error: a replaced character would be loaded as it is.
type utf16Reader struct {
	raw   *bufio.Reader
	order binary.ByteOrder
	name  string
	// at is how many bytes were decoded, the mark among them.
	at  int64
	out []byte
	// rest is what of out was not read yet.
	rest []byte
	err  error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.rest) == 0 && u.err == nil {
		u.decode()
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	if n > 0 {
		return n, nil
	}
	return 0, u.err
}

// decode decodes the next chunk.
func (u *utf16Reader) decode() {
	in, err := u.raw.Peek(utf16Chunk)
	u.err = err
	u.out = u.out[:0]
	done := 0
	for done < len(in) {
		r, size := u.next(in[done:])
		if size == 0 && err == nil { // the other half is in the next chunk
			break
		}
		if size == 0 && errors.Is(err, io.EOF) {
			u.err = &dump.Error{File: u.name, Msg: fmt.Sprintf("the file is cut short: its UTF-16 text ends in the middle of a character, at byte %d", u.at+int64(done)), Hint: "copy or make the dump again"}
		}
		if r == utf8.RuneError && size < 0 {
			u.err = &dump.Error{File: u.name, Msg: fmt.Sprintf("this is no UTF-16 text: half a character (a lone surrogate) stands at byte %d", u.at+int64(done)), Hint: "copy or make the dump again"}
		}
		if size <= 0 {
			break
		}
		u.out = utf8.AppendRune(u.out, r)
		done += size
	}
	u.rest = u.out
	u.at += int64(done)
	if _, err := u.raw.Discard(done); err != nil {
		u.err = err
	}
}

// next decodes a character; its size is 0 where bytes are missing, and -1 where it is none.
func (u *utf16Reader) next(b []byte) (rune, int) {
	if len(b) < 2 {
		return 0, 0
	}
	r := rune(u.order.Uint16(b))
	switch {
	case !utf16.IsSurrogate(r):
		return r, 2
	case len(b) < 4:
		return 0, 0
	}
	if r = utf16.DecodeRune(r, rune(u.order.Uint16(b[2:]))); r == utf8.RuneError {
		return r, -1
	}
	return r, 4
}
