package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme runs the commands of the README as they stand there, in a directory
// with the files that they speak of.
func TestReadme(t *testing.T) {
	blocks := readmeBlocks(t)
	if len(blocks) != 2 {
		t.Fatalf("the README has %d blocks of commands, want 2: read this test", len(blocks))
	}
	first, rest, _ := strings.Cut(blocks[0], "\n")
	if first != `make build && export PATH="$PWD/bin:$PATH"` {
		t.Fatalf("the README begins with %q: read this test", first)
	}
	h := newHouse(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"shop.sql":         "CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, item TEXT);\nINSERT INTO orders (item) VALUES ('a'),('b'),('c');\n",
		"test.sh":          "#!/bin/sh\ntest -n \"$DATABASE_URL\" && echo tested\n",
		"migrate.sh":       "#!/bin/sh\ntest -n \"$MYSQL_DATABASE\"\n",
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
	for i, block := range []string{rest, blocks[1]} {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", block)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RAMARIA_HOME="+h.home, "RAMARIA_NO_FETCH=1", "PATH="+binDir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("block %d of the README: %v\n%s", i+1, err, out)
		}
		for _, want := range [][]string{{"mysql://app:", "/shop\n", "COUNT(*)\n3\n", "tested\n", "removed instance main"}, {"tested\n"}}[i] {
			if !strings.Contains(string(out), want) {
				t.Errorf("block %d of the README did not say %q:\n%s", i+1, want, out)
			}
		}
	}
}

// readmeBlocks returns the blocks of shell commands in the README.
func readmeBlocks(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(b), "```sh\n")[1:] {
		block, _, ok := strings.Cut(part, "```")
		if !ok {
			t.Fatal("a block of the README does not end")
		}
		blocks = append(blocks, block)
	}
	return blocks
}
