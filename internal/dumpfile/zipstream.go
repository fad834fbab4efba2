package dumpfile

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/klauspost/compress/flate"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// How the parts of a zip archive begin. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3
const (
	zipMember    = "PK\x03\x04"
	zipBehind    = "PK\x07\x08" // a member's sum and sizes, which stand behind it
	zipDirectory = "PK\x01\x02"
	zipEnd       = "PK\x05\x06"

	zipMemberSize = 30
	// zipSizesBehind is the bit of a member's flags that says that they do.
	zipSizesBehind = 1 << 3
	// zipLarge is the extra field that has sizes of 8 bytes.
	zipLarge = 1
)

// zipStream reads a zip archive from its beginning on, as it comes: what is in it stands at its end, so that only the names
// of members tell which is the dump.
type zipStream struct {
	d   *Reader
	raw *bufio.Reader
	// member is the dump; it is nil behind it.
	member *zipPart
	// others stand before it.
	others []string
}

// streamZip returns the first dump in a zip archive that comes from a pipe, or another machine.
func (d *Reader) streamZip(raw *bufio.Reader) (io.Reader, error) {
	z := &zipStream{d: d, raw: raw}
	for {
		m, err := z.next()
		switch {
		case err != nil:
			return nil, err
		case m == nil:
			return nil, &dump.Error{File: d.name, Msg: "there is no file with the name of a dump in this zip archive", Hint: "name the archive instead of piping it, or unpack it: unzip -p " + d.name}
		case isDump(m.name) && !besides(m.name):
			z.member = m
			if len(z.others) > 0 {
				d.notes = append(d.notes, fmt.Sprintf("note: %s is read of %s, and not %s", m.name, d.name, some(z.others)))
			}
			return z, nil
		}
		if err := z.skip(m); err != nil {
			return nil, err
		}
	}
}

// skip passes over a member.
func (z *zipStream) skip(m *zipPart) error {
	if !besides(m.name) {
		z.others = append(z.others, m.name)
	}
	_, err := io.Copy(io.Discard, m)
	return err
}

func (z *zipStream) Read(p []byte) (int, error) {
	if z.member == nil {
		return 0, io.EOF
	}
	n, err := z.member.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if err := z.end(z.member.name); err != nil {
		return n, err
	}
	z.member = nil
	return n, io.EOF
}

// end reads what stands behind the dump: an archive that is cut short is an error, and so is a second dump in it.
func (z *zipStream) end(name string) error {
	for {
		m, err := z.next()
		switch {
		case err != nil:
			return err
		case m == nil:
			return nil
		case isDump(m.name) && !besides(m.name):
			return z.d.severalMembers([]string{name, m.name})
		}
		if err := z.skip(m); err != nil {
			return err
		}
	}
}

// next returns the next member; nil at the directory that ends the archive, which it reads.
func (z *zipStream) next() (*zipPart, error) {
	sign, err := z.raw.Peek(len(zipMember))
	if err != nil {
		return nil, short(err)
	}
	if string(sign) == zipMember {
		return z.begin()
	}
	if string(sign) != zipDirectory && string(sign) != zipEnd {
		return nil, errors.New("something else stands where a member or the directory should")
	}
	// The directory says nothing new; that its last record is there says that the archive is whole.
	tail := &lastPart{keep: zipEndSize + math.MaxUint16}
	if _, err := io.Copy(tail, z.raw); err != nil {
		return nil, err
	}
	if i := bytes.LastIndex(tail.b, []byte(zipEnd)); i < 0 || len(tail.b) < i+zipEndSize || len(tail.b) < i+zipEndSize+int(binary.LittleEndian.Uint16(tail.b[i+zipEndSize-2:])) {
		return nil, io.ErrUnexpectedEOF
	}
	return nil, nil
}

// zipEndSize is the size of the last record, but for a comment.
const zipEndSize = 22

// begin reads the head of a member.
func (z *zipStream) begin() (*zipPart, error) {
	head := make([]byte, zipMemberSize)
	if _, err := io.ReadFull(z.raw, head); err != nil {
		return nil, short(err)
	}
	le := binary.LittleEndian
	rest := make([]byte, int(le.Uint16(head[26:]))+int(le.Uint16(head[28:])))
	if _, err := io.ReadFull(z.raw, rest); err != nil {
		return nil, short(err)
	}
	name, extra := string(rest[:le.Uint16(head[26:])]), rest[le.Uint16(head[26:]):]
	flags, method := le.Uint16(head[6:]), le.Uint16(head[8:])
	if err := z.d.checkMember(name, flags, method); err != nil {
		return nil, err
	}
	m := &zipPart{name: name, raw: z.raw, sum: crc32.NewIEEE(), behind: flags&zipSizesBehind != 0}
	m.want = zipSizes{le.Uint32(head[14:]), uint64(le.Uint32(head[18:])), uint64(le.Uint32(head[22:]))}
	m.want.large(extra)
	switch {
	case method == zip.Deflate:
		m.in = flate.NewReader(countingBytes{z.raw, &m.packed})
	case m.behind && !besides(name):
		return nil, &dump.Error{File: z.d.name, Msg: fmt.Sprintf("%s in this zip archive is not compressed, and where it ends stands only at the end of the archive", name),
			Hint: "name the archive instead of piping it, or pipe what is in it: unzip -p"}
	default:
		m.in = io.LimitReader(countingBytes{z.raw, &m.packed}, int64(min(m.want.packed, math.MaxInt64)))
	}
	return m, nil
}

// short is an error of an archive that ends too early.
func short(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lastPart keeps the last bytes that are written.
type lastPart struct {
	b    []byte
	keep int
}

func (l *lastPart) Write(p []byte) (int, error) {
	l.b = append(l.b, p...)
	if len(l.b) > 2*l.keep {
		l.b = append(l.b[:0], l.b[len(l.b)-l.keep:]...)
	}
	return len(p), nil
}
