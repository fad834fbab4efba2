package image

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestExplain wants what cancelled a build as its error: a volume that was removed meanwhile is no interruption.
func TestExplain(t *testing.T) {
	b := &build{plan: &plan{}, Store: &Store{Volume: &roomy{free: 1 << 30}}}
	failed := errors.New("the server was killed")
	removed := errors.New("volume xfs is not mounted")
	for name, c := range map[string]struct {
		cause error
		want  string
	}{
		"volume removed": {removed, removed.Error()},
		"signal":         {nil, "interrupted, nothing is left of it"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(c.cause)
			err := b.explain(ctx, failed)
			if !strings.Contains(err.Error(), c.want) || c.cause != nil && strings.Contains(err.Error(), "interrupted") {
				t.Errorf("the error is %q, want %q", err, c.want)
			}
		})
	}
	if err := b.explain(t.Context(), failed); !errors.Is(err, failed) {
		t.Errorf("nothing cancelled it, and the error is %q", err)
	}
	b.Volume = &roomy{free: minRoom - 1}
	var full *volume.NoRoomError
	if err := b.explain(t.Context(), failed); !errors.As(err, &full) || full.Need != minRoom {
		t.Errorf("the volume is full, and the error is %q", err)
	}
}

// roomy is a volume with so many bytes free.
type roomy struct {
	volume.Volume
	free int64
}

func (r *roomy) Usage() (volume.Usage, error) { return volume.Usage{Free: r.free}, nil }
func (*roomy) Kind() volume.Kind              { return volume.Shm }
func (*roomy) Dir() string                    { return "/v" }
