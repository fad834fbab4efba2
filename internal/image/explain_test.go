package image

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestExplain wants what cancelled a build as its error: a volume that was removed meanwhile is no interruption.
func TestExplain(t *testing.T) {
	b := &build{plan: &plan{}}
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
}
