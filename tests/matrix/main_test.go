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
			for _, path := range s.Paths(server, false) {
				ended[path] = "pass"
			}
		}
	}
	return ended
}

func TestGrid(t *testing.T) {
	if text, ok := grid(all(), false); !ok || strings.Contains(text, "failed") || strings.Contains(text, "skipped") {
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
			text, ok := grid(ended, false)
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
	if text, ok := grid(ended, false); ok {
		t.Errorf("most did not run, and the grid says\n%s", text)
	}
	ended["TestMatrix"] = "skip"
	if text, ok := grid(ended, false); !ok || strings.Contains(text, "failed") || strings.Count(text, "skipped") != len(tests.Suites)*(len(tests.Servers)-1) {
		t.Errorf("the others were skipped, and the grid says\n%s", text)
	}
	ended["TestMatrix"] = "pass"
	if text, ok := grid(ended, false); ok {
		t.Errorf("it vanished, and the grid says\n%s", text)
	}
}

func TestParse(t *testing.T) {
	got, quick := parse("pass tests T 1.5\nskip tests T/x 0.0\nfail internal/cli T 2.0\n")
	if diff := cmp.Diff(map[string]string{"T": "pass", "T/x": "skip"}, got); diff != "" || quick {
		t.Error(quick, diff)
	}
	if _, quick := parse(tests.QuickResults + "\npass tests T 1.5\n"); !quick {
		t.Error("a quick run is not seen")
	}
}

// TestGridOfQuickRun: what a quick run leaves out is no failure, and what it has is asked for.
func TestGridOfQuickRun(t *testing.T) {
	ended := map[string]string{}
	for _, s := range tests.Suites {
		for _, server := range tests.Servers {
			for _, path := range s.Paths(server, true) {
				ended[path] = "pass"
			}
		}
	}
	if text, ok := grid(ended, true); !ok || strings.Contains(text, "failed") {
		t.Errorf("everything passed, and the grid says\n%s", text)
	}
	if text, ok := grid(ended, false); ok {
		t.Errorf("most of a full run is not there, and the grid says\n%s", text)
	}
	delete(ended, "TestMatrix/mysql:9.7/reset/db")
	if text, ok := grid(ended, true); ok {
		t.Errorf("one did not run, and the grid says\n%s", text)
	}
}
