// Package examples knows the projects in docs/examples: what the documentation says of them, and how one is copied.
//
// The invariant: a copy has all that the project needs, and nothing is written into docs/examples.
package examples

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// block is a block "sh" of a page.
var block = regexp.MustCompile("(?m)^```sh\n((?:.*\n)*?)```$")

// Commands are the lines of the blocks "sh" in a section of a page. The last one runs the tests; those before it
// are typed once.
func Commands(page, section string) (lines []string) {
	_, text, _ := strings.Cut(page, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(m[1]), "\n")...)
	}
	return lines
}

// Copy copies a project of docs/examples, and the files that are beside all of them, from the module's root into a
// directory that is there, and returns where the project is.
func Copy(root, name, into string) (string, error) {
	from, dir := filepath.Join(root, "docs", "examples"), filepath.Join(into, name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(from, name))); err != nil {
		return "", fmt.Errorf("copy example: %w", err)
	}
	for _, file := range []string{"shop.sql", "look.sql", "door.sh"} {
		text, err := os.ReadFile(filepath.Join(from, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(into, file), text, 0o600)
		}
		if err != nil {
			return "", fmt.Errorf("copy example: %w", err)
		}
	}
	return dir, nil
}
