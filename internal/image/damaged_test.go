package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// TestDamaged cuts a saved image everywhere, and flips a bit in each byte: it is
// refused, or (a few bits of a frame mean nothing) gives exactly what was saved.
func TestDamaged(t *testing.T) {
	s, _ := coldStore(t)
	b := newBuild(t, s, coldID)
	for name, text := range map[string]string{"a": "some text", "b": strings.Repeat("more ", 99)} {
		if err := os.WriteFile(filepath.Join(b.dataDir(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := b.publish()
	if err != nil {
		t.Fatal(err)
	}
	want := shapes(t, l.DataDir())
	l.Release()
	v := saveAndForget(t, s)
	whole, err := os.ReadFile(v.Path)
	if err != nil {
		t.Fatal(err)
	}
	accepted, n := 0, 0
	try := func(name string, text []byte) {
		n++
		if err := os.WriteFile(v.Path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := s.Get(t.Context(), coldID, nil)
		if err != nil {
			if _, ok := isDamaged(err); !ok {
				t.Errorf("%s: %v", name, err)
			}
			nothingLeft(t, s)
			return
		}
		accepted++
		if diff := cmp.Diff(want, shapes(t, l.DataDir())); diff != "" {
			t.Errorf("%s: became an image: %s", name, diff)
		}
		l.Release()
		if err := s.Remove(t.Context(), coldID); err != nil {
			t.Fatal(err)
		}
	}
	try("whole", whole)
	if accepted != 1 {
		t.Fatal("not even whole is it accepted")
	}
	for i := range whole {
		try(fmt.Sprintf("cut to %d of %d", i, len(whole)), whole[:i])
	}
	if accepted != 1 {
		t.Errorf("%d cut files were accepted", accepted-1)
	}
	try("doubled", append(bytes.Clone(whole), whole...))
	try("something behind it", append(bytes.Clone(whole), 0))
	if accepted != 1 {
		t.Error("accepted with something behind it")
	}
	for i := range whole {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("byte %d of %d", i, len(whole)), flipped)
	}
	if accepted > n/50 || n < 2*len(whole) {
		t.Errorf("of %d tries %d were accepted", n, accepted)
	}
}

// TestHostile: names that lead elsewhere, links and devices, sums of other files.
func TestHostile(t *testing.T) {
	s, _ := coldStore(t)
	putData(t, s)
	v := saveAndForget(t, s)
	file, dir := byte(tar.TypeReg), byte(tar.TypeDir)
	top := tar.Header{Name: "data/", Typeflag: dir, Mode: 0o700}
	for _, c := range []struct {
		name    string
		entries []tar.Header
		err     string // "" is accepted
	}{
		{"good", []tar.Header{top, {Name: "data/x", Typeflag: file, Mode: 0o4777}, {Name: "data/d/", Typeflag: dir, Mode: 0o700}, {Name: "data/d/..x", Typeflag: file}}, ""},
		{"absolute", []tar.Header{top, {Name: "/etc/x", Typeflag: file}}, "is not one of a file below data"},
		{"absolute below", []tar.Header{top, {Name: "data//etc/x", Typeflag: file}}, "is not one of a file below data"},
		{"up", []tar.Header{top, {Name: "data/../../x", Typeflag: file}}, "is not one of a file below data"},
		{"up and down", []tar.Header{top, {Name: "data/../data/x", Typeflag: file}}, "is not one of a file below data"},
		{"beside", []tar.Header{top, {Name: "used", Typeflag: file}}, "is not one of a file below data"},
		{"image.json again", []tar.Header{top, {Name: "image.json", Typeflag: file}}, "is not one of a file below data"},
		{"a long name", []tar.Header{top, {Name: "data/" + strings.Repeat("x", 256), Typeflag: file}}, "is too long"},
		{"a symbolic link", []tar.Header{top, {Name: "data/l", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}}, "neither a file nor a directory"},
		{"a hard link", []tar.Header{top, {Name: "data/l", Linkname: "data/x", Typeflag: tar.TypeLink}}, "neither a file nor a directory"},
		{"a device", []tar.Header{top, {Name: "data/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}}, "neither a file nor a directory"},
		{"a pipe", []tar.Header{top, {Name: "data/p", Typeflag: tar.TypeFifo}}, "neither a file nor a directory"},
		{"a table that lies elsewhere", []tar.Header{top, {Name: "data/t.isl", Typeflag: file}}, "leads to a file elsewhere"},
		{"more than it says", []tar.Header{top, {Name: "data/x", Typeflag: file, Size: 2 << 20}}, "from a file system that compresses\nhint: ramaria image rm "},
		{"twice", []tar.Header{top, {Name: "data/x", Typeflag: file}, {Name: "data/x", Typeflag: file}}, "comes twice"},
		{"no directory", []tar.Header{top, {Name: "data/d/x", Typeflag: file}}, "comes before its directory"},
		{"below a file", []tar.Header{top, {Name: "data/d", Typeflag: file}, {Name: "data/d/x", Typeflag: file}}, "comes before its directory"},
		{"no data", nil, "holds no data directory"},
		{"data is a file", []tar.Header{{Name: "data", Typeflag: file}}, "comes before its directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeArchive(t, v.Path, c.entries, nil)
			l, err := s.Get(t.Context(), coldID, nil)
			if c.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				if fi, err := os.Stat(filepath.Join(l.DataDir(), "x")); err != nil || fi.Mode() != 0o777 {
					t.Errorf("a mode: %v, %v", fi.Mode(), err)
				}
				l.Release()
				if err := s.Remove(t.Context(), coldID); err != nil {
					t.Error(err)
				}
			} else if _, ok := isDamaged(err); !ok || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
			nothingLeft(t, s)
		})
	}
	for name, change := range map[string]func(string) string{
		"a sum differs":  func(s string) string { return s[:len(s)-20] + "0" + s[len(s)-19:] },
		"a sum too few":  func(s string) string { return s[:strings.LastIndex(s[:len(s)-1], "\n")+1] },
		"a sum too many": func(s string) string { return s + "00  data/y\n" },
		"no end":         func(string) string { return strings.Repeat("0", 1<<20) },
	} {
		writeArchive(t, v.Path, []tar.Header{top, {Name: "data/x", Typeflag: file}}, change)
		_, err := s.Get(t.Context(), coldID, nil)
		if _, ok := isDamaged(err); !ok || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("%s: got %v", name, err)
		}
		nothingLeft(t, s)
	}
}

// writeArchive writes a saved image with any entries, whose sums are right unless
// changed.
func writeArchive(t *testing.T, path string, entries []tar.Header, change func(string) string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(f, zstd.WithWindowSize(packWindow))
	if err != nil {
		t.Fatal(err)
	}
	p := &packer{ctx: t.Context(), tar: tar.NewWriter(z), progress: io.Discard}
	meta := []byte(`{"format":1,"id":"` + coldID + `","size":1}`)
	sum := func(name string, text []byte) {
		h := sha256.New()
		h.Write(text)
		err = errors.Join(err, p.sums.add(name, h))
	}
	err = p.small(metaName, meta, time.Now())
	sum(metaName, meta)
	for _, h := range entries {
		h.ModTime = time.Now()
		err = errors.Join(err, p.tar.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg {
			text := bytes.Repeat([]byte{1}, int(h.Size))
			_, werr := p.tar.Write(text)
			err = errors.Join(err, werr)
			sum(h.Name, text)
		}
	}
	text := p.sums.text.String()
	if change != nil {
		text = change(text)
	}
	err = errors.Join(err, p.small(sumsName, []byte(text), time.Now()), p.tar.Close(), z.Close(), f.Close())
	if err != nil {
		t.Fatal(err)
	}
}

// TestForeignSaved: the file of another image, or of another format, is refused.
func TestForeignSaved(t *testing.T) {
	s, _ := coldStore(t)
	putData(t, s)
	v := saveAndForget(t, s)
	const other = "00000000000000bb"
	c := ColdIn(s.Places)
	if err := os.Link(v.Path, c.path(other)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), other, nil); err == nil || !strings.Contains(err.Error(), `it holds image "`+coldID+`"`) {
		t.Errorf("renamed: %v", err)
	}
	if _, err := s.Get(t.Context(), coldID[:13], nil); err == nil || !strings.Contains(err.Error(), "2 images begin like this") {
		t.Errorf("the beginning of two: %v", err)
	}
	if err := errors.Join(c.Remove(other), os.Mkdir(c.path(other), 0o700)); err != nil {
		t.Fatal(err)
	}
	within(t, "a directory", func() {
		if _, err := s.Get(t.Context(), other, nil); err == nil || !strings.Contains(err.Error(), "it is not a regular file") {
			t.Errorf("a directory: %v", err)
		}
	})
	if err := c.Remove("00000000000000cc"); !errors.Is(err, ErrNotFound) {
		t.Errorf("remove what is not there: %v", err)
	}
}

// TestSaveRefusesLinks: a link that the server's account put into an image does
// not bring files of root's into the file.
func TestSaveRefusesLinks(t *testing.T) {
	s, _ := coldStore(t)
	for name, put := range map[string]func(path string) error{
		"a link":          func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a pipe":          func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a linked parent": func(path string) error { return os.Symlink("/etc", path) },
	} {
		b := newBuild(t, s, coldID)
		if err := put(filepath.Join(b.dataDir(), "x")); err != nil {
			t.Fatal(err)
		}
		l, err := b.publish()
		if err != nil {
			t.Fatal(err)
		}
		l.Release()
		within(t, name, func() {
			if _, err := s.Save(t.Context(), coldID); err == nil || !strings.Contains(err.Error(), "neither a file nor a directory") {
				t.Errorf("%s: %v", name, err)
			}
		})
		if err := s.Remove(t.Context(), coldID); err != nil {
			t.Fatal(err)
		}
		nothingLeft(t, s)
	}
}
