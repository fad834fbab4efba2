package repeatable_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/repeatable"
)

// TestKindsAreListed: whatever kind the code gives to a fence is one of Kinds, and each of these is given.
func TestKindsAreListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"Twice": repeatable.Twice}
	var found []string
	note := func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.BasicLit:
			if kind, err := strconv.Unquote(e.Value); err == nil && kind != "" {
				found = append(found, kind)
			}
		case *ast.Ident:
			if given[e.Name] != "" {
				found = append(found, given[e.Name])
			}
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if len(n.Args) > 0 && slices.Contains([]string{"fence", "refuse", "refusal"}, nameOf(n.Fun)) {
					note(n.Args[0])
				}
			case *ast.AssignStmt:
				if nameOf(n.Lhs[0]) == "Kind" {
					note(n.Rhs[0])
				}
			}
			return true
		})
	}
	for _, kind := range found {
		if !slices.Contains(repeatable.Kinds, kind) {
			t.Errorf("%q is not in Kinds", kind)
		}
	}
	for _, kind := range repeatable.Kinds {
		if !slices.Contains(found, kind) && kind != repeatable.Unreadable { // which is not given here
			t.Errorf("%q is in Kinds, and no fence has it", kind)
		}
	}
}

// nameOf is what is called, or set, without what it belongs to.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
