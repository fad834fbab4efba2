package tests

import (
	"flag"
	"regexp"
	"strings"
	"testing"
)

// picked reports whether -run and -skip let a subtest run, for what is begun before subtests are.
func picked(t *testing.T, name string) bool {
	t.Helper()
	run, skip := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String()
	return (run == "" || fits(t, run, name)) && (skip == "" || !fits(t, skip, name))
}

// fits reports whether a test fits a pattern, as package testing has them: alternatives, of an expression for
// each part of a name, of which some may lack at the end.
func fits(t *testing.T, pattern, name string) bool {
	t.Helper()
	parts := strings.Split(name, "/")
alternatives:
	for _, alternative := range splitPattern(pattern, '|') {
		for i, text := range splitPattern(alternative, '/') {
			if i >= len(parts) {
				continue alternatives
			}
			ok, err := regexp.MatchString(text, parts[i])
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue alternatives
			}
		}
		return true
	}
	return false
}

// splitPattern splits outside of brackets and groups.
func splitPattern(pattern string, at byte) (list []string) {
	began, sets, groups := 0, 0, 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '[':
			sets++
		case c == ']':
			sets = max(0, sets-1)
		case sets > 0:
		case c == '(':
			groups++
		case c == ')':
			groups--
		case c == at && groups == 0:
			list = append(list, pattern[began:i])
			began = i + 1
		}
	}
	return append(list, pattern[began:])
}

// TestPicked: a pattern picks what package testing would.
func TestPicked(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"TestMatrix", "TestMatrix/mysql:9.7/image/load", true},
		{"^TestMatrix$/^mysql:9.7$", "TestMatrix/mysql:9.7/image/load", true},
		{"^TestMatrix$/^mariadb:11.8$", "TestMatrix/mysql:9.7/image/load", false},
		{"^TestMatrix$/^mysql:9.7$/^image$/^load$", "TestMatrix/mysql:9.7/image/load", true},
		{"^TestMatrix$/^mysql:9.7$/^image$/^load$", "TestMatrix/mysql:9.7/image/load-full", false},
		{`^TestUI$|^TestMatrix$/^mysql:9\.7$/^image$/^load$`, "TestMatrix/mysql:9.7/image/load", true},
		{"^TestUI$|^TestPages$", "TestMatrix/mysql:9.7/image/load", false},
		{"Test(Matrix|UI)/(mysql|mariadb)", "TestMatrix/mysql:9.7/image/load", true},
		{"Test[|/]x|TestM", "TestMatrix/mysql:9.7/image/load", true},
		{"", "TestMatrix/mysql:9.7/image/load", true},
	} {
		if got := fits(t, tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q fits %q: %t, want %t", tc.name, tc.pattern, got, tc.want)
		}
	}
}
