package main

import (
	"fmt"
	"os"
	"strings"
)

// A part of a file is generated from the list: what stands between the lines begin and end.
type part struct {
	file, begin, end string
	text             func(*list, *module) string
}

// generated are the parts.
var generated = []part{
	{".golangci.yml", "# layers: generated from " + listFile, "# layers: end", rules},
	{"ARCHITECTURE.md", "<!-- layers: generated from " + listFile + " -->", "<!-- layers: end -->", table},
}

// update compares the part in the file with what the list says, or writes it.
func (g part) update(path string, l *list, m *module, write bool) (fault string, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read generated layers: %w", err)
	}
	head, _, hasBegin := strings.Cut(string(b), g.begin)
	_, tail, hasEnd := strings.Cut(string(b), g.end)
	if !hasBegin || !hasEnd {
		return fmt.Sprintf("%s lacks the line %q or %q", g.file, g.begin, g.end), nil
	}
	indent := head[strings.LastIndexByte(head, '\n')+1:]
	text := head + g.begin + "\n" + g.text(l, m) + indent + g.end + tail
	switch {
	case text == string(b):
		return "", nil
	case !write:
		return g.file + " does not have the layers of " + listFile + ": make layers WRITE=1", nil
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("write generated layers: %w", err)
	}
	return "", nil
}

// rules returns the rules of depguard: for each package of the program the packages of the module
// that it may import. A path that ends in $ is that package and none below it.
func rules(l *list, m *module) string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		fmt.Fprintf(&b, strings.Repeat(" ", indent)+format+"\n", args...)
	}
	for _, p := range l.all() {
		if !p.inProgram() {
			continue
		}
		line(8, "%s:", strings.ReplaceAll(short(p.path), "/", "-"))
		line(10, "files:")
		line(12, "- %q", "**/"+p.path+"/*.go")
		line(10, "list-mode: lax")
		line(10, "allow:")
		for _, q := range l.all() {
			if p.testsMayImport(q) {
				line(12, "- %s/%s$", m.path, q.path)
			}
		}
		line(10, "deny:")
		line(12, "- pkg: %s", m.path)
		why := p.why
		if why == "" {
			why = p.is
		}
		line(14, "desc: %q", short(p.path)+": "+why)
	}
	line(8, "unplaced:")
	line(10, "files:")
	line(12, "- %q", "**/internal/**")
	for _, p := range l.all() {
		if strings.HasPrefix(p.path, "internal/") {
			line(12, "- %q", "!**/"+p.path+"/*.go")
		}
	}
	line(10, "list-mode: lax")
	line(10, "deny:")
	line(12, "- pkg: %s", m.path)
	line(14, "desc: %q", "a new package needs a layer: give it a line in "+listFile+", then make layers WRITE=1")
	return b.String()
}

// inProgram tells whether the package is for the program or for programs of others, and no tool
// of this repository.
func (p *place) inProgram() bool {
	top, _, _ := strings.Cut(p.path, "/")
	return top != "tests" && top != "packaging"
}

// table returns the table of ARCHITECTURE.md.
func table(l *list, _ *module) string {
	var b strings.Builder
	b.WriteString("| layer | package | is |\n|---|---|---|\n")
	for _, layer := range l.layers {
		name := layer.name
		for _, p := range layer.places {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", name, short(p.path), p.is)
			name = ""
		}
	}
	return b.String()
}
