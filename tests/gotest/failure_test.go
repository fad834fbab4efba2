package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFailure: the first error lines are those that a reader looks for.
func TestFailure(t *testing.T) {
	for name, tc := range map[string]struct{ output, want string }{
		"an error":                     {"    x_test.go:7: got 1\n        want 2\n--- FAIL: T (0.00s)\n", "x_test.go:7: got 1\nwant 2"},
		"what it is a part of":         {"--- FAIL: T (0.00s)\n", ""},
		"a script":                     {"# one (1s)\n> exec a\n[stderr]\nhint\n[exit status 1]\nFAIL: script/x.txtar:3: unexpected command failure\n", "> exec a\n[stderr]\nhint\n[exit status 1]\nFAIL: script/x.txtar:3: unexpected command failure"},
		"a script that ran elsewhere":  {"    m_test.go:9: after 1.0 s:\n    > exec a\n        FAIL: script/x.txtar:3: no match\n", "m_test.go:9: after 1.0 s:\n> exec a\nFAIL: script/x.txtar:3: no match"},
		"a panic":                      {"    x_test.go:7: logged\npanic: the cause\n\ngoroutine 1 [running]:\nmain()\nmore\n", "panic: the cause\ngoroutine 1 [running]:\nmain()"},
		"the compiler":                 {"# x [x.test]\nx/x_test.go:6:36: undefined: y\nFAIL\tx [build failed]\n", "x/x_test.go:6:36: undefined: y\nFAIL\tx [build failed]"},
		"anything":                     {"could not build\n", "could not build"},
		"a long line, cut in a letter": {strings.Repeat("ä", 150), strings.Repeat("ä", 100) + "..."},
		"a long line, cut within one":  {"a" + strings.Repeat("ä", 150), "a" + strings.Repeat("ä", 99) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, strings.Join(newFailure([]string{tc.output}, false).first, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
