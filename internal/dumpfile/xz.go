package dumpfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz"
)

// xzHead is how much of an xz file says what its first block takes to unpack, in bytes.
const xzHead = 12 + 1024

// errWindow says that a file would take more than maxWindow to unpack.
var errWindow = errors.New("the window is too large")

// xzReader adds to the library what it does not see: that a file ends behind one of its blocks,
// in the middle of the whole. See https://tukaani.org/xz/xz-file-format.txt
type xzReader struct {
	*xz.Reader
	last *lastBytes
}

// newXZ reads an xz file; last is below raw.
func newXZ(raw *bufio.Reader, last *lastBytes) (io.Reader, error) {
	head, err := raw.Peek(xzHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if xzWindow(head) > maxWindow {
		return nil, errWindow
	}
	z, err := xz.NewReader(raw)
	return xzReader{z, last}, err
}

func (z xzReader) Read(p []byte) (int, error) {
	n, err := z.Reader.Read(p)
	if errors.Is(err, io.EOF) && !z.last.xzFooter() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// xzWindow returns how much memory the first block of an xz file takes, in bytes; 0 if that is
// not said. See sections 3.1 and 5.3.1 of the format.
func xzWindow(head []byte) int64 {
	const flags, sizes, lzma2 = 13, 0xc0, 0x21
	if len(head) <= flags {
		return 0
	}
	b := head[flags+1:]
	for bits := head[flags] & sizes; bits != 0; bits &= bits - 1 { // sizes of the block, of 7 bits each byte
		for len(b) > 0 && b[0] >= 0x80 {
			b = b[1:]
		}
		b = b[min(1, len(b)):]
	}
	if len(b) < 3 || b[0] != lzma2 || b[1] != 1 {
		return 0
	}
	return int64(2|b[2]&1) << (b[2]/2 + 11)
}

// xzFooterSize is the size in bytes of what ends a stream of an xz file.
const xzFooterSize = 12

// lastBytes keeps the last bytes that went by, those that are zero at the end left out.
type lastBytes struct {
	r     io.Reader
	tail  []byte // at most xzFooterSize of them
	zeros int    // behind
}

func (l *lastBytes) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	seen := bytes.TrimRight(p[:n], "\x00")
	if len(seen) > 0 {
		l.tail = append(l.tail, make([]byte, min(l.zeros, xzFooterSize))...)
		l.tail = append(l.tail, seen[max(0, len(seen)-xzFooterSize):]...)
		l.tail = append(l.tail[:0], l.tail[max(0, len(l.tail)-xzFooterSize):]...)
		l.zeros = 0
	}
	l.zeros += n - len(seen)
	return n, err
}

// xzFooter says that they end a stream of an xz file.
func (l *lastBytes) xzFooter() bool {
	b := l.tail
	return len(b) == xzFooterSize && string(b[10:]) == "YZ" && crc32.ChecksumIEEE(b[4:10]) == binary.LittleEndian.Uint32(b)
}
