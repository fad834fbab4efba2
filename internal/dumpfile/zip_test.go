package dumpfile

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// The library has no bzip2 writer: what bzip2 makes of "SELECT 1;\n", and of nothing.
const (
	bzip2One  = "QlpoOTFBWSZTWb43xuUAAAReAAAQQAAgCAoEDAAgACIGhtQgyYhCzmWzxdyRThQkL43xuUA="
	bzip2None = "QlpoORdyRThQkAAAAAA="
)

func bzipped(t *testing.T, streams ...string) []byte {
	t.Helper()
	var all []byte
	for _, s := range streams {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// flipped has one bit of a byte be another.
func flipped(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 4
	return b
}

// member is a file of a zip archive; known has its sizes stand before it.
type member struct {
	name, text    string
	stored, known bool
}

func zipped(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		if m.stored {
			h.Method = zip.Store
		}
		var w io.Writer
		var err error
		if m.known {
			h.CRC32, h.CompressedSize64, h.UncompressedSize64 = crc32.ChecksumIEEE([]byte(m.text)), uint64(len(m.text)), uint64(len(m.text))
			w, err = z.CreateRaw(h)
		} else {
			w, err = z.CreateHeader(h)
		}
		if err == nil {
			_, err = io.WriteString(w, m.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readBoth reads a dump as a file, and as it comes through a pipe.
func readBoth(t *testing.T, in []byte, check func(t *testing.T, text string, notes []string, err error)) {
	t.Helper()
	p := filepath.Join(t.TempDir(), "x.zip")
	if err := os.WriteFile(p, in, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (*Reader, error){
		"file":   func() (*Reader, error) { return Open(p) },
		"stream": func() (*Reader, error) { return NewReader(iotest.HalfReader(bytes.NewReader(in)), p) },
	} {
		t.Run(name, func(t *testing.T) {
			r, err := open()
			if err != nil {
				check(t, "", nil, err)
				return
			}
			text, err := io.ReadAll(r)
			check(t, string(text), r.Notes(), errors.Join(err, r.Close()))
		})
	}
}

func TestZip(t *testing.T) {
	const text = "SELECT 1;\n"
	long := strings.Repeat(text, 200_000)
	for _, c := range []struct {
		name    string
		members []member
		want    string // the text
		note    string
	}{
		{"one", []member{{name: "shop.sql", text: long}}, long, ""},
		{"stored", []member{{name: "shop.sql", text: long, stored: true, known: true}}, long, ""},
		{"below a directory, beside what a Mac adds", []member{{name: "dumps/"}, {name: "dumps/shop.SQL", text: text}, {name: "__MACOSX/dumps/._shop.sql", text: "Mac"}}, text, ""},
		{"of a pipe", []member{{name: "-", text: text}}, text, ""},
		{"beside others", []member{{name: "README", text: "read me"}, {name: "shop.sql", text: text}, {name: "notes.txt", text: "notes"}}, text, "and not README"},
		{"gzip inside", []member{{name: "shop.sql.gz", text: string(gzipped(t, long)), stored: true, known: true}}, long, ""},
		{"empty", []member{{name: "shop.sql"}}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			readBoth(t, zipped(t, c.members...), func(t *testing.T, got string, notes []string, err error) {
				if err != nil || got != c.want {
					t.Errorf("%d bytes of %d, %v", len(got), len(c.want), err)
				}
				if said := strings.Join(notes, "\n"); c.note != "" && !strings.Contains(said, c.note) || c.note == "" && said != "" {
					t.Errorf("says %q, want %q", said, c.note)
				}
			})
		})
	}
}

func TestZipFaults(t *testing.T) {
	text := strings.Repeat("SELECT 1, 'some text';\n", 100)
	whole := zipped(t, member{name: "shop.sql", text: text, stored: true, known: true})
	encrypted := slices.Clone(whole)
	encrypted[6] |= zipEncrypted
	encrypted[bytes.Index(whole, []byte(zipDirectory))+8] |= zipEncrypted
	method := slices.Clone(whole)
	method[8] = 9
	method[bytes.Index(whole, []byte(zipDirectory))+10] = 9
	for _, c := range []struct {
		name string
		in   []byte
		want string // in both
	}{
		{"two dumps", zipped(t, member{name: "a.sql", text: text}, member{name: "b.sql", text: text}), "there are 2 dumps in this zip archive: a.sql, b.sql\nhint: unzip "},
		{"a dump in which a letter is another", flipped(whole, 200), "the zip data is damaged: its checksum is another"},
		{"a packed one that is damaged", flipped(zipped(t, member{name: "a.sql", text: text}), 60), "damaged"},
		{"encrypted", encrypted, "shop.sql in this zip archive is encrypted\nhint: "},
		{"another method", method, "packed by method 9"},
		{"nothing", zipped(t), "there is no file"},
		{"a tar archive", zipped(t, member{name: "shop.sql", text: strings.Repeat("\x00", tarMark) + tarMagic, stored: true, known: true}), "tar archive"},
	} {
		t.Run(c.name, func(t *testing.T) {
			readBoth(t, c.in, func(t *testing.T, _ string, _ []string, err error) {
				var fault *dump.Error
				if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) || fault.Hint == "" {
					t.Errorf("%v, want %s", err, c.want)
				}
			})
		})
	}
}

// TestZipOfOneFile takes a file that is no dump by its name where the directory can be read, and refuses to guess elsewhere.
func TestZipOfOneFile(t *testing.T) {
	readBoth(t, zipped(t, member{name: "backup", text: "SELECT 1;\n"}), func(t *testing.T, text string, _ []string, err error) {
		stream := strings.HasSuffix(t.Name(), "stream")
		if !stream && (err != nil || text != "SELECT 1;\n") || stream && (err == nil || !strings.Contains(err.Error(), "no file with the name of a dump")) {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// TestZipStoredInStream has sizes behind a member that is not compressed: in a pipe nobody can tell where it ends.
func TestZipStoredInStream(t *testing.T) {
	readBoth(t, zipped(t, member{name: "shop.sql", text: "SELECT 1;\n", stored: true}), func(t *testing.T, text string, _ []string, err error) {
		stream := strings.HasSuffix(t.Name(), "stream")
		if !stream && (err != nil || text != "SELECT 1;\n") || stream && (err == nil || !strings.Contains(err.Error(), "stands only at the end of the archive")) {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// TestZipCutAnywhere cuts an archive after every byte: none of the cuts may pass for a whole dump.
func TestZipCutAnywhere(t *testing.T) {
	for _, whole := range [][]byte{zipped(t, member{name: "a.sql", text: "SELECT 1;\n"}), zipped(t, member{name: "a.sql", text: "SELECT 1;\n", stored: true, known: true})} {
		p := filepath.Join(t.TempDir(), "x.zip")
		for n := 4; n < len(whole); n++ {
			if err := os.WriteFile(p, whole[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			for name, open := range map[string]func() (*Reader, error){
				"file": func() (*Reader, error) { return Open(p) }, "stream": func() (*Reader, error) { return NewReader(bytes.NewReader(whole[:n]), p) },
			} {
				r, err := open()
				if err == nil {
					_, err = io.ReadAll(r)
					err = errors.Join(err, r.Close())
				}
				if err == nil || !strings.Contains(err.Error(), "cut short") && !strings.Contains(err.Error(), "damaged") {
					t.Errorf("cut to %d of %d bytes, %s: %v", n, len(whole), name, err)
				}
			}
		}
	}
}

// TestZipWatched has what is read of an archive go to the bar.
func TestZipWatched(t *testing.T) {
	in := zipped(t, member{name: "shop.sql", text: strings.Repeat("SELECT 1;\n", 100_000), stored: true, known: true})
	p := filepath.Join(t.TempDir(), "x.zip")
	if err := os.WriteFile(p, in, 0o600); err != nil {
		t.Fatal(err)
	}
	var watch counter
	r, err := OpenWatched(p, p, &watch)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, r)
	if err := errors.Join(err, r.Close()); err != nil || int(watch) < len(in) {
		t.Errorf("%d bytes of %d, %v", watch, len(in), err)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
