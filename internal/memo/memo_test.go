package memo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// file makes a file that was last changed long enough ago to be remembered.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, text)
	age(t, path)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// age waits until the last change of a file is older than settle; ctime cannot be set.
func age(t *testing.T, path string) {
	t.Helper()
	for {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(changed(fi)) > settle+10*time.Millisecond {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// counter is a computation that counts how often it is asked.
type counter struct{ asked int }

func (c *counter) compute() (string, error) {
	c.asked++
	return fmt.Sprint("answer ", c.asked), nil
}

func get(t *testing.T, s Store, kind, path string, c *counter) string {
	t.Helper()
	answer, err := s.Get(kind, path, c.compute)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestRemembers(t *testing.T) {
	s, path, c := Store{Dir: filepath.Join(t.TempDir(), "memo")}, file(t, "text"), &counter{}
	for range 3 {
		if got := get(t, s, "hash", path, c); got != "answer 1" {
			t.Errorf("got %q", got)
		}
	}
	if got := get(t, s, "version", path, c); got != "answer 2" {
		t.Errorf("another question got %q", got)
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got := get(t, s, "hash", link, c); got != "answer 1" {
		t.Errorf("the same file by another path got %q", got)
	}
}

func TestForgetsChangedFile(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, path string)
	}{
		{"content", func(t *testing.T, path string) { write(t, path, "texts") }},
		{"content of the same size and time", func(t *testing.T, path string) {
			fi, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, path, "TEXT")
			if err := os.Chtimes(path, fi.ModTime(), fi.ModTime()); err != nil {
				t.Fatal(err)
			}
		}},
		{"replaced", func(t *testing.T, path string) {
			write(t, path+".new", "TEXT")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, path, n := Store{Dir: t.TempDir()}, file(t, "text"), &counter{}
			get(t, s, "hash", path, n)
			c.change(t, path)
			if got := get(t, s, "hash", path, n); got != "answer 2" {
				t.Errorf("got %q, want a new answer", got)
			}
		})
	}
}

// TestFreshFile: of a file that changed just now nothing is remembered, since a
// next change could leave its times as they are.
func TestFreshFile(t *testing.T) {
	s, path, c := Store{Dir: t.TempDir()}, filepath.Join(t.TempDir(), "file"), &counter{}
	for slow := true; slow; { // too slow to ask in time
		c.asked = 0
		write(t, path, "text")
		get(t, s, "hash", path, c)
		get(t, s, "hash", path, c)
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		slow = time.Since(changed(fi)) > settle
	}
	if c.asked != 2 {
		t.Errorf("asked %d times, want 2", c.asked)
	}
}

func TestErrors(t *testing.T) {
	s, path := Store{Dir: t.TempDir()}, file(t, "text")
	own := errors.New("own error")
	if _, err := s.Get("hash", path, func() (string, error) { return "", own }); !errors.Is(err, own) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Get("hash", path+".no", (&counter{}).compute); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	_, err := s.Get("hash", path, func() (string, error) {
		write(t, path, "changed meanwhile")
		return "wrong", nil
	})
	if !errors.Is(err, ErrChanged) {
		t.Errorf("a file that changes while it is read: got %v, want ErrChanged", err)
	}
}

// TestNowhere: without a place to remember in, answers are computed.
func TestNowhere(t *testing.T) {
	s, path, c := Store{Dir: os.DevNull}, file(t, "text"), &counter{}
	get(t, s, "hash", path, c)
	if got := get(t, s, "hash", path, c); got != "answer 2" {
		t.Errorf("got %q", got)
	}
}

func TestPrune(t *testing.T) {
	s, c := Store{Dir: t.TempDir()}, &counter{}
	old := time.Now().Add(-time.Hour)
	for i := range MaxEntries {
		name := filepath.Join(s.Dir, fmt.Sprintf("%032d", i))
		write(t, name, "x")
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	path := file(t, "text")
	get(t, s, "hash", path, c)
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) != MaxEntries/2 {
		t.Errorf("%d entries are left, %v; want %d", len(entries), err, MaxEntries/2)
	}
	if got := get(t, s, "hash", path, c); got != "answer 1" {
		t.Errorf("the newest is gone: %q", got)
	}
}
