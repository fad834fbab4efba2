package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// mostNotes is how many lines of tests/leftovers a report repeats.
const mostNotes = 10

// excuse has tests/leftovers add to the snapshot what the first attempt left: a test that fails keeps its
// files. That is not what a later check is about.
func excuse(t *summary, o options) error {
	if o.snapshot == "" || o.below == "" {
		return nil
	}
	out, err := exec.Command("go", "run", "./tests/leftovers", "-excuse", o.snapshot, "-below", filepath.Join(o.below, "1")).CombinedOutput()
	fmt.Fprint(t.out, string(out))
	if err != nil {
		return fmt.Errorf("look at what the first attempt left: %w", err)
	}
	lines := slices.Collect(strings.Lines(string(out)))
	for _, line := range lines[:min(mostNotes, len(lines))] {
		t.notes = append(t.notes, strings.TrimRight(line, "\n"))
	}
	return nil
}
