package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// serverDirs are what the directories are called in the source that a server may write to.
var serverDirs = map[string]bool{"DataDir": true, "dataDir": true, "RunDir": true, "runDir": true, "TmpDir": true, "tmpDir": true, "FilesDir": true}

// following are the functions of os that follow a link which is given to them. The others have to do with the link itself, and
// what such a directory lies in is ours.
var following = map[string]bool{
	"Open": true, "OpenFile": true, "Create": true, "ReadFile": true, "WriteFile": true, "ReadDir": true, "Stat": true, "Chmod": true, "Chown": true, "Chtimes": true, "Truncate": true,
	"MkdirAll": true,
}

// mayFollow are the functions that may, each with the reason.
var mayFollow = map[string]string{
	"cli/flags.go spec":             "a directory that the user names",
	"durable/dirbase.go restoreDir": itself,
	"engine/adoptapply.go fill":     itself,
	"engine/adoptnote.go ofDir":     "the directory of a service that is to be adopted, by the path that root gives",
	"engine/export.go Export":       itself,
	"image/build.go copyDataDir":    itself,
}

// itself is why the mode of a data directory may be changed by its path, or its names be read.
const itself = "the directory itself, which lies in one of ours"

// TestNoLinkFollowed: no code that may run as root opens, changes or asks after what a server can write to by a path, in which
// the server may have put a link: it goes by sys.OpenDir, sys.OpenIn or os.OpenRoot.
func TestNoLinkFollowed(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	root := filepath.Join("..", "internal")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		for _, found := range follows(t, path, nil) {
			where := filepath.ToSlash(rel) + " " + found.function
			used[where] = true
			if mayFollow[where] == "" {
				t.Errorf("%s:%d: os.%s in %s follows links that a server may have put there; use sys.OpenDir, sys.OpenIn or os.OpenRoot", path, found.line, found.call, found.function)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for where := range mayFollow {
		if !used[where] {
			t.Errorf("%s follows no link: take it off the list", where)
		}
	}
}

// TestFollowSeen: the look at the source finds what it is for, by a variable too, and nothing else.
func TestFollowSeen(t *testing.T) {
	t.Parallel()
	const source = `package p
func a() { os.ReadFile(filepath.Join(i.DataDir(), "x")) }
func b() { path := filepath.Join(s.DataDir, "x"); other := path + ".new"; os.WriteFile(other, y, 0) }
func c() { os.ReadFile(filepath.Join(i.Dir, "x")); os.OpenRoot(i.DataDir()); sys.OpenIn(i.DataDir(), "x") }`
	var got []string
	for _, f := range follows(t, "p.go", []byte(source)) {
		got = append(got, fmt.Sprintf("%s %s %d", f.function, f.call, f.line))
	}
	if text := strings.Join(got, ", "); text != "a ReadFile 2, b WriteFile 3" {
		t.Errorf("found %q", text)
	}
}

// follow is a call that follows links.
type follow struct {
	function, call string
	line           int
}

// follows finds them in a file, or in what is given for its text.
func follows(t *testing.T, path string, text any) (found []follow) {
	t.Helper()
	if b, ok := text.([]byte); ok && b == nil {
		text = nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		below := map[string]bool{} // variables with a path below such a directory
		leads := func(x ast.Node) (is bool) {
			ast.Inspect(x, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && (serverDirs[id.Name] || below[id.Name]) {
					is = true
				}
				return !is
			})
			return is
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if len(n.Rhs) == 1 && isPath(n.Rhs[0]) && leads(n.Rhs[0]) {
					if id, ok := n.Lhs[0].(*ast.Ident); ok {
						below[id.Name] = true
					}
				}
			case *ast.CallExpr:
				of, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !following[of.Sel.Name] {
					return true
				}
				if pkg, ok := of.X.(*ast.Ident); !ok || pkg.Name != "os" {
					return true
				}
				for _, arg := range n.Args {
					if leads(arg) {
						found = append(found, follow{f.Name.Name, of.Sel.Name, set.Position(n.Pos()).Line})
						break
					}
				}
			}
			return true
		})
	}
	return found
}

// isPath reports whether an expression makes a path: of parts, or as another variable.
func isPath(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return true
	}
	switch of := call.Fun.(type) {
	case *ast.SelectorExpr:
		return of.Sel.Name == "Join" || serverDirs[of.Sel.Name]
	case *ast.Ident:
		return serverDirs[of.Name]
	}
	return false
}
