package sys

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFIFO: it is opened when somebody reads it, and what was written is known to have been read.
func TestFIFO(t *testing.T) {
	path := t.TempDir()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.MakeFIFO("init", 0, 0); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := OpenFIFO(ended, path, "init"); !errors.Is(err, context.Canceled) {
		t.Errorf("without a reader: %v", err)
	}
	lines, ask := make(chan string), make(chan struct{})
	go func() {
		defer close(lines)
		f, err := os.Open(filepath.Join(path, "init"))
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		r := bufio.NewReader(f)
		for range ask {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	p, err := OpenFIFO(t.Context(), path, "init")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := p.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if err := p.Drained(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("not read yet: %v", err)
		}
		ask <- struct{}{}
		if got := <-lines; got != line {
			t.Errorf("read %q, want %q", got, line)
		}
		if err := p.Drained(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	ask <- struct{}{}
	if line, more := <-lines; more {
		t.Errorf("read %q behind the end", line)
	}
	close(ask)
}

// TestFIFOIsNoFile: nothing is written to a file that was put in its place.
func TestFIFOIsNoFile(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "init"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("init", filepath.Join(path, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"init", "link"} {
		if _, err := OpenFIFO(t.Context(), path, name); !errors.Is(err, ErrNotPlain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
