package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/tests"
)

// all is a run in which everything passed.
func all() map[string]string {
	ended := map[string]string{}
	for _, s := range tests.Suites {
		for _, server := range tests.Servers {
			for _, path := range s.Paths(server) {
				ended[path] = "pass"
			}
		}
	}
	return ended
}

func TestGrid(t *testing.T) {
	if text, ok := grid(all()); !ok || strings.Contains(text, "failed") || strings.Contains(text, "skipped") {
		t.Errorf("everything passed, and the grid says\n%s", text)
	}
	for _, test := range []struct {
		name         string
		path, action string
		want         string
		ok           bool
	}{
		{"failed", "TestMatrix/mysql:9.7/mark/rewind", "fail", "2 passed, 1 failed", false},
		{"did not run", "TestMatrix/mysql:9.7/mark/mark", "", "2 passed, 1 failed", false},
		{"skipped", "TestMatrix/mariadb:11.4/mark/rewind", "skip", "2 passed, 1 skipped", true},
		{"on the first server", "TestScripts/rewind", "fail", "2 passed, 1 failed", false},
		{"skipped in part", "TestRewind/xfs", "skip", "2 passed, 1 skipped", true},
		{"of another name", "TestRewindMore/xfs", "fail", "3 passed", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			ended := all()
			ended[test.path] = test.action
			text, ok := grid(ended)
			_, row, _ := strings.Cut(text, "\nmark ")
			row, _, _ = strings.Cut(row, "\n")
			if ok != test.ok || !strings.Contains(row, test.want) {
				t.Errorf("ok is %v, want %v; %q has no %q", ok, test.ok, row, test.want)
			}
		})
	}
}

// TestGridOfOneServer is a run as an ordinary user: the other servers were skipped as a whole.
func TestGridOfOneServer(t *testing.T) {
	ended := all()
	for path := range ended {
		if strings.HasPrefix(path, "TestMatrix/") {
			delete(ended, path)
		}
	}
	if text, ok := grid(ended); ok {
		t.Errorf("most did not run, and the grid says\n%s", text)
	}
	ended["TestMatrix"] = "skip"
	if text, ok := grid(ended); !ok || strings.Contains(text, "failed") || strings.Count(text, "skipped") != len(tests.Suites)*(len(tests.Servers)-1) {
		t.Errorf("the others were skipped, and the grid says\n%s", text)
	}
	ended["TestMatrix"] = "pass"
	if text, ok := grid(ended); ok {
		t.Errorf("it vanished, and the grid says\n%s", text)
	}
}

func TestParse(t *testing.T) {
	got := parse("pass tests T 1.5\nskip tests T/x 0.0\nfail internal/cli T 2.0\n")
	if diff := cmp.Diff(map[string]string{"T": "pass", "T/x": "skip"}, got); diff != "" {
		t.Error(diff)
	}
}
