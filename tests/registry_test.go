package tests

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRegistry: each script and each test is in the table once, and what the table names is there.
func TestRegistry(t *testing.T) {
	named := map[string]int{}
	for _, s := range append([]Suite{Once}, Suites...) {
		for _, name := range s.Scripts {
			named[name+".txtar"]++
		}
		for _, name := range s.Tests {
			named[name]++
		}
	}
	scripts, err := filepath.Glob("script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// #nosec G204 -- this program
	cmd := exec.CommandContext(t.Context(), self, "-test.list", ".")
	cmd.Env = append(os.Environ(), envBinary+"="+filepath.Join(binDir, "ramaria"))
	tests, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(scripts, strings.Fields(string(tests))...) {
		name = filepath.Base(name)
		if named[name] != 1 {
			t.Errorf("%s is named %d times in registry.go, want once", name, named[name])
		}
		delete(named, name)
	}
	for _, s := range Suites {
		for _, name := range slices.Concat(s.Versions, s.Flavours) {
			if !slices.Contains(s.Scripts, name) && !slices.Contains(s.Tests, name) {
				t.Errorf("the quick run of suite %s has %s, which is none of it", s.Name, name)
			}
		}
	}
	for _, name := range OrdinaryUser {
		if _, err := os.Stat(filepath.Join("script", name+".txtar")); err != nil {
			t.Error(err)
		}
	}
	for name := range named {
		t.Errorf("registry.go names %s, which is not there", name)
	}
}

// update writes the part of docs/testing.md that comes from the table.
var update = flag.Bool("update", false, "write golden files")

// TestRegistryInDocs: docs/testing.md ends with what the table leaves for `make test-all`.
func TestRegistryInDocs(t *testing.T) {
	const page, heading = "../docs/testing.md", "\n## What waits for `make test-all`\n"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(b), heading)
	intro, _, _ := strings.Cut(rest, "\nOn ")
	want := before + heading + strings.TrimRight(intro, "\n") + "\n\n" + strings.TrimRight(Later(), "\n") + "\n"
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("docs/testing.md is not what registry.go says: go test ./tests -run '^TestRegistryInDocs$' -update\n%s", diff)
	}
}

// TestRegistryOfPackages: what Later and Apart name is there. That each package has a row tests/gotest checks,
// and that there are the tests which Needed names.
func TestRegistryOfPackages(t *testing.T) {
	for _, p := range Packages {
		files, err := filepath.Glob(filepath.Join("..", p.Path, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("package %s has no tests (%v)", p.Path, err)
		}
		var text []byte
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, b...)
		}
		for _, pattern := range slices.Concat(p.Later, p.Apart) {
			name, _, _ := strings.Cut(pattern, "/")
			if !regexp.MustCompile(`(?m)^func ` + strings.Trim(name, "^$") + `\(t \*testing\.T\)`).Match(text) {
				t.Errorf("package %s has no test %s", p.Path, name)
			}
		}
	}
}
