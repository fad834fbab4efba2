package supervisor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// TestPutLogAside puts a log aside once it is large, where the volume has no room left.
func TestPutLogAside(t *testing.T) {
	dir := t.TempDir()
	m, err := sys.NewMount("tmpfs", "size=80m")
	if err == nil {
		defer m.Close()
		dir = m.Path()
	} else {
		t.Log("SKIPPED, UNTESTED: a full volume:", err)
	}
	path, old := filepath.Join(dir, "server.log"), filepath.Join(dir, "server.log.old")
	read := func(path string) []byte {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if putLogAside(path, old) == nil {
		t.Error("there was no log, and that was no error")
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	write := func(text string) {
		t.Helper()
		if _, err := log.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	aside := func() {
		t.Helper()
		if err := putLogAside(path, old); err != nil {
			t.Fatal(err)
		}
	}
	flood := strings.Repeat("flood\n", mostKept/5)
	write(flood)
	if aside(); len(read(path)) != 0 || !bytes.Equal(read(old), []byte(flood[len(flood)-mostKept:])) {
		t.Error("of a log that is too large the end was not put aside")
	}
	first := strings.Repeat("first\n", mostLog/6)
	write(first)
	if aside(); len(read(path)) != len(first) {
		t.Fatalf("a log of %d bytes was put aside", len(first))
	}
	write("first\n")
	if aside(); len(read(path)) != 0 || !bytes.Equal(read(old), []byte(first+"first\n")) {
		t.Error("a large log was not put aside as it was")
	}
	second := strings.Repeat("second\n", mostLog/7+1)
	write(second)
	if m != nil {
		filler, err := os.Create(filepath.Join(dir, "filler"))
		if err != nil {
			t.Fatal(err)
		}
		defer filler.Close()
		for page := make([]byte, 4096); err == nil; {
			_, err = filler.Write(page)
		}
	}
	if aside(); len(read(path)) != 0 || !bytes.Equal(read(old), []byte(second)) {
		t.Error("a large log was not put aside as it was, in a full volume")
	}
	// A line that cannot be written takes no room, and earlier lines stay.
	write(second + "more")
	if err := os.MkdirAll(filepath.Join(old+newSuffix, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := putLogAside(path, old); err == nil || !strings.Contains(err.Error(), "is lost") {
		t.Errorf("what was put aside cannot be written: %v", err)
	}
	if len(read(path)) != 0 || !bytes.Equal(read(old), []byte(second)) {
		t.Error("the log did not begin again, or the log put aside before is gone")
	}
}
