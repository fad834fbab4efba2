package scenario

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/server"
)

// TestPayload makes the statements around dumps that name their databases, or do not.
func TestPayload(t *testing.T) {
	for _, tc := range []struct {
		name, file, text     string
		missing              []string
		drop, create, recipe string
		single               string
	}{
		{
			name: "a table", file: "shop.sql", text: "CREATE TABLE t (a INT);\n",
			drop: "DROP DATABASE IF EXISTS `mine`;\n", create: "CREATE DATABASE `mine`;\n", single: "shop",
			recipe: "DROP DATABASE IF EXISTS `mine`;\nCREATE DATABASE `mine`;\nUSE `mine`;\nCREATE TABLE t (a INT);\n",
		},
		{
			name: "a name that is the server's", file: "mysql.sql", text: "CREATE TABLE t (a INT);\n",
			drop: "DROP DATABASE IF EXISTS `mine`;\n", create: "CREATE DATABASE `mine`;\n", single: "app",
			recipe: "DROP DATABASE IF EXISTS `mine`;\nCREATE DATABASE `mine`;\nUSE `mine`;\nCREATE TABLE t (a INT);\n",
		},
		{
			name: "a database of its own", file: "x.sql", text: "CREATE DATABASE a;\nUSE a;\nCREATE TABLE t (a INT);\n",
			drop: "DROP DATABASE IF EXISTS `a`;\n", single: "a",
			recipe: "DROP DATABASE IF EXISTS `a`;\nCREATE DATABASE a;\nUSE a;\nCREATE TABLE t (a INT);\n",
		},
		{
			name: "one that it does not make", file: "x.sql", text: "USE a;\nCREATE TABLE t (a INT);\n", missing: []string{"a"},
			drop: "DROP DATABASE IF EXISTS `a`;\n", create: "CREATE DATABASE `a`;\n", single: "a",
			recipe: "DROP DATABASE IF EXISTS `a`;\nCREATE DATABASE `a`;\nUSE a;\nCREATE TABLE t (a INT);\n",
		},
		{
			name: "two", file: "x.sql", text: "CREATE DATABASE a;\nCREATE DATABASE b;\nUSE a;\nCREATE TABLE t (a INT);\n",
			drop:   "DROP DATABASE IF EXISTS `a`;\nDROP DATABASE IF EXISTS `b`;\n",
			recipe: "DROP DATABASE IF EXISTS `a`;\nDROP DATABASE IF EXISTS `b`;\nCREATE DATABASE a;\nCREATE DATABASE b;\nUSE a;\nCREATE TABLE t (a INT);\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &Lab{Dir: t.TempDir()}
			l.Options.Dump = filepath.Join(t.TempDir(), tc.file)
			if err := os.WriteFile(l.Options.Dump, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			p := l.payload()
			if p != l.payload() {
				t.Error("it is read twice")
			}
			if err := p.unpack(); err != nil {
				t.Fatal(err)
			}
			p.missing = tc.missing
			if diff := cmp.Diff([]string{tc.drop, tc.create}, []string{p.drop("mine"), p.create("mine")}); diff != "" {
				t.Error(diff)
			}
			path, err := p.recipe("mine", fixture.Extended)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.recipe, string(text)); diff != "" {
				t.Error(diff)
			}
			single, err := p.single()
			if single != tc.single || (err == nil) != (single != "") || err != nil && !errors.Is(err, bench.ErrUnavailable) {
				t.Errorf("one database %q, %v; want %q", single, err, tc.single)
			}
		})
	}
}

// TestSystemSchemaIsRefused does not have a dump of everything take a server's own tables away.
func TestSystemSchemaIsRefused(t *testing.T) {
	l := &Lab{Dir: t.TempDir()}
	l.Options.Dump = filepath.Join(t.TempDir(), "all.sql")
	write(t, l.Options.Dump, "CREATE DATABASE a;\nUSE a;\nCREATE TABLE t (a INT);\nCREATE DATABASE IF NOT EXISTS `mysql`;\nUSE `mysql`;\n")
	if err := l.payload().unpack(); err == nil || !strings.Contains(err.Error(), "system database mysql") {
		t.Errorf("error %v", err)
	}
}

// TestDumpFile keeps no half of a dump, and lets nobody else read it.
func TestDumpFile(t *testing.T) {
	l := &Lab{Dir: t.TempDir()}
	full := errors.New("no space")
	if _, err := l.dumpFile("own", func(w io.Writer) error { _, err := io.WriteString(w, "half"); return errors.Join(err, full) }); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	path, err := l.dumpFile("own", func(w io.Writer) error { _, err := io.WriteString(w, "all"); return err })
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if info, statErr := os.Stat(path); err != nil || statErr != nil || string(text) != "all" || info.Mode().Perm() != 0o600 {
		t.Errorf("it holds %q: %v, %v, %v", text, info.Mode(), err, statErr)
	}
	if got := names(t, l.Dir); len(got) != 1 {
		t.Errorf("there is %q", got)
	}
}

// TestMustEqual notices what is there besides, and what is missing.
func TestMustEqual(t *testing.T) {
	c := contents{"a": "1", "(views)": "0"}
	for name, have := range map[string]contents{
		"more": {"a": "1", "b": "1", "(views)": "0"}, "less": {"(views)": "0"}, "other": {"a": "2", "(views)": "0"}, "a view": {"a": "1", "(views)": "1"},
	} {
		if c.mustEqual(have, "db", "before") == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := c.mustEqual(contents{"a": "1", "(views)": "0"}, "db", "before"); err != nil {
		t.Error(err)
	}
}

// TestScenariosOfForks makes the scenarios as the command does, on a machine that has nothing.
func TestScenariosOfForks(t *testing.T) {
	l := &Lab{Dir: t.TempDir()}
	l.Server = &server.Server{Flavour: server.MariaDB}
	fork := l.ForkScenario()
	quick := *l
	quick.Options = Options{Quick: true, Scale: 0.05}
	if n, less := len(fork.Cases), len(quick.ForkScenario().Cases); less != n-2 {
		t.Errorf("%d rows when it must be quick, %d otherwise: want but two less", less, n)
	}
	for _, s := range []bench.Scenario{fork, l.BranchScenario(), l.SuiteScenario([]string{"true"})} {
		for _, c := range s.Cases {
			if c.Cleanup == nil {
				continue
			}
			// Every Cleanup is called, also of a case whose Prepare failed.
			if err := c.Cleanup(t.Context()); err != nil {
				t.Errorf("%s: clean up %q that was not prepared: %v", s.Name, c.Name, err)
			}
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if s.Memory == 0 {
			t.Errorf("%s: it takes no memory", s.Name)
		}
	}
}
