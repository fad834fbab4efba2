package tests

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/software"
)

// TestVerifyPhysical verifies what mariadb-backup writes of a server that runs, with the distribution's mariadb-backup and a
// server of its series: the directory, not prepared and prepared, the stream, plain and compressed, and damaged ones.
func TestVerifyPhysical(t *testing.T) {
	t.Parallel()
	finder := servertest.Finder(t)
	tool, err := finder.Tool(t.Context(), software.MariaDBBackup)
	if err != nil {
		t.Skipf("SKIPPED, UNTESTED: backups of mariadb-backup, which is not to be had: %v", err)
	}
	h := newTestHomeOf(t, "mariadb:"+toolSeries(t, tool))
	h.env = append(h.env, "PATH="+wrapped(t, tool)+":"+os.Getenv("PATH"))
	work := t.TempDir()
	dump := filepath.Join(work, "shop.sql")
	if err := os.WriteFile(dump, []byte("CREATE TABLE item (id INT PRIMARY KEY, a VARCHAR(200));\nINSERT INTO item VALUES (1, 'x'), (2, 'y');\nCREATE TABLE old (a INT) ENGINE=MyISAM;\nINSERT INTO old VALUES (1);\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ramaria("up", "shop", "--from", dump)
	config := filepath.Join(work, "my.cnf")
	env := h.ramaria("env", "shop", "--format", "json")
	login := "[client]\nuser=" + field(t, env, "user") + "\npassword=" + field(t, env, "password") + "\nsocket=" + field(t, env, "socket") + "\n"
	if err := os.WriteFile(config, []byte(login), 0o600); err != nil {
		t.Fatal(err)
	}
	backUp := func(args ...string) []byte {
		argv := append(append(append([]string{}, tool.Argv...), "--defaults-file="+config), args...)
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...) // #nosec G204 -- fetched
		cmd.Env = append(os.Environ(), tool.Env...)
		var says bytes.Buffer
		cmd.Stderr = &says
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("mariadb-backup %s: %v\n%s", args, err, says.String())
		}
		return out
	}
	dir, stream := filepath.Join(work, "full"), filepath.Join(work, "shop.stream")
	data := "--datadir=" + field(t, h.ramaria("status", "shop", "--json"), "datadir")
	backUp("--backup", "--target-dir="+dir, data)
	if err := os.WriteFile(stream, backUp("--backup", "--stream=mbstream", "--target-dir="+filepath.Join(work, "tmp"), data), 0o600); err != nil {
		t.Fatal(err)
	}
	good := func(path string) {
		t.Helper()
		if out := h.ramaria("verify", path); !strings.Contains(out, " is good: 2 tables, 3 rows, ") || !strings.Contains(out, "(the end of the backup)") {
			t.Errorf("verify %s: %s", path, out)
		}
	}
	before := listed(t, dir)
	good(dir)
	if after := listed(t, dir); after != before {
		t.Errorf("the backup was changed:\n%s\nit was\n%s", after, before)
	}
	good(stream)
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"cut": text[:len(text)-40], "changed": append(append(bytes.Clone(text[:len(text)/2]), text[len(text)/2]^1), text[len(text)/2+1:]...)} {
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if out, talk, err := h.try("verify", path); !errors.As(err, &exit) || exit.ExitCode() != 5 {
			t.Errorf("verify %s: %v\n%s%s", name, err, out, talk)
		}
	}
	t.Run("plugin", func(t *testing.T) {
		ran := plant(t, dir)
		good(dir)
		if _, err := os.Stat(ran); err == nil {
			t.Error("the library that the backup names was loaded")
		}
		again := filepath.Join(t.TempDir(), "again")
		if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), tool.Argv[0], append(tool.Argv[1:], "--defaults-file="+filepath.Join(again, "backup-my.cnf"), "--prepare", "--target-dir="+again)...) // #nosec G204 -- fetched
		cmd.Env = append(os.Environ(), tool.Env...)
		out, _ := cmd.CombinedOutput() // the library does not do what a plugin does
		if _, err := os.Stat(ran); err != nil {
			t.Errorf("the library cannot be loaded, so that this shows nothing: %s", out)
		}
	})
	backUp("--prepare", "--target-dir="+dir)
	good(dir)
	h.ramaria("up", "restored", "--from", dir)
	h.ramaria("down", "--all", "--rm")
}

// plant has the option file of a backup name a library, which makes a file as it is loaded, and returns that file.
func plant(t *testing.T, backup string) (ran string) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("SKIPPED, UNTESTED: a backup that names a library, without a C compiler")
	}
	dir, err := os.MkdirTemp("", "rv-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ran = filepath.Join(dir, "ran")
	const source = "#include <fcntl.h>\n__attribute__((constructor)) static void run(void) { open(RAN, O_CREAT | O_WRONLY, 0666); }\n"
	if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(filepath.Join(dir, "p.c"), []byte(source), 0o600)); err != nil { // #nosec G302 -- the server's account writes to it
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-DRAN=\""+ran+"\"", "-o", filepath.Join(dir, "p.so"), filepath.Join(dir, "p.c")).CombinedOutput(); err != nil { // #nosec G204 -- a compiler
		t.Fatalf("%v: %s", err, out)
	}
	options := filepath.Join(backup, "backup-my.cnf")
	text, err := os.ReadFile(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(options, text, 0o600) })
	if err := os.WriteFile(options, append(bytes.Clone(text), "\nplugin_load=p.so\nplugin_dir="+dir+"\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	return ran
}

// toolSeries is the series of MariaDB that a tool is of.
func toolSeries(t *testing.T, p server.Program) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), p.Argv[0], append(append([]string{}, p.Argv[1:]...), "--version")...).CombinedOutput() // #nosec G204 -- fetched
	m := regexp.MustCompile(`server (\d+\.\d+)`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("its version: %v\n%s", err, out)
	}
	return string(m[1])
}

// wrapped is a directory for PATH in which a tool has its own name, whatever loader it needs.
func wrapped(t *testing.T, p server.Program) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rw-") // every account passes through
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	script := filepath.Join(dir, filepath.Base(p.Path()))
	// #nosec G302 G306 -- the account of servers runs it
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+p.Shell()+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(script, 0o755); err != nil { // #nosec G302 -- as above
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // #nosec G302 -- as above
		t.Fatal(err)
	}
	return dir
}

// field is a field of text of an answer in JSON.
func field(t *testing.T, answer, name string) string {
	t.Helper()
	m := regexp.MustCompile(`"` + name + `": "([^"]*)"`).FindStringSubmatch(answer)
	if m == nil {
		t.Fatalf("no %s in %s", name, answer)
	}
	return m[1]
}

// listed is what find says of all files of a directory, with their sums.
func listed(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `cd "$1" && find . -printf '%p %y %s %m %T@\n' | sort && find . -type f -exec sha256sum {} + | sort`, "sh", dir).Output() // #nosec G204 -- a test's own directory
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
