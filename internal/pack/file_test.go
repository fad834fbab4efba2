package pack

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestEndings: the name that a file is given tells how it is compressed, in any case, and not what a link of that name leads to.
func TestEndings(t *testing.T) {
	gzip, zstd := []byte{0x1f, 0x8b}, []byte{0x28, 0xb5, 0x2f, 0xfd}
	for _, c := range []struct {
		name, link string
		begins     []byte
	}{
		{"a.sql", "", []byte("SELECT")}, {"a.sql.gz", "", gzip}, {"a.SQL.GZ", "", gzip}, {"a.sql.Zst", "", zstd},
		{"a.sql.gz", "plain", gzip}, {"a.sql", "packed.zst", []byte("SELECT")},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, c.name)
		if c.link != "" {
			if err := os.WriteFile(filepath.Join(dir, c.link), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(c.link, path); err != nil {
				t.Fatal(err)
			}
		}
		f, err := Create(path, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write([]byte("SELECT 1;\n"))
		if err == nil {
			err = f.Keep()
		}
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(got, c.begins) {
			t.Errorf("%s (to %q) begins with %q, %v; want %q", c.name, c.link, got[:min(len(got), 6)], err, c.begins)
		}
	}
}
