package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A module is the packages of a module, in the order of their paths.
type module struct {
	path     string
	packages []*pkg
}

// A pkg is a package of the module. Its imports are those of packages of the module, without
// the module's path.
type pkg struct {
	path        string
	imports     []string
	testImports []string
	files       int // Go files, without tests
	lines       int
}

// listed is what go list tells of a package.
type listed struct {
	ImportPath, Dir                             string
	Imports, TestImports, XTestImports, GoFiles []string
	Module                                      struct{ Path string }
}

// readModule asks go list for the packages of the module at root. A cycle of imports is no
// error here: check names the packages of it.
func readModule(root string) (*module, error) {
	cmd := exec.Command("go", "list", "-e",
		"-json=ImportPath,Dir,Imports,TestImports,XTestImports,GoFiles,Module", "./...")
	var talk bytes.Buffer
	cmd.Dir, cmd.Stderr = root, &talk
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w\n%s", err, talk.Bytes())
	}
	m := &module{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list packages: %w", err)
		}
		m.path = p.Module.Path
		read := &pkg{
			path:        strings.TrimPrefix(p.ImportPath, m.path+"/"),
			imports:     ours(m.path, p.Imports),
			testImports: ours(m.path, slices.Concat(p.TestImports, p.XTestImports)),
			files:       len(p.GoFiles),
		}
		for _, name := range p.GoFiles {
			b, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, fmt.Errorf("count lines: %w", err)
			}
			read.lines += bytes.Count(b, []byte("\n"))
		}
		m.packages = append(m.packages, read)
	}
	if len(m.packages) == 0 {
		return nil, fmt.Errorf("list packages: no package in %s", root)
	}
	return m, nil
}

// ours returns the paths of the module's own packages, without the module's path.
func ours(module string, imports []string) []string {
	var own []string
	for _, path := range imports {
		if path, ok := strings.CutPrefix(path, module+"/"); ok {
			own = append(own, path)
		}
	}
	slices.Sort(own)
	return slices.Compact(own)
}
