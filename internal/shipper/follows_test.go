package shipper_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// memory is a log that remembers where it ends.
type memory struct{ end archive.Position }

func (m *memory) End() archive.Position { return m.end }

func (m *memory) Append(p archive.Position, b []byte) error {
	m.end = archive.Position{File: p.File, Offset: p.Offset + int64(len(b))}
	return nil
}

// TestAnotherLogIsSeen: a log that is begun again under the same name is not the one that is followed; one that
// grows, or goes on in another file, is.
func TestAnotherLogIsSeen(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(path func(string) string) error
		lost bool
	}{
		{"it grows", func(path func(string) string) error {
			return os.WriteFile(path("log.000001"), []byte("one and more"), 0o600)
		}, false},
		{"another file", func(path func(string) string) error { return os.WriteFile(path("log.000002"), nil, 0o600) }, false},
		{"removed", func(path func(string) string) error { return os.Remove(path("log.000001")) }, true},
		{"begun again", func(path func(string) string) error {
			if err := os.Remove(path("log.000001")); err != nil {
				return err
			}
			return os.WriteFile(path("log.000001"), []byte("another one, that is longer"), 0o600)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, name) }
			if err := os.WriteFile(path("log.000001"), []byte("one"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &shipper.Shipper{Dir: dir, Base: "log", Log: &memory{}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- s.Run(ctx) }()
			for s.Shipped().Offset != 3 {
				time.Sleep(time.Millisecond)
			}
			if err := c.do(path); err != nil {
				t.Fatal(err)
			}
			if !c.lost {
				time.Sleep(300 * time.Millisecond)
				if err := s.Follows(); err != nil {
					t.Error(err)
				}
				cancel()
			}
			select {
			case err := <-ended:
				if errors.Is(err, shipper.ErrOther) != c.lost {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("it follows what is not there")
			}
		})
	}
}
