// Notices writes the licences of all that is built into ramaria: of the modules that the program links, on each machine
// that a release is for, of Go itself, and of what the page has. Packages with the program have the file.
//
//	go run ./packaging/notices [-write]
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// file is where the notices are, in the module's root.
const file = "THIRD_PARTY_NOTICES"

const head = `Ramaria is under the Apache License 2.0, see LICENSE. Built into the program is what follows, each part under
its own licence. "make notices" writes this file, from the modules that the program links.
`

// licence is how files are called that say under what a module may be used.
var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([.-](txt|md|mit|apache|bsd))?$`)

// beside are other works that the program contains, by their directories.
var beside = map[string]string{
	"The Go runtime and standard library": filepath.Join("packaging", "notices", "go"),
	"uPlot, in the page of ramaria ui":    filepath.Join("internal", "ui", "assets", "uplot"),
}

func main() {
	write := flag.Bool("write", false, "write "+file+" instead of printing it")
	flag.Parse()
	if err := run(os.Stdout, ".", *write); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, root string, write bool) error {
	text, err := notices(root)
	if err != nil {
		return err
	}
	if write {
		return os.WriteFile(filepath.Join(root, file), text, 0o644)
	}
	_, err = out.Write(text)
	return err
}

// notices are those of the module in root.
func notices(root string) ([]byte, error) {
	modules, err := linked(root)
	if err != nil {
		return nil, err
	}
	for name, dir := range beside {
		modules[name] = map[string]bool{filepath.Join(root, dir): true}
	}
	b := bytes.NewBufferString(head)
	for _, name := range slices.SortedFunc(maps.Keys(modules), func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		texts, err := licences(modules[name])
		if err != nil {
			return nil, fmt.Errorf("read the licence of %s: %w", name, err)
		}
		fmt.Fprintf(b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 100), name, strings.Join(texts, "\n\n"))
	}
	return b.Bytes(), nil
}

// linked are the modules of which packages are in the program, on each machine, with the directories of these packages
// and those above them.
func linked(root string) (map[string]map[string]bool, error) {
	modules := map[string]map[string]bool{}
	for _, arch := range []string{"amd64", "arm64"} {
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/ramaria")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list what the program links: %w", err)
		}
		for list := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Dir    string
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := list.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("list what the program links: %w", err)
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			name := p.Module.Path + " " + p.Module.Version
			if modules[name] == nil {
				modules[name] = map[string]bool{}
			}
			for dir := p.Dir; strings.HasPrefix(dir, p.Module.Dir); dir = filepath.Dir(dir) {
				modules[name][dir] = true
			}
		}
	}
	return modules, nil
}

// licences are the texts in some directories, each once. None is an error: what nobody allows may not be built in.
func licences(dirs map[string]bool) (texts []string, err error) {
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Type()&fs.ModeType != 0 || !licence.MatchString(e.Name()) {
				continue
			}
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			if text := strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("there is none in %s", strings.Join(slices.Sorted(maps.Keys(dirs)), ", "))
	}
	return texts, nil
}
