package lab

import (
	"testing"
)

func TestContentsDiffer(t *testing.T) {
	want := Contents{"city": "x with checksum 1", "(views)": "2"}
	for _, tc := range []struct {
		name string
		have Contents
		want string
	}{
		{"same", Contents{"city": "x with checksum 1", "(views)": "2"}, ""},
		{"rows", Contents{"city": "x with checksum 2", "(views)": "2"}, "city"},
		{"no table", Contents{"(views)": "2"}, "city"},
		{"no view", Contents{"city": "x with checksum 1", "(views)": "1"}, "(views)"},
	} {
		if got := want.differs(tc.have); got != tc.want {
			t.Errorf("%s: %q differs, want %q", tc.name, got, tc.want)
		}
	}
	if got := want.tables(); len(got) != 1 || got[0] != "city" {
		t.Errorf("tables %q", got)
	}
}

// TestMustEqual notices what is there besides, and what is missing.
func TestMustEqual(t *testing.T) {
	c := Contents{"a": "1", "(views)": "0"}
	for name, have := range map[string]Contents{
		"more": {"a": "1", "b": "1", "(views)": "0"}, "less": {"(views)": "0"}, "other": {"a": "2", "(views)": "0"}, "a view": {"a": "1", "(views)": "1"},
	} {
		if c.mustEqual(have, "db", "before") == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := c.mustEqual(Contents{"a": "1", "(views)": "0"}, "db", "before"); err != nil {
		t.Error(err)
	}
}
