package dumpfile

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReader reads what may be a dump in any wrapping: it ends, and an archive gives the same as a file and from a pipe, where both
// give something.
func FuzzReader(f *testing.F) {
	const text = "SELECT 1;\n"
	var t testing.T
	for _, seed := range [][]byte{
		[]byte(text), gzipped(&t, text), zstandard(&t, text), xzipped(&t, text), bzipped(&t, bzip2One), utf16Text(binary.LittleEndian, text), utf16Text(binary.BigEndian, "\ufeff"+text),
		zipped(&t, member{name: "a.sql", text: text}), zipped(&t, member{name: "a", text: text}, member{name: "a.sql", text: text, stored: true, known: true}), []byte("id,a\n1,2\n"),
	} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "x.sql")
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := os.WriteFile(path, in, 0o600); err != nil {
			t.Fatal(err)
		}
		file, errFile := all(Open(path))
		pipe, errPipe := all(NewReader(bytes.NewReader(in), path))
		if errFile == nil && errPipe == nil && !bytes.Equal(file, pipe) {
			t.Errorf("the file is %.100q, the pipe gives %.100q", file, pipe)
		}
	})
}

// maxFuzzed is how much of a text is read, in bytes: a small file may hold very much.
const maxFuzzed = 1 << 20

func all(r *Reader, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxFuzzed))
}
