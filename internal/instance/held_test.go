package instance

import (
	"context"
	"errors"
	"os"
	"testing"
)

// TestHeldStays: what a living supervisor holds is not touched, whatever the records say.
func TestHeldStays(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(ctx context.Context, s *Store, i *Instance) error
		want error
	}{
		{"sweep", func(ctx context.Context, s *Store, _ *Instance) error { return s.Sweep(ctx) }, nil},
		{"remove", func(ctx context.Context, s *Store, i *Instance) error { return s.Remove(ctx, &i.Record) }, ErrHeld},
		{"make", func(ctx context.Context, s *Store, i *Instance) error {
			return s.make(ctx, i, "", 0, func() error { return nil })
		}, ErrHeld},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			i := s.put(t, "a", false)
			if err := s.Registry.Delete("a"); err != nil {
				t.Fatal(err)
			}
			t.Run("held", func(t *testing.T) {
				hold(t, i.LockPath())
				if err := c.do(t.Context(), s, i); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if _, err := os.Stat(i.DataDir()); err != nil {
					t.Error(err)
				}
			})
			if err := errors.Join(c.do(t.Context(), s, i), os.WriteFile(i.LockPath(), nil, 0o600)); c.name != "make" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("once it is let go: %v, and it is still there", err)
			}
		})
	}
}
