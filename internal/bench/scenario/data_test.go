package scenario

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/bench/scenario/suite"
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
			l := &lab.Lab{Dir: t.TempDir()}
			l.Options.Dump = filepath.Join(t.TempDir(), tc.file)
			if err := os.WriteFile(l.Options.Dump, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			p := l.Data()
			if p != l.Data() {
				t.Error("it is read twice")
			}
			if err := p.Unpack(); err != nil {
				t.Fatal(err)
			}
			p.Missing = tc.missing
			if diff := cmp.Diff([]string{tc.drop, tc.create}, []string{p.Drop("mine"), p.Create("mine")}); diff != "" {
				t.Error(diff)
			}
			path, err := p.ReloadScript("mine", fixture.Extended)
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
			single, err := p.SingleDatabase()
			if single != tc.single || (err == nil) != (single != "") || err != nil && !errors.Is(err, runner.ErrUnavailable) {
				t.Errorf("one database %q, %v; want %q", single, err, tc.single)
			}
		})
	}
}

// TestSystemSchemaIsRefused does not have a dump of everything take a server's own tables away.
func TestSystemSchemaIsRefused(t *testing.T) {
	l := &lab.Lab{Dir: t.TempDir()}
	l.Options.Dump = filepath.Join(t.TempDir(), "all.sql")
	write(t, l.Options.Dump, "CREATE DATABASE a;\nUSE a;\nCREATE TABLE t (a INT);\nCREATE DATABASE IF NOT EXISTS `mysql`;\nUSE `mysql`;\n")
	if err := l.Data().Unpack(); err == nil || !strings.Contains(err.Error(), "system database mysql") {
		t.Errorf("error %v", err)
	}
}

// TestDumpFile keeps no half of a dump, and lets no other user read it.
func TestDumpFile(t *testing.T) {
	l := &lab.Lab{Dir: t.TempDir()}
	full := errors.New("no space")
	if _, err := l.DumpFile("own", func(w io.Writer) error { _, err := io.WriteString(w, "half"); return errors.Join(err, full) }); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
	path, err := l.DumpFile("own", func(w io.Writer) error { _, err := io.WriteString(w, "all"); return err })
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

// TestScenariosOfForks makes the scenarios as the command does, on a machine that has nothing.
func TestScenariosOfForks(t *testing.T) {
	l := &lab.Lab{Dir: t.TempDir()}
	l.Server = &server.Server{Flavour: server.MariaDB}
	fork := ForkScenario(l)
	quick := *l
	quick.Options = lab.Options{Quick: true, Scale: 0.05}
	if n, less := len(fork.Cases), len(ForkScenario(&quick).Cases); less != n-2 {
		t.Errorf("%d rows when it must be quick, %d otherwise: want but two less", less, n)
	}
	for _, s := range []runner.Scenario{fork, BranchScenario(l), suite.Scenario(l, []suite.Way{{Argv: []string{"true"}}})} {
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

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
