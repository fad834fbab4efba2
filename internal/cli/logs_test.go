package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestTail follows a log that grows, is put aside by a start, and is cut, with lines before each that were
// not printed yet: all are, in their order and once.
func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	old := path + ".old"
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		check(err)
		_, err = f.WriteString(text)
		check(err)
		check(f.Close())
	}
	cut := func() {
		t.Helper()
		text, err := os.ReadFile(path)
		check(err)
		check(os.Truncate(path, 0))
		check(os.WriteFile(old+".new", text, 0o600))
		check(os.Rename(old+".new", old))
	}
	check(os.WriteFile(old, []byte("of the run before\n"), 0o600))
	write("1 ")
	f, err := os.Open(path)
	check(err)
	was, err := os.Stat(old)
	check(err)
	var out bytes.Buffer
	log := &tail{path: path, oldPath: old, out: &out, f: f, old: was}
	defer func() { log.f.Close() }()
	for _, step := range []func(){
		func() {},
		func() { write("2 ") },
		func() { write("3 "); cut(); write("4 ") },
		func() { write("5 ") },
		func() { cut() },
		func() { write("6 and more than was there before ") },
		func() { write("7 "); check(os.Rename(path, old)) },
		func() { write("8 ") },
		func() { write("9 "); check(os.Rename(path, old)); write("10 ") },
		func() { write("11 "); cut(); write("12, which is longer than what was cut ") },
		func() { check(os.Remove(old)); write("13 ") },
		func() { cut() },
		func() { write("14 ") },
	} {
		step()
		check(log.print())
	}
	const want = "1 2 3 4 5 6 and more than was there before 7 8 9 10 11 12, which is longer than what was cut 13 14 "
	if got := out.String(); got != want {
		t.Errorf("printed:\n%s\nwant:\n%s", got, want)
	}
}
