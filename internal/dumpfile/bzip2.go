package dumpfile

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"io"
	"strings"
)

// isBzip2 says that a file begins as one of bzip2: BZh, the size of its blocks, and a block or the end.
func isBzip2(magic []byte) bool {
	if len(magic) < 4 || !bytes.HasPrefix(magic, []byte("BZh")) || magic[3] < '1' || magic[3] > '9' {
		return false
	}
	for _, part := range []string{"1AY&SY", "\x17\x72\x45\x38\x50\x90"} {
		if strings.HasPrefix(part, string(magic[4:])) { // magic may be cut short
			return true
		}
	}
	return false
}

// bzip2Reader reads one or several streams of bzip2. What follows that is no stream is an error: the bzip2 program
// passes over it.
type bzip2Reader struct{ io.Reader }

func newBzip2(raw io.Reader) io.Reader { return bzip2Reader{bzip2.NewReader(raw)} }

func (b bzip2Reader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if behind, ok := errors.AsType[bzip2.StructuralError](err); ok && behind == "bad magic value in continuation file" {
		err = errBehind
	}
	return n, err
}
