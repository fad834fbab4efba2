package engine

import (
	"errors"
	"testing"
)

func TestSplitHint(t *testing.T) {
	for in, want := range map[string][2]string{"a": {"a", ""}, "a\nb\nhint: c": {"a\nb", "c"}} {
		if text, hint := splitHint(errors.New(in)); text != want[0] || hint != want[1] {
			t.Errorf("%q: got %q, %q", in, text, hint)
		}
	}
}
