package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotices: the file has the licences of what the program links now.
func TestNotices(t *testing.T) {
	root := filepath.Join("..", "..")
	var want bytes.Buffer
	if err := run(&want, root, false); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the modules say that the program links\nhint: make notices", file)
	}
	for _, part := range []string{"github.com/go-sql-driver/mysql v", "The Go runtime", "uPlot", "Mozilla Public License"} {
		if !strings.Contains(want.String(), part) {
			t.Errorf("there is nothing of %s", part)
		}
	}
}

// TestNoLicence: a module without a licence is an error.
func TestNoLicence(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]bool{"license.go": false, "LICENSE.md": true, "NOTICE": true} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if texts, err := licences(map[string]bool{dir: true}); (err == nil) != want || err == nil && len(texts) != 1 {
			t.Errorf("with %s: %q, %v", name, texts, err)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
