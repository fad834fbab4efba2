package tests

import (
	"fmt"
	"slices"
	"strings"
)

// Later is the part of docs/testing.md that lists, in Markdown, what only `make test-all` runs:
// the scripts and tests of this package on other servers and as another user, and those of other
// packages. TestRegistryInDocs keeps it true.
func Later() string {
	var b strings.Builder
	for _, servers := range alike(Servers[1:]) {
		fmt.Fprintf(&b, "On %s:\n\n| suite | only `make test-all` |\n|---|---|\n", strings.Join(servers, " and "))
		for _, s := range Suites {
			scripts, tests := s.On(servers[0], true)
			left := slices.DeleteFunc(slices.Concat(s.Scripts, s.Tests), func(name string) bool {
				return slices.Contains(scripts, name) || slices.Contains(tests, name)
			})
			fmt.Fprintf(&b, "| %s | %s |\n", s.Name, cells(left))
		}
		b.WriteByte('\n')
	}
	b.WriteString("On " + Servers[0] + " as an ordinary user, when root runs the tests: all scripts, of which `make test` runs\n" + cells(slices.Sorted(slices.Values(OrdinaryUser))) + ".\n\n")
	var packages strings.Builder
	for _, p := range Packages {
		if len(p.Later) > 0 {
			fmt.Fprintf(&packages, "| `%s` | %s |\n", p.Path, cells(p.Later))
		}
	}
	if packages.Len() > 0 {
		b.WriteString("Of other packages:\n\n| package | only `make test-all` |\n|---|---|\n" + packages.String())
	}
	return b.String()
}

// alike groups servers of which a quick run has the same scripts and tests.
func alike(servers []string) (groups [][]string) {
	same := func(a, b string) bool {
		return !slices.ContainsFunc(Suites, func(s Suite) bool {
			aScripts, aTests := s.On(a, true)
			bScripts, bTests := s.On(b, true)
			return !slices.Equal(aScripts, bScripts) || !slices.Equal(aTests, bTests)
		})
	}
	for _, server := range servers {
		i := slices.IndexFunc(groups, func(group []string) bool { return same(group[0], server) })
		if i < 0 {
			groups = append(groups, []string{server})
		} else {
			groups[i] = append(groups[i], server)
		}
	}
	return groups
}

// cells is a list of names as a cell of a table has it.
func cells(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, "`"+strings.ReplaceAll(name, "|", `\|`)+"`")
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, " ")
}
