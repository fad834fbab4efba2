package durable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestFits: data in RAM is used that has all of the archive, and other data is not. What a server that was killed has cut off its
// log, and the archive with it, need not be there.
func TestFits(t *testing.T) {
	head := append([]byte("\xfebin"), make([]byte, 96)...)
	add := func(text string) func(*archive.Log) error {
		return func(l *archive.Log) error { return l.Append(l.End(), []byte(text)) }
	}
	cut := func(at int64) func(*archive.Log) error {
		return func(l *archive.Log) error { return l.Cut(archive.Position{File: 1, Offset: at}) }
	}
	for _, c := range []struct {
		name  string
		steps []func(*archive.Log) error
		file  string // behind the head
		fits  bool
	}{
		{"the same", []func(*archive.Log) error{add("whole")}, "whole", true},
		{"more", []func(*archive.Log) error{add("whole")}, "whole more", true},
		{"less", []func(*archive.Log) error{add("whole")}, "who", false},
		{"other", []func(*archive.Log) error{add("whole")}, "whale", false},
		{"cut", []func(*archive.Log) error{add("whole"), add("torn"), cut(105)}, "whole", true},
		{"cut, and went on", []func(*archive.Log) error{add("whole"), add("torn"), cut(105), add("new")}, "wholenew", true},
		{"cut, and differs before", []func(*archive.Log) error{add("whole"), add("torn"), cut(105)}, "whale", false},
		{"cut, and differs behind", []func(*archive.Log) error{add("whole"), add("torn"), cut(105), add("new")}, "wholeold", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := &instance.Instance{Record: instance.Record{Name: "shop", Dir: t.TempDir()}}
			id := archive.NewID()
			i.Durable = &instance.Durable{Archive: id.String(), Epoch: 1}
			if err := os.Mkdir(i.DataDir(), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(i.DataDir(), serverLog(1)), append(bytes.Clone(head), c.file...), 0o600); err != nil {
				t.Fatal(err)
			}
			a := &Archive{Dir: t.TempDir(), Manifest: &archive.Manifest{ID: id, Epochs: []archive.Epoch{{Number: 1}}}}
			a.Disk = archive.OSDisk{Dir: a.Dir}
			l, err := archive.CreateLog(a.Disk, a.Manifest.LogID(1))
			if err != nil {
				t.Fatal(err)
			}
			err = l.Append(archive.Position{File: 1}, head)
			for _, step := range c.steps {
				err = errors.Join(err, step(l))
			}
			if err := errors.Join(err, l.Close()); err != nil {
				t.Fatal(err)
			}
			if err := a.fits(i, "boot"); c.fits && err != nil || !c.fits && !errors.Is(err, ErrBehind) {
				t.Errorf("got %v", err)
			}
		})
	}
}
