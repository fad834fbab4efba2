package server

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckExternalTables finds a table's file outside of the directory wherever the
// dictionary names it, and no other.
func TestCheckExternalTables(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "t.ibd")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dictionary func(dir string) string
		found      bool
	}{
		"no dictionary's words":  {func(string) string { return "./shop/t.ibd\x00mysql.ibd" }, false},
		"outside":                {func(string) string { return "\x00\x07" + outside + "\x00" }, true},
		"after a slash":          {func(string) string { return "a/b" + outside + "\x00" }, true},
		"over the end of a read": {func(string) string { return strings.Repeat("\x00", 1<<20-5) + outside + "\x00" }, true},
		"inside":                 {func(dir string) string { return filepath.Join(dir, "mysql.ibd") }, false},
		"gone":                   {func(string) string { return "/nosuch/shop/t.ibd" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "mysql.ibd"), []byte(c.dictionary(dir)), 0o600); err != nil {
				t.Fatal(err)
			}
			err := CheckExternalTables(dir)
			if errors.Is(err, ErrExternalTable) != c.found || err != nil && !strings.Contains(err.Error(), outside) {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := CheckExternalTables(t.TempDir()); err != nil {
		t.Errorf("without a dictionary: %v", err)
	}
}

func TestLogTailHasNoPasswords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	text := "x [ERROR] query CREATE USER 'a'@'%' IDENTIFIED BY 's3''cret', 'b'@'%' identified by 'other' failed\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := LogTail(path), "x [ERROR] query CREATE USER 'a'@'%' IDENTIFIED BY ..., 'b'@'%' identified by ... failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestKeptRSA: the key is made once, and again when it cannot be read.
func TestKeptRSA(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	first, err := keptRSA(dir)
	if err != nil {
		t.Fatal(err)
	}
	again, err := keptRSA(dir)
	if err != nil || string(again.private) != string(first.private) {
		t.Errorf("made twice, %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rsa.pem"), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := keptRSA(dir)
	if err != nil || string(other.private) == string(first.private) {
		t.Errorf("a damaged key: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}
