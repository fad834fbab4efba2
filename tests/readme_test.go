package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme runs the commands of README.md, of the quickstart and of the how-to pages
// as they stand there. A page is run from top to bottom in one shell, in a directory
// with the files that it speaks of and with instances of its own. A block "sh" is run;
// a block "text" right behind it is what the commands must print, but for passwords,
// ports, times and the like. Blocks in other languages ("bash", "yaml", "go") are for
// other machines, and are not run.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, page := range []string{
		"README.md", "docs/quickstart.md", "docs/howto/branch-production-like-data.md", "docs/howto/ci-database.md",
		"docs/howto/keep-data-through-a-reboot.md", "docs/howto/load-a-dump-fast.md", "docs/howto/undo-a-tests-changes.md",
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel() // servers wait more than they compute
			runPage(t, page)
		})
	}
}

// buildLine is not run: the binary under test is there already.
const buildLine = `make build && export PATH="$PWD/bin:$PATH"` + "\n"

func runPage(t *testing.T, page string) {
	b, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := pageBlocks(string(b))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	h := newTestHome(t)
	cmd := exec.CommandContext(t.Context(), "bash", "-e")
	cmd.Stdin = strings.NewReader(pageScript(blocks))
	cmd.Dir = pageFiles(t)
	cmd.Env = append(os.Environ(), "RAMARIA_HOME="+h.home, "RAMARIA_NO_FETCH=1", "PATH="+binDir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", page, err, out)
	}
	printed := strings.Split(string(out), blockEnd+"\n")
	if len(printed) != len(blocks)+1 {
		t.Fatalf("%s: %d of %d blocks ended:\n%s", page, len(printed)-1, len(blocks), out)
	}
	for i, block := range blocks {
		got, want := leaveOutWhatVaries(printed[i]), leaveOutWhatVaries(block.want)
		if block.want != "" && got != want {
			t.Errorf("%s: this prints\n%s\nbut the page says\n%s\nof\n%s", page, printed[i], block.want, block.commands)
		}
	}
}

// A pageBlock is a block of commands, with what the page says that they print; "" where
// it says nothing.
type pageBlock struct{ commands, want string }

// pageBlocks returns the blocks of shell commands of a page.
func pageBlocks(page string) ([]pageBlock, error) {
	var blocks []pageBlock
	fence := regexp.MustCompile("(?m)^```([a-z]*)\n((?:.*\n)*?)```$")
	for _, m := range fence.FindAllStringSubmatchIndex(page, -1) {
		language, body := page[m[2]:m[3]], page[m[4]:m[5]]
		behind := strings.TrimLeft(page[m[1]:], "\n")
		switch language {
		case "sh":
			if body == buildLine {
				continue
			}
			block := pageBlock{commands: body}
			if text, ok := strings.CutPrefix(behind, "```text\n"); ok {
				block.want, _, _ = strings.Cut(text, "```")
			}
			blocks = append(blocks, block)
		case "":
			return nil, fmt.Errorf("a block names no language: %q", body)
		}
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("no block of commands: the page has changed its form, or this test must")
	}
	return blocks, nil
}

// blockEnd is printed behind each block.
const blockEnd = "--- end of a block ---"

// pageScript returns the script that runs all blocks. Commands read nothing from the
// script itself; what they write to stderr stands where it was written.
func pageScript(blocks []pageBlock) string {
	var b strings.Builder
	for _, block := range blocks {
		fmt.Fprintf(&b, "{\n%s} < /dev/null 2>&1\necho '%s'\n", block.commands, blockEnd)
	}
	return b.String()
}

// pageFiles returns a directory with the files that the pages speak of.
func pageFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"shop.sql": "CREATE TABLE customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) NOT NULL);\n" +
			"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer_id INT NOT NULL, item VARCHAR(40) NOT NULL);\n" +
			"INSERT INTO customers (name) VALUES ('Ada'),('Edgar'),('Grace');\n" +
			"INSERT INTO orders (customer_id, item) VALUES (1,'engine'),(2,'relation'),(2,'table'),(3,'moth');\n",
		"test.sh":          "#!/bin/sh\ntest -n \"$DATABASE_URL\" && echo tested\n",
		"migrate.sh":       "#!/bin/sh\ntest -n \"$MYSQL_DATABASE\"\n",
		"migration.sql":    "ALTER TABLE orders ADD COLUMN price INT NOT NULL DEFAULT 0;\n",
		"migrations/1.sql": "",
		"migrations/2.sql": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// leaveOutWhatVaries replaces what differs from run to run and from machine to machine.
func leaveOutWhatVaries(text string) string {
	for _, r := range []struct{ pattern, with string }{
		{`(?m)^(volume|initializing|restored image) .*\n`, ""}, // which volume, and whether the server's image is there, or saved
		{`://(\w+?)(_[0-9a-f]{12})?:\w+@127\.0\.0\.1:\d+/`, "://$1:PASSWORD@HOST/"},
		{`\b(mariadb|mysql)-\d+\.\d+\.\d+`, "SERVER"},
		{`\b[0-9a-f]{16}\b`, "ID"},
		{`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b`, "TIME"},
		{`\b[0-9.]+(ns|µs|ms|s)\b`, "DURATION"},
		{`\b[0-9.]+ ([kMGT]?B)\b`, "SIZE"},
		{`\b(xfs|shm|disk)\b`, "VOLUME"},
		{`/\S*/`, "DIR/"},
		{`\b\d{4,5}\b`, "PORT"},
		{` +`, " "},
	} {
		text = regexp.MustCompile(r.pattern).ReplaceAllString(text, r.with)
	}
	return strings.TrimSpace(text)
}
