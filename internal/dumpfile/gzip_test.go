package dumpfile

import (
	"archive/tar"
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestBehindGzip has what stands behind the data of a gzip file.
func TestBehindGzip(t *testing.T) {
	whole := gzipped(t, "SELECT 1;\n", "SELECT 2;\n")
	const strange = "something that is not gzip stands behind its gzip data"
	for _, tt := range []struct{ name, behind, fault string }{
		{"nothing", "", ""},
		{"zeros", strings.Repeat("\x00", 5000), ""},
		{"another member behind zeros", "\x00\x00" + string(gzipped(t, "SELECT 3;\n")), ""},
		{"text", "SELECT 3;\n", strange},
		{"text behind zeros", "\x00\x00x", strange},
		{"what begins as a member", "\x1f\x00 and no more of it", strange},
		{"half a member", string(gzipped(t, "SELECT 3;\n")[:14]), "cut short"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := slices.Concat(whole, []byte(tt.behind))
			r, err := NewReader(iotest.HalfReader(bytes.NewReader(in)), "a.sql.gz")
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
			}
			switch {
			case tt.fault == "" && (err != nil || !strings.HasPrefix(string(got), "SELECT 1;\nSELECT 2;\n")):
				t.Errorf("%q, %v", got, err)
			case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
				t.Errorf("%v, want %s", err, tt.fault)
			}
		})
	}
}

// TestTar refuses an archive, whatever it is called.
func TestTar(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "shop.sql", Size: 9, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "SELECT 1;"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReader(bytes.NewReader(gzipped(t, b.String())), "shop.sql.gz"); err == nil || !strings.Contains(err.Error(), "tar archive") {
		t.Errorf("%v", err)
	}
}
