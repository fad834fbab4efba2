// Package examples knows the projects in docs/examples: which there are, what the documentation says of them, and how one
// is copied.
//
// The invariant: a copy has all that the project needs, and nothing is written into docs/examples.
package examples

import (
	"context"
	"fmt"
	"os/exec"
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

// Copy types what the first block "sh" of a page says, in a directory that is there: it copies the projects out of a
// clone. It returns where the project is.
func Copy(ctx context.Context, page, clone, name, into string) (string, error) {
	first := block.FindStringSubmatch(page)
	if first == nil {
		return "", fmt.Errorf("copy example %s: the page does not say how", name)
	}
	script := strings.NewReplacer("CLONE", clone, "NAME", name).Replace(first[1])
	cmd := exec.CommandContext(ctx, "sh", "-ec", script+"pwd")
	cmd.Dir = into
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("copy example: %s: %w", script, err)
	}
	dir := strings.TrimSpace(string(out))
	if filepath.Base(dir) != name {
		return "", fmt.Errorf("copy example: %s ends in %s", script, dir)
	}
	return dir, nil
}
