package dump

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
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
		{"gzip with other bytes behind", append(gzipped(t, "a"), "bbbbbbbbbbbbbbb"...), "x: the gzip data is damaged"},
		{"zstd cut short", zstandard(t, long.String())[:400000], "x: the file is cut short: its zstd data ends in the middle"},
		{"zstd damaged", append(zstandard(t, "a"), "bbbbbbbbbb"...), "x: the zstd data is damaged"},
		{"xz", []byte("\xfd7zXZ\x00..."), "x: xz compressed dumps are not read yet\nhint: unpack it first: xz -dc x"},
		{"zip", []byte("PK\x03\x04..."), "x: this is a zip or bzip2 file"},
		{"UTF-16", []byte("\xff\xfeS\x00E\x00"), "x: this is UTF-16 text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(c.in), "x")
			if err == nil {
				_, err = Check(io.Discard, io.LimitReader(r, 1<<30), Options{})
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
	for _, whole := range [][]byte{gzipped(t, "SELECT 1;\n"), zstandard(t, "SELECT 1;\n")} {
		for n := 6; n < len(whole); n++ {
			r, err := NewReader(bytes.NewReader(whole[:n]), "x")
			if err == nil {
				_, err = io.ReadAll(r)
				r.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "cut short") {
				t.Errorf("cut to %d of %d bytes: %v", n, len(whole), err)
			}
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
