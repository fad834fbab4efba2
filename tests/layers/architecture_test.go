package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestArchitectureNames checks that every file, link and identifier that ARCHITECTURE.md names
// exists: `cli/up.go`, `engine.Engine.Up`. Paths are those below the module or below internal.
func TestArchitectureNames(t *testing.T) {
	b, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	l, err := parseList(listText)
	if err != nil {
		t.Fatal(err)
	}
	n := newNames("../..", l)
	found := 0
	for i, line := range strings.Split(string(b), "\n") {
		if columns := len([]rune(line)); columns > width {
			t.Errorf("ARCHITECTURE.md:%d: %d columns", i+1, columns)
		}
		for _, name := range namesIn(line) {
			found++
			if missing := n.missing(name); missing != "" {
				t.Errorf("ARCHITECTURE.md:%d: `%s`: %s", i+1, name, missing)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d names found: the page has changed its form, or this test must", found)
	}
	// The test can fail.
	for _, wrong := range []string{"cli/none.go", "docs/none.md", "engine.Engine.None", "server.None", "server.setting.none"} {
		if n.missing(wrong) == "" {
			t.Errorf("%s is there", wrong)
		}
	}
}

var (
	inCode = regexp.MustCompile("`([^`]+)`")
	inLink = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

// namesIn returns what stands in the code spans and links of a line.
func namesIn(line string) (names []string) {
	for _, re := range []*regexp.Regexp{inCode, inLink} {
		for _, m := range re.FindAllStringSubmatch(line, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

var (
	fileName   = regexp.MustCompile(`^[\w./-]+\.(go|md|sh|svg|txt|yaml|yml)$`)
	identifier = regexp.MustCompile(`^([a-z]+)\.(\w+(?:\.\w+)?)$`)
	// dataFile are names of files that ramaria writes.
	dataFile = regexp.MustCompile(`\.(cnf|json|log|new|old|pem|sock|sql)$`)
)

// names knows the files and declarations of a module.
type names struct {
	root     string
	packages map[string]string // directories, by the last part of their paths
	declared map[string]map[string]bool
}

func newNames(root string, l *list) *names {
	n := &names{root: root, packages: map[string]string{}, declared: map[string]map[string]bool{}}
	for _, p := range l.all() {
		n.packages[path.Base(p.path)] = p.path
	}
	return n
}

// missing says what is not there, "" if all is, or if it is no name of a file or declaration.
func (n *names) missing(name string) string {
	if fileName.MatchString(name) {
		for _, below := range []string{"", "internal"} {
			if _, err := os.Stat(filepath.Join(n.root, below, name)); err == nil {
				return ""
			}
		}
		return "no such file"
	}
	m := identifier.FindStringSubmatch(name)
	if m == nil || dataFile.MatchString(name) || n.packages[m[1]] == "" {
		return ""
	}
	if !n.declarations(n.packages[m[1]])[m[2]] {
		return "no such declaration in " + n.packages[m[1]]
	}
	return ""
}

// declarations returns what a package declares: X, and T.X for methods and fields.
func (n *names) declarations(dir string) map[string]bool {
	if d := n.declared[dir]; d != nil {
		return d
	}
	d := map[string]bool{}
	n.declared[dir] = d
	files, _ := filepath.Glob(filepath.Join(n.root, dir, "*.go"))
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, decl := range f.Decls {
			declared(decl, d)
		}
	}
	return d
}

func declared(decl ast.Decl, d map[string]bool) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		d[receiver(decl)+decl.Name.Name] = true
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					d[name.Name] = true
				}
			case *ast.TypeSpec:
				d[spec.Name.Name] = true
				var fields *ast.FieldList
				switch t := spec.Type.(type) {
				case *ast.StructType:
					fields = t.Fields
				case *ast.InterfaceType:
					fields = t.Methods
				default:
					continue
				}
				for _, field := range fields.List {
					for _, name := range field.Names {
						d[spec.Name.Name+"."+name.Name] = true
					}
				}
			}
		}
	}
}

// receiver returns "T." for a method of T or *T, else "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
