package engine

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestUnconfinedNote: who loads what is somebody else's into a server that nothing confines is told.
func TestUnconfinedNote(t *testing.T) {
	dump := []image.Source{{Kind: image.FromPath, Name: "shop.sql"}}
	for _, c := range []struct {
		name, why, want string
		spec            instance.Spec
	}{
		{"a dump, confined", "", "", instance.Spec{From: dump}},
		{"a dump, on an old kernel", "the kernel has no Landlock", "the kernel has no Landlock", instance.Spec{From: dump}},
		{"a dump, unconfined", "", "--confine off", instance.Spec{From: dump, Confine: instance.ConfineOff}},
		{"a stream, on an old kernel", "no Landlock", "no Landlock", instance.Spec{From: []image.Source{{Kind: image.FromStdin}}}},
		{"nothing, on an old kernel", "no Landlock", "", instance.Spec{}},
		{"a command, which may do everything", "no Landlock", "", instance.Spec{From: []image.Source{{Kind: image.FromCommand, Name: "x"}}}},
	} {
		got := new(Engine).unconfinedNote(c.spec, c.why)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
