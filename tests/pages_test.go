package tests

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPages runs the commands of the documentation as they stand there. A page is run from top to bottom in one shell,
// in a directory with the files that it speaks of and with instances of its own. A block "text" right behind commands
// is what they must print, but for passwords, ports, times and the like. What is run elsewhere, or nowhere, has a line
// in elsewhere, and what a block takes for granted one in before.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, page := range pagesOf(t) {
		blocks := slices.DeleteFunc(blocksOf(t, page), func(b pageBlock) bool { return elsewhere[b.key()] != (ranElsewhere{}) })
		if len(blocks) == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel() // servers wait more than they compute
			runPage(t, page, blocks)
		})
	}
}

// TestPagesComplete: what elsewhere and before name is there, and what runs a block is a test. A block without a
// language would be neither run nor missed, and commands stand in no other form.
func TestPagesComplete(t *testing.T) {
	t.Parallel()
	found := map[string]int{}
	indented := regexp.MustCompile(`(?m)^(    |\t)(\$ |# )?(ramaria|make|sh|mysql|mariadb) .*`)
	spans, lines := regexp.MustCompile("`make ([a-z][a-z-]*)"), regexp.MustCompile(`(?m)(?:^|&& )make ([a-z][a-z-]*)`)
	for _, page := range pagesOf(t) {
		var targets [][]string
		for _, b := range blocksOf(t, page) {
			found[b.key()]++
			targets = append(targets, lines.FindAllStringSubmatch(b.commands, -1)...)
		}
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		if lines := indented.FindAllString(outsideOfFences(string(text)), -1); len(lines) > 0 {
			t.Errorf("%s has commands in no fenced block: %q", page, lines)
		}
		for _, m := range append(targets, spans.FindAllStringSubmatch(string(text), -1)...) {
			if !isTarget(t, m[1]) {
				t.Errorf("%s speaks of make %s, which is no target of the Makefile", page, m[1])
			}
		}
	}
	for key, e := range elsewhere {
		if found[key] == 0 {
			t.Errorf("elsewhere names %q, which is not there", key)
		}
		if (e.by == "") == (e.why == "") {
			t.Errorf("%q: either a test runs it, or there is a reason", key)
		}
		for _, by := range strings.Fields(e.by) {
			if !isTest(t, by) {
				t.Errorf("%q is run by %s, which is no test", key, by)
			}
		}
	}
	for key := range before {
		if found[key] != 1 || elsewhere[key] != (ranElsewhere{}) {
			t.Errorf("%q has something before it, and is not run once", key)
		}
	}
}

// TestMinutesOfTargets: docs/testing.md says of a target of make how long it takes as the Makefile does.
func TestMinutesOfTargets(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^([a-z-]+):.*## .*; ([0-9]+ minutes)$`).FindAllStringSubmatch(string(makefile), -1)
	for _, m := range found {
		row := regexp.MustCompile("(?m)^\\| `make " + m[1] + "` .*\\|$").FindString(string(page))
		if row != "" && !strings.HasSuffix(row, "| "+m[2]+" |") {
			t.Errorf("make %s takes %s, says the Makefile, and the page: %s", m[1], m[2], row)
		}
	}
	const least = 3
	if len(found) < least {
		t.Errorf("the Makefile says of %d targets how long they take, want %d at least", len(found), least)
	}
}

// isTest reports whether there is a script, a test of this package, a package with tests or a target of make of a name.
func isTest(t *testing.T, name string) bool {
	for _, s := range append([]Suite{Once}, Suites...) {
		if slices.Contains(s.Scripts, name) || slices.Contains(s.Tests, name) {
			return true
		}
	}
	if target, ok := strings.CutPrefix(name, "make:"); ok {
		return isTarget(t, target)
	}
	return slices.ContainsFunc(Packages, func(p Package) bool { return p.Path == name })
}

// isTarget reports whether the Makefile has a target.
func isTarget(t *testing.T, name string) bool {
	t.Helper()
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "\n"+name+": ")
}

// pagesOf returns the pages of the documentation, by their paths below the module's.
func pagesOf(t *testing.T) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "docs/howto/*.md", "clients/*/README.md"} {
		found, err := filepath.Glob(filepath.Join("..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no page is %s: %v", pattern, err)
		}
		for _, path := range found {
			pages = append(pages, strings.TrimPrefix(path, "../"))
		}
	}
	return pages
}

// blocksOf returns the blocks of commands of a page, but of the reports that benchmarks write.
func blocksOf(t *testing.T, page string) []pageBlock {
	t.Helper()
	if page == "docs/benchmarks-raw.md" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := pageBlocks(page, string(text))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return blocks
}

func runPage(t *testing.T, page string, blocks []pageBlock) {
	h := newTestHome(t)
	dir := pageFiles(t, h)
	script := pageScript(blocks)
	for _, program := range []string{"curl", "gzip"} {
		if _, err := exec.LookPath(program); err != nil && strings.Contains(script, program+" ") {
			t.Skipf("SKIPPED, UNTESTED: the commands of %s: no %s: apt-get install %[2]s", page, program)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail")
	cmd.Stdin = strings.NewReader(script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RAMARIA_HOME="+h.home, "RAMARIA_NO_FETCH=1", "PATH="+binDir+":"+filepath.Join(dir, pageBin)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", page, err, out)
	}
	printed := strings.Split(string(out), blockEnd+"\n")
	if len(printed) != len(blocks)+1 {
		t.Fatalf("%s: %d of %d blocks ended:\n%s", page, len(printed)-1, len(blocks), out)
	}
	for i, block := range blocks {
		_, said, _ := strings.Cut(printed[i], blockBegin+"\n")
		got, want := leaveOutWhatVaries(said), leaveOutWhatVaries(block.want)
		if block.want != "" && got != want {
			t.Errorf("%s: this prints\n%s\nbut the page says\n%s\nof\n%s", page, said, block.want, block.commands)
		}
	}
}

// A pageBlock is a block of commands, with what the page says that they print; "" where
// it says nothing.
type pageBlock struct{ page, commands, want string }

// key is how elsewhere and before name a block: by its page and its first line.
func (b pageBlock) key() string {
	first, _, _ := strings.Cut(b.commands, "\n")
	return b.page + ": " + first
}

// fence begins or ends a block.
var fence = regexp.MustCompile("^ *```([^`]*)$")

// pageBlocks returns the blocks of shell commands of a page.
func pageBlocks(page, text string) (blocks []pageBlock, err error) {
	language, body, inside, behind := "", "", false, false
	for line := range strings.Lines(text) {
		m := fence.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		switch {
		case m == nil && inside:
			body += line
		case m == nil:
			behind = behind && line == "\n"
		case !inside:
			if language, body, inside = m[1], "", true; language == "" {
				return nil, errors.New("a block names no language")
			}
		case slices.Contains([]string{"sh", "bash", "console"}, language):
			blocks = append(blocks, pageBlock{page: page, commands: body})
			inside, behind = false, true
		default:
			if behind && language == "text" {
				blocks[len(blocks)-1].want = body
			}
			inside, behind = false, false
		}
	}
	if inside {
		return nil, errors.New("a block does not end")
	}
	return blocks, nil
}

// outsideOfFences is a page without its fenced blocks.
func outsideOfFences(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if fence.MatchString(strings.TrimSuffix(line, "\n")) {
			inside = !inside
		} else if !inside {
			b.WriteString(line)
		}
	}
	return b.String()
}

// blockBegin is printed before each block, and blockEnd behind it.
const blockBegin, blockEnd = "--- begin of a block ---", "--- end of a block ---"

// pageScript returns the script that runs all blocks. Commands read nothing from the
// script itself; what they write to stderr stands where it was written.
func pageScript(blocks []pageBlock) string {
	var b strings.Builder
	for _, block := range blocks {
		fmt.Fprintf(&b, "{\n%s\necho '%s'\n%s} < /dev/null 2>&1\necho '%s'\n", cmp.Or(before[block.key()], ":"), blockBegin, block.commands, blockEnd)
	}
	return b.String()
}

// pageBin has the programs of the page's reader, below the page's directory.
const pageBin = ".bin"

// pageFiles returns a directory with the files that the pages speak of, and with the client programs of the server.
// The dump of a host called prod is shop.sql.
func pageFiles(t *testing.T, h *testHome) string {
	t.Helper()
	dir := t.TempDir()
	const shop = "CREATE TABLE customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) NOT NULL);\n" +
		"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer_id INT NOT NULL, item VARCHAR(40) NOT NULL);\n" +
		"INSERT INTO customers (name) VALUES ('Ada'),('Edgar'),('Grace');\n" +
		"INSERT INTO orders (customer_id, item) VALUES (1,'engine'),(2,'relation'),(2,'table'),(3,'moth');\n"
	for name, text := range map[string]string{
		"shop.sql":             shop,
		"prod.sql":             "DROP TABLE IF EXISTS orders, customers;\n" + shop,
		"fixtures.sql":         "INSERT INTO customers (name) VALUES ('Jim');\nINSERT INTO customers (name) VALUES ('Michael');\n",
		"test.sh":              "#!/bin/sh\ntest -n \"$DATABASE_URL\" && echo tested\n",
		"migrate.sh":           "#!/bin/sh\ntest -n \"$MYSQL_DATABASE\"\n",
		"migration.sql":        "ALTER TABLE orders ADD COLUMN price INT NOT NULL DEFAULT 0;\n",
		"migrations/1.sql":     "",
		"migrations/2.sql":     "",
		pageBin + "/mysql":     "#!/bin/sh\n" + h.srv.Client.Shell() + " \"$@\"\n",
		pageBin + "/mysqldump": "#!/bin/sh\ncase \" $*\" in *' -h prod '*) exec cat prod.sql ;; esac\n" + h.srv.Dumper.Shell() + " \"$@\"\n",
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
