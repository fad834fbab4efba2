package repeatable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpus are the files of statements as tools emit them, each in the order of its tool.
func corpus(t testing.TB) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no statements: %v", err)
	}
	all := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for s := range strings.SplitSeq(string(text), "\n\n") {
			all[filepath.Base(file)] = append(all[filepath.Base(file)], strings.TrimSpace(s))
		}
	}
	return all
}

// What migrations and dumps do meets no fence.
func TestCorpus(t *testing.T) {
	n := 0
	for file, statements := range corpus(t) {
		n += len(statements)
		t.Run(file, func(t *testing.T) {
			for _, mysql := range []bool{true, false} {
				if strings.Contains(file, map[bool]string{true: ".mariadb.", false: ".mysql."}[mysql]) {
					continue
				}
				j := New(mysql)
				for _, s := range statements {
					if v := j.Query(query(s)); v.Fence != "" {
						t.Errorf("mysql %v: %s\n%+v", mysql, s, v)
					}
				}
			}
		})
	}
	if n < 300 {
		t.Errorf("%d statements", n)
	}
}

// Each kind of fence is explained to users.
func TestKindsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/durability.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### Statements that wait for a base backup\n")
	section, _, _ = strings.Cut(section, "\n#")
	for _, kind := range Kinds {
		if !strings.Contains(section, "`"+kind+"`") {
			t.Errorf("%q is not in docs/durability.md", kind)
		}
	}
}
