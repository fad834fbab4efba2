package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// command is ramaria with words up to what ends a command of a shell, or a span of code.
var command = regexp.MustCompile("(?m)(?:^|[\\s(`\"'$;&|])ramaria((?:[ \\n]+(?:\"[^\"]*\"|'[^']*'|[^\\s|;&()<>`#\"'])+)+)")

// word is one of them; what is quoted is an argument, whatever it says.
var word = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)

// code is a span or a block of code.
var code = regexp.MustCompile("(?s)```.*?\n(.*?)```|`([^`]+)`")

// TestPagesNameCommands: each command that a page of the documentation or an example of the help names is there, with
// the flags that it is given.
func TestPagesNameCommands(t *testing.T) {
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/howto/*.md", "clients/*/README.md", "internal/*/DESIGN.md"} {
		pages, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("no page is %s: %v", pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range code.FindAllStringSubmatch(string(text), -1) {
				// A span may go on in the next line, a command in a block does not.
				texts[page] += m[1] + "\n" + strings.ReplaceAll(m[2], "\n", " ") + "\n"
			}
		}
	}
	var examples func(*cobra.Command)
	examples = func(c *cobra.Command) {
		texts[c.CommandPath()+" --help"] = c.Example
		for _, sub := range c.Commands() {
			examples(sub)
		}
	}
	examples(Root())
	n := 0
	for where, text := range texts {
		for line := range strings.Lines(text) {
			for _, m := range command.FindAllStringSubmatch(line, -1) {
				n++
				if m[1] == " archive 1" { // what a file begins with
					continue
				}
				if complaint := unknown(word.FindAllString(m[1], -1)); complaint != "" {
					t.Errorf("%s: ramaria%s: %s", where, m[1], complaint)
				}
			}
		}
	}
	const least = 500
	if n < least {
		t.Errorf("found only %d commands", n)
	}
	for _, typo := range []string{"upp", "up --form x", "db nwe x", "-q ls"} {
		if unknown(strings.Fields(typo)) == "" {
			t.Errorf("ramaria %s counts as known", typo)
		}
	}
}

// unknown says what of the words of a command is not there. What is to be filled in begins with a capital or a sign.
func unknown(words []string) string {
	if i := slices.Index(words, "--"); i >= 0 {
		words = words[:i]
	}
	words = slices.DeleteFunc(words, func(w string) bool { return strings.ContainsAny(w[:1], "…[.") })
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ",") }); i >= 0 { // in prose
		words = append(words[:i:i], strings.TrimSuffix(words[i], ","))
	}
	root := Root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(words)
	if err != nil {
		return err.Error()
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	if err := c.ParseFlags(rest); err != nil && strings.Contains(err.Error(), "unknown") {
		return err.Error()
	}
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 && args[0][0] >= 'a' {
		if err := c.ValidateArgs(args); err != nil {
			return err.Error()
		}
	}
	return ""
}
