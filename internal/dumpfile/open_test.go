package dumpfile

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/dump"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func gzipped(t *testing.T, parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		z := gzip.NewWriter(&b)
		_, err := io.WriteString(z, p)
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstandard(t *testing.T, parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(z, p)
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func xzipped(t *testing.T, parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		z, err := xz.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(z, p)
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestNewReader(t *testing.T) {
	const text = "SELECT 1;\n"
	for _, c := range []struct {
		name string
		in   []byte
		kind Compression
		want string
	}{
		{"plain", []byte(text), Plain, text},
		{"empty", nil, Plain, ""},
		{"byte order mark", []byte("\xef\xbb\xbf" + text), Plain, text},
		{"gzip", gzipped(t, text), Gzip, text},
		{"gzip of several members", gzipped(t, text, "", text), Gzip, text + text},
		{"gzip with byte order mark", gzipped(t, "\xef\xbb\xbf"+text), Gzip, text},
		{"zstd", zstandard(t, text), Zstd, text},
		{"zstd of several frames", zstandard(t, text, text), Zstd, text + text},
		{"xz", xzipped(t, text), XZ, text},
		{"xz of several streams", xzipped(t, text, "", text), XZ, text + text},
		{"bzip2", bzipped(t, bzip2One), Bzip2, text},
		{"bzip2 of several streams", bzipped(t, bzip2One, bzip2None, bzip2One), Bzip2, text + text},
		{"what only begins as bzip2", []byte("BZh9 is no bzip2"), Plain, "BZh9 is no bzip2"},
		{"gzip in gzip", gzipped(t, string(gzipped(t, text))), Gzip, text},
		{"bzip2 in zstd", zstandard(t, string(bzipped(t, bzip2One))), Zstd, text},
		{"zstd behind a frame to be skipped", append([]byte("\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"), zstandard(t, text)...), Zstd, text},
		{"xz with padding", append(xzipped(t, text), 0, 0, 0, 0), XZ, text},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReader(&oddReader{bytes.NewReader(c.in), 1}, "x.sql")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close(), r.Close()); err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want || r.Compression() != c.kind {
				t.Errorf("got %s %q", r.Compression(), got)
			}
		})
	}
}

func TestNewReaderFaults(t *testing.T) {
	var long strings.Builder // digits that compress to less than half
	for r := rand.New(rand.NewPCG(1, 1)); long.Len() < 1<<20; {
		long.WriteString(strconv.FormatUint(r.Uint64(), 10))
	}
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"gzip cut short", gzipped(t, long.String())[:400000], "x: the file is cut short: its gzip data ends in the middle"},
		{"gzip without its sum", gzipped(t, "a")[:20], "x: the file is cut short"},
		{"gzip head cut short", gzipped(t, "a")[:8], "x: the file is cut short"},
		{"gzip with other bytes behind", append(gzipped(t, "a"), "bbbbbbbbbbbbbbb"...), "x: something that is not gzip stands behind its gzip data"},
		{"zstd cut short", zstandard(t, long.String())[:400000], "x: the file is cut short: its zstd data ends in the middle"},
		{"zstd damaged", append(zstandard(t, "a"), "bbbbbbbbbb"...), "x: the zstd data is damaged"},
		{"xz cut short", xzipped(t, long.String())[:400000], "x: the file is cut short: its xz data ends in the middle"},
		{"xz damaged", append(xzipped(t, "a"), "bbbbbbbbbbbb"...), "x: the xz data is damaged"},
		{"xz that takes much memory", []byte("\xfd7zXZ\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x20"), "x: unpacking this xz file would take more than 128 MB of memory\nhint: unpack it first: xz -dc x"},
		{"bzip2 with other bytes behind", append(bzipped(t, bzip2One), "bbbbbbbb"...), "x: something that is not bzip2 stands behind its bzip2 data\nhint: is it a whole file? if what comes first is all of it: bzip2 -dc x"},
		{"bzip2 damaged", flipped(bzipped(t, bzip2One), 30), "x: the bzip2 data is damaged"},
		{"gzip three times", gzipped(t, string(gzipped(t, string(gzipped(t, "a"))))), "x: this dump is packed more than twice, one packing in the other\nhint: unpack it first: gzip -dc x"},
		{"gzip cut short in gzip", gzipped(t, string(gzipped(t, long.String())[:400000])), "x: the file is cut short: its gzip data ends in the middle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(c.in), "x")
			if err == nil {
				_, err = dump.Check(io.Discard, io.LimitReader(r, 1<<30), dump.Options{})
				r.Close()
			}
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error = %v, want %s", err, c.want)
			}
		})
	}
}

// TestNewReaderCutAnywhere cuts compressed dumps after every byte: none of the
// cuts may pass for a whole file.
func TestNewReaderCutAnywhere(t *testing.T) {
	for _, whole := range [][]byte{gzipped(t, "SELECT 1;\n"), zstandard(t, "SELECT 1;\n"), xzipped(t, "SELECT 1;\n"), xzipped(t, "SELECT 1;\n", "SELECT 2;\n"), bzipped(t, bzip2One)} {
		second := bytes.LastIndex(whole, []byte("\xfd7zXZ\x00"))
		for n := 6; n < len(whole); n++ {
			r, err := NewReader(bytes.NewReader(whole[:n]), "x")
			if err == nil {
				_, err = io.ReadAll(r)
				r.Close()
			}
			if second > 0 && n >= second-4 && n <= second && err == nil {
				continue // a whole stream
			}
			if err == nil || !strings.Contains(err.Error(), "cut short") {
				t.Errorf("cut to %d of %d bytes: %v", n, len(whole), err)
			}
		}
	}
}

// xzProgram packs with the xz program, in blocks of 1 MB.
func xzProgram(t *testing.T, level, text string) []byte {
	program, err := exec.LookPath("xz")
	if err != nil {
		t.Skip("SKIPPED, UNTESTED: xz: there is no such program")
	}
	cmd := exec.CommandContext(t.Context(), program, level, "--threads=2", "--block-size=1048576")
	cmd.Stdin = strings.NewReader(text)
	packed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// TestXZStreams has half a file unpacked.
func TestXZStreams(t *testing.T) {
	packed := xzProgram(t, "-9", strings.Repeat("SELECT 1;\n", 1<<20))
	if got := xzWindow(packed[:min(len(packed), xzHead)]); got != 64<<20 {
		t.Errorf("a window of %d bytes", got)
	}
	r, err := NewReader(io.MultiReader(bytes.NewReader(packed[:len(packed)/2]), iotest.ErrReader(io.ErrClosedPipe)), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	if n < 1<<20 || err == nil {
		t.Errorf("%d bytes of half a file, %v", n, err)
	}
}

// TestXZCutBehindBlock cuts where the library sees an end. Blocks are a multiple of 4 bytes.
func TestXZCutBehindBlock(t *testing.T) {
	packed := xzProgram(t, "-0", strings.Repeat("SELECT 1;\n", 1<<18))
	for n := 16; n < len(packed); n += 4 {
		r, err := NewReader(bytes.NewReader(packed[:n]), "x")
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(packed), err)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none.sql")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
	p := filepath.Join(dir, "misnamed.sql")
	if err := os.WriteFile(p, gzipped(t, "SELECT 1;"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("SELECT 1;", string(got)); d != "" || r.Name() != p {
		t.Error(d, r.Name())
	}
}

// oddReader gives its bytes in pieces of size, size+3, size+6, ... up to 97.
type oddReader struct {
	r    io.Reader
	size int
}

func (o *oddReader) Read(p []byte) (int, error) {
	o.size = o.size%97 + 3
	return o.r.Read(p[:min(len(p), o.size)])
}
