package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/tests/examples"
)

// TestLanguages does what docs/languages.md says: projects in other languages have a database for each of their
// tests, or of their workers, through the door. Straight at the server, with one database, they must fail.
func TestLanguages(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	const shop = "../docs/examples/shop.sql"
	plain := openDSN(t, h.ramaria("up", "main", "--server", h.daemon(), "--database", "shop", "--from", shop))
	h.ramaria("template", "add", "shop")
	// What resets the clone is a procedure that does nothing where there is no door.
	h.exec(plain, "CREATE DATABASE ramaria", "CREATE PROCEDURE ramaria.reset() DO 0")
	// The programs of a shell connect for each statement; a slow machine has pauses between them.
	d := h.startFront("--linger", "20s")
	defer d.end()
	page := examplesPage(t, examples.Door)
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range examples.Projects {
		if l.Page != examples.Door {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			h.during(t)
			commands := readyExample(t, page, l)
			dir, err := examples.Copy(t.Context(), page, clone, l.Name, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			run := func(script, port, database string) (string, error) {
				cmd := exec.CommandContext(t.Context(), "sh", "-ec", `eval "$(ramaria env main)"; unset DATABASE_URL; `+script)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+binDir+":"+os.Getenv("PATH"), "RAMARIA_HOME="+h.home, "DB_PORT="+port)
				if database != "" {
					cmd.Env = append(cmd.Env, "DB_NAME="+database)
				}
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			test := commands[len(commands)-1]
			for _, script := range []string{strings.Join(commands, "\n"), test} { // the second finds all put back
				if out, err := run(script, d.url.Port(), ""); err != nil {
					t.Fatalf("%s: %v:\n%s", script, err, out)
				}
			}
			if n := len(regexp.MustCompile(`(?m)^\S+ +`+l.Template+` `).FindAllString(h.ramaria("db", "ls"), -1)); l.Template != "" && n < 3 {
				t.Errorf("the runner and two workers had %d clones, want one each", n)
			}
			h.exec(plain, "CREATE DATABASE straight_"+l.Name, fmt.Sprintf("CREATE TABLE straight_%s.items LIKE shop.items", l.Name),
				fmt.Sprintf("INSERT INTO straight_%s.items SELECT * FROM shop.items", l.Name))
			var server string
			if err := plain.QueryRow("SELECT @@port").Scan(&server); err != nil {
				t.Fatal(err)
			}
			if out, err := run(test, server, "straight_"+l.Name); err == nil || !strings.Contains(out, l.Fails) {
				t.Errorf("%s with one database: %v, want it to fail with %q:\n%s", test, err, l.Fails, out)
			}
			if l.Plain != "" {
				plain := "ISOLATION=other " + l.Plain
				if out, err := run(plain, server, ""); err == nil || !strings.Contains(out, unknownWay) {
					t.Errorf("%s: %v, want it to fail with %q:\n%s", plain, err, unknownWay, out)
				}
				t.Run("bench", func(t *testing.T) {
					h.during(t)
					checkWays(t, func(script string) (string, error) {
						return run("export RAMARIA_SERVER="+series(h.srv)+" RAMARIA_NO_FETCH=1; "+script, "", "")
					})
				})
			}
		})
	}
	if n := h.one(plain, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE '%@%'"); n != "0" {
		t.Errorf("%s databases have the name of a clone", n)
	}
}

// TestLanguagesPage: what docs/languages.md shows of the examples is what their files are.
func TestLanguagesPage(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile("\\]\\((examples/[^)]+)\\):?\n\n```[a-z]+\n((?:.*\n)*?)```\n").FindAllStringSubmatch(examplesPage(t, examples.Door), -1)
	const least = 8
	if len(shown) < least {
		t.Errorf("the page shows %d files, want %d at least", len(shown), least)
	}
	for _, m := range shown {
		file, err := os.ReadFile(filepath.Join("../docs", m[1]))
		if err != nil {
			t.Error(err)
		} else if string(file) != m[2] {
			t.Errorf("%s is\n%s\nbut the page shows\n%s", m[1], file, m[2])
		}
	}
}
