package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// markStore returns a store with an instance, whose data is a file with a text.
func markStore(t *testing.T, text string) (*Store, *Record) {
	t.Helper()
	s := newStore(t)
	r := &Record{Format: Format, Name: "a", Dir: s.dir("a")}
	if err := errors.Join(os.MkdirAll(filepath.Join(r.DataDir(), "mysql", "any.frm"), 0o700), os.MkdirAll(s.Registry.Dir, 0o700), s.Registry.Put(r)); err != nil {
		t.Fatal(err)
	}
	setData(t, r, text)
	return s, r
}

func setData(t *testing.T, r *Record, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.DataDir(), "file"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantText(t *testing.T, dir, want string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != want {
		t.Errorf("%s has %q, want %q (%v)", dir, b, want, err)
	}
}

// labels are the marks, and what else is in their directory.
func labels(t *testing.T, r *Record) (marks, hidden []string) {
	t.Helper()
	list, err := r.Marks()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		marks = append(marks, m.Label)
	}
	hidden, err = filepath.Glob(filepath.Join(r.marksDir(), ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return marks, hidden
}

var errFreeze = errors.New("it would not stop")

// refuses is a server that cannot be stopped.
var refuses = volume.How{Freeze: func(func(context.Context) error) error { return errFreeze }}

// TestMarkReplaceFails: the old mark stays until there is a new one, whatever fails.
func TestMarkReplaceFails(t *testing.T) {
	s, r := markStore(t, "one")
	if _, err := s.Mark(t.Context(), r, "m", false, volume.How{}); err != nil {
		t.Fatal(err)
	}
	setData(t, r, "two")
	if _, err := s.Mark(t.Context(), r, "m", false, volume.How{}); !errors.Is(err, ErrMarkExists) {
		t.Errorf("a label that is taken: %v", err)
	}
	if _, err := s.Mark(t.Context(), r, "m", true, refuses); !errors.Is(err, errFreeze) {
		t.Errorf("a snapshot that fails: %v", err)
	}
	wantText(t, r.MarkDir("m"), "one")
	// As in a full volume, when the copy went in and its record does not.
	record := r.markRecord("m")
	if err := errors.Join(os.Remove(record), os.MkdirAll(filepath.Join(record, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Mark(t.Context(), r, "m", true, volume.How{}); err == nil {
		t.Error("a record that cannot be written is no error")
	}
	wantText(t, r.MarkDir("m"), "one")
	if err := os.RemoveAll(record); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Mark(t.Context(), r, "m", true, volume.How{}); err != nil {
		t.Fatal(err)
	}
	wantText(t, r.MarkDir("m"), "two")
	if marks, hidden := labels(t, r); !slices.Equal(marks, []string{"m"}) || len(hidden) > 0 {
		t.Errorf("marks %v, and beside them %v", marks, hidden)
	}
}

// TestMarkOfNothing: data that somebody has emptied does not take the place of a mark.
func TestMarkOfNothing(t *testing.T) {
	s, r := markStore(t, "good")
	if _, err := s.Mark(t.Context(), r, "m", false, volume.How{}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(r.DataDir(), "mysql")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Mark(t.Context(), r, "m", true, volume.How{}); err == nil || !strings.Contains(err.Error(), "\nhint: ") {
		t.Errorf("got %v, want an error with a hint", err)
	}
	wantText(t, r.MarkDir("m"), "good")
	// And a directory that was removed altogether can be put back.
	if err := os.RemoveAll(r.DataDir()); err != nil {
		t.Fatal(err)
	}
	old, err := s.Rewind(t.Context(), r, "m", func() error { return nil })
	if err != nil || old != "" {
		t.Fatalf("got %q, %v", old, err)
	}
	wantText(t, r.DataDir(), "good")
}

// onlyMatch returns the one path that a pattern matches.
func onlyMatch(t *testing.T, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) != 1 {
		t.Fatalf("%s matches %v (%v)", pattern, list, err)
	}
	return list[0]
}

// TestRewindPhases makes a rewind fail, or end, between its phases.
func TestRewindPhases(t *testing.T) {
	s, r := markStore(t, "marked")
	if _, err := s.Mark(t.Context(), r, "m", false, volume.How{}); err != nil {
		t.Fatal(err)
	}
	setData(t, r, "now")
	if _, err := s.Rewind(t.Context(), r, "none", func() error { t.Error("stopped for nothing"); return nil }); !errors.Is(err, ErrNoMark) {
		t.Errorf("no such mark: %v", err)
	}
	if _, err := s.Rewind(t.Context(), r, "../data", nil); !errors.Is(err, ErrNoMark) {
		t.Errorf("a label that is none: %v", err)
	}
	_, err := s.Rewind(t.Context(), r, "m", func() error {
		wantText(t, onlyMatch(t, r.nextDir()+"*"), "marked") // all is prepared by now
		return errFreeze
	})
	if !errors.Is(err, errFreeze) {
		t.Errorf("a server that does not stop: %v", err)
	}
	wantText(t, r.DataDir(), "now")
	if left, err := filepath.Glob(r.nextDir() + "*"); err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
	old, err := s.Rewind(t.Context(), r, "m", func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, r.DataDir(), "marked")
	wantText(t, old, "now")
	wantText(t, r.MarkDir("m"), "marked")
	// The server does not start on it.
	if err := s.Unwind(t.Context(), r, old); err != nil {
		t.Fatal(err)
	}
	wantText(t, r.DataDir(), "now")
	if old, err = s.Rewind(t.Context(), r, "m", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	// It was killed before it removed what the instance held, in the middle of a mark.
	half := r.newMarkDir("half")
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Tidy(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{old, half} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left (%v)", path, err)
		}
	}
	wantText(t, r.DataDir(), "marked")
	wantText(t, r.MarkDir("m"), "marked")
	if err := s.DeleteMark(t.Context(), r, "m"); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteMark(t.Context(), r, "m"); !errors.Is(err, ErrNoMark) {
		t.Errorf("removed twice: %v", err)
	}
	left, err := os.ReadDir(r.marksDir())
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
}

// TestSnapshotOfHardLinks: files with several names are copied while the server is stopped.
func TestSnapshotOfHardLinks(t *testing.T) {
	s, r := markStore(t, "one")
	if err := os.Link(filepath.Join(r.DataDir(), "file"), filepath.Join(r.DataDir(), "same")); err != nil {
		t.Fatal(err)
	}
	stood := 0
	freeze := volume.How{Freeze: func(rest func(context.Context) error) error {
		stood++
		setData(t, r, "last") // what is copied is how it is now
		return rest(t.Context())
	}}
	if _, err := s.Mark(t.Context(), r, "m", false, freeze); err != nil {
		t.Fatal(err)
	}
	wantText(t, r.MarkDir("m"), "last")
	a, aerr := os.Stat(filepath.Join(r.MarkDir("m"), "file"))
	b, berr := os.Stat(filepath.Join(r.MarkDir("m"), "same"))
	if err := errors.Join(aerr, berr); err != nil || !os.SameFile(a, b) || stood != 1 {
		t.Errorf("it stood still %d times; the copy's names are not of one file (%v)", stood, err)
	}
}
