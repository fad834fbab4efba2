package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestModule checks the layers of this module, and what is generated from them.
func TestModule(t *testing.T) {
	faults, err := run("../..", false, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// TestPicture looks at the picture of this module as a terminal shows it.
func TestPicture(t *testing.T) {
	l, err := parseList(listText)
	if err != nil {
		t.Fatal(err)
	}
	m, err := readModule("../..")
	if err != nil {
		t.Fatal(err)
	}
	shown := picture(l, m)
	for line := range strings.Lines(shown) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, p := range m.packages {
		if !strings.Contains(shown, " "+short(p.path)+" ") {
			t.Errorf("the picture lacks %s", p.path)
		}
	}
}

const made = `
layer top
a        the top
layer middle
b        left
  only d
  why b reads
c        right
helps    tests
  helper
layer bottom
d        the bottom
e        beside it
`

func TestCheck(t *testing.T) {
	sound := map[string]string{"a": "b c", "b": "d", "c": "d e", "d": "", "e": "", "helps": "d"}
	tests := []struct {
		name    string
		imports map[string]string // instead of the sound ones
		tests   map[string]string
		want    []string
	}{
		{name: "sound"},
		{
			name:    "upwards",
			imports: map[string]string{"d": "c", "c": "e"},
			want:    []string{"d imports c: an arrow upwards, from layer 3, bottom, to layer 2, middle"},
		},
		{
			name:    "sideways",
			imports: map[string]string{"b": "c"},
			want:    []string{"b imports c, which is of the same layer, middle"},
		},
		{
			name:    "forbidden",
			imports: map[string]string{"b": "e"},
			want:    []string{"b imports e, which its line in tests/layers/layers.txt forbids: b reads"},
		},
		{
			name:    "cycle",
			imports: map[string]string{"d": "c"},
			want: []string{
				"d imports c: an arrow upwards, from layer 3, bottom, to layer 2, middle",
				"cycle: d -> c -> d",
			},
		},
		{
			name:    "not in the list",
			imports: map[string]string{"f": ""},
			want:    []string{"f has no layer: give it a line in tests/layers/layers.txt"},
		},
		{
			name:  "tests import helpers and their own package",
			tests: map[string]string{"d": "d helps"},
		},
		{
			name:  "tests keep the layers",
			tests: map[string]string{"d": "b"},
			want:  []string{"tests of d imports b: an arrow upwards, from layer 3, bottom, to layer 2, middle"},
		},
		{
			name:    "helpers are for tests",
			imports: map[string]string{"e": "helps"},
			want:    []string{"e imports helps: an arrow upwards, from layer 3, bottom, to layer 2, middle"},
		},
	}
	l, err := parseList(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &module{path: "example.org/m"}
			for _, path := range []string{"a", "b", "c", "d", "e", "f", "helps"} {
				imports, ok := tt.imports[path]
				if !ok {
					if imports, ok = sound[path]; !ok {
						continue
					}
				}
				m.packages = append(m.packages, &pkg{
					path: path, imports: strings.Fields(imports), testImports: strings.Fields(tt.tests[path]),
				})
			}
			if diff := cmp.Diff(tt.want, check(l, m)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
	if got := check(l, &module{}); len(got) != 6 {
		t.Errorf("packages that are gone: %q", got)
	}
}

func TestGenerated(t *testing.T) {
	l, err := parseList(made)
	if err != nil {
		t.Fatal(err)
	}
	m := &module{path: "example.org/m"}
	for _, g := range generated {
		t.Run(g.file, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			hand := "by hand\n  " + g.begin + "\nold\n  " + g.end + "\nby hand too\n"
			if err := os.WriteFile(path, []byte(hand), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct {
				write, stale bool
			}{{false, true}, {true, false}, {false, false}} {
				fault, err := g.update(path, l, m, step.write)
				if err != nil || (fault != "") != step.stale {
					t.Errorf("write %t: fault %q, error %v", step.write, fault, err)
				}
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := string(b)
			if !strings.HasPrefix(text, "by hand\n  "+g.begin+"\n") || !strings.HasSuffix(text, "\n  "+g.end+"\nby hand too\n") ||
				strings.Contains(text, "old") {
				t.Errorf("written: %s", text)
			}
			if err := os.WriteFile(path, []byte("no marks"), 0o600); err != nil {
				t.Fatal(err)
			}
			if fault, err := g.update(path, l, m, true); err != nil || fault == "" {
				t.Errorf("no marks: fault %q, error %v", fault, err)
			}
		})
	}
}

// TestRules looks at the allow-list of one package.
func TestRules(t *testing.T) {
	l, err := parseList(made)
	if err != nil {
		t.Fatal(err)
	}
	want := `        b:
          files:
            - "**/b/*.go"
          list-mode: lax
          allow:
            - example.org/m/b$
            - example.org/m/helps$
            - example.org/m/d$
          deny:
            - pkg: example.org/m
              desc: "b: b reads"
`
	if got := rules(l, &module{path: "example.org/m"}); !strings.Contains(got, want) {
		t.Errorf("rules:\n%s\nlack\n%s", got, want)
	}
}

func TestParseListRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no layer":       "a  the top\n",
		"no text":        "layer top\na\n",
		"twice":          "layer top\na  one\na  two\n",
		"no package":     "layer top\n  helper\n",
		"unknown line":   "layer top\na  one\n  maybe b\n",
		"only above":     "layer top\na  one\nlayer bottom\nb  two\n  only a\n",
		"only unknown":   "layer top\na  one\n  only c\n",
		"not of a layer": "layer top\na  one\nb  two\n  not a\n",
	} {
		if _, err := parseList(text); err == nil {
			t.Errorf("%s: no error for %q", name, text)
		}
	}
}
