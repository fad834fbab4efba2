package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	if err := run([]string{dir}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"ramaria.1":             "real MySQL and MariaDB servers in RAM",
		"ramaria-up.1":          "mysql://USER:PASSWORD@127.0.0.1:PORT/DATABASE",
		"ramaria-run.1":         "The exit status is the command's",
		"ramaria-image-build.1": "print its id",
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		// The pages escape hyphens and the like; these words have none.
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ramaria-supervise.1")); err == nil {
		t.Error("a hidden command has a page")
	}
	if run(nil) == nil {
		t.Error("no directory is no error")
	}
}
