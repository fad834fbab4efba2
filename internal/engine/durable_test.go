package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestArchivePlace: a file of the user's is no archive, and no hint says to remove it.
func TestArchivePlace(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "ramaria") // no RAM
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file, held := filepath.Join(dir, "file"), filepath.Join(dir, "it's held")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Mkdir(held, 0o700), os.WriteFile(filepath.Join(held, "manifest.json"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		file: "it is not a directory\nhint: --archive DIR", filepath.Join(file, "below"): "it is not a directory\nhint: --archive DIR",
		held: "rm -r '" + dir + `/it'\''s held' loses it`, filepath.Join(dir, "new"): "", dir: "",
	} {
		err := (&Engine{}).checkDurable("shop", instance.Spec{Durable: instance.DurableCommit, Archive: []string{place}}, false)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", place, err, want)
		}
	}
}

// TestRestoreHint: the command of a hint is one word for the archive, whatever its name.
func TestRestoreHint(t *testing.T) {
	broken := &durable.BrokenError{Epoch: 1, At: archive.Position{File: 2, Offset: 3}, Err: errors.New("x")}
	got := explainRestore(broken, "shop", restoreBefore("/a b/100%s", "NEW"), "ramaria up shop --accept-loss").Error()
	if want := "ramaria restore '/a b/100%s' --at-position 1:2:3 --as NEW restores"; !strings.Contains(got, want) {
		t.Errorf("got %s; want %s", got, want)
	}
}
