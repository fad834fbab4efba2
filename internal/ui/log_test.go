package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTail follows a log that grows, is cut to nothing, and is another file after a start.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	write := func(flag int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	log := tail{path: path}
	expect := func(step, want string, begins bool) {
		t.Helper()
		got, err := log.more()
		switch {
		case err != nil:
			t.Errorf("%s: %v", step, err)
		case got.Text != want || got.Begins != begins:
			t.Errorf("%s: got %+v, want %q, begins: %t", step, got, want, begins)
		}
	}
	expect("no log", "", false)
	write(os.O_APPEND, "one\n")
	expect("first", "one\n", true)
	expect("nothing new", "", false)
	write(os.O_APPEND, "two\n\x1b[31m")
	expect("more", "two\n\\x1b[31m", false)
	write(os.O_TRUNC, "x\n")
	expect("cut to nothing", "x\n", true)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	expect("between two files", "", false)
	write(os.O_APPEND, "another run\n")
	expect("another file", "another run\n", true)
	write(os.O_APPEND, strings.Repeat("y", 2*logTail))
	if got, err := log.more(); err != nil || len(got.Text) != logTail || got.At != log.at || got.File != log.file {
		t.Errorf("a long piece: %d bytes, %v", len(got.Text), err)
	}
	write(os.O_TRUNC, strings.Repeat("half\n", logTail)+"end\n")
	if got, err := log.more(); err != nil || !strings.HasPrefix(got.Text, "half\n") || !strings.HasSuffix(got.Text, "\nend\n") {
		t.Errorf("the end of a long log: %.20q, %v", got.Text, err)
	}
}
