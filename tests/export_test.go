package tests

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// plainStart starts the packaged daemon with a command line that export has printed, and nothing else but where its
// messages lie, since its package is unpacked elsewhere than it expects. It is ended with the test, by its number.
func (h *testHome) plainStart(line string) (stop func() error, log string) {
	h.t.Helper()
	words := strings.Fields(line)
	if want := filepath.Base(h.srv.Daemon.Path()); words[0] != want {
		h.t.Fatalf("it is to be started by %s, not %s", words[0], want)
	}
	scratch := h.t.TempDir()
	text, err := h.srv.Render(server.Config{Stage: server.Stock, DataDir: scratch, RunDir: scratch, TmpDir: scratch})
	if err != nil {
		h.t.Fatal(err)
	}
	args := slices.Concat(h.srv.Daemon.Argv[1:], words[1:])
	for _, m := range regexp.MustCompile(`(?m)^(lc_messages_dir|character_sets_dir) = (.*)$`).FindAllStringSubmatch(text, -1) {
		args = append(args, "--"+strings.ReplaceAll(m[1], "_", "-")+"="+m[2])
	}
	args = append(args, "--skip-networking", "--secure-file-priv="+scratch, "--tmpdir="+scratch, "--pid-file="+filepath.Join(scratch, "pid"))
	cmd := exec.Command(h.srv.Daemon.Argv[0], args...) // #nosec G204 -- the server of the tests
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, h.srv.Daemon.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log = filepath.Join(scratch, "log")
	out, err := os.Create(log)
	if err != nil {
		h.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			return fmt.Errorf("it did not shut down within %s: %w", patience, <-done)
		}
	}
	h.t.Cleanup(func() { _ = stop() })
	return stop, log
}

// exported are what export prints: the command that starts the server, and that which logs in, by an option file. Neither
// has the password.
func exported(t *testing.T, out string) (start string, login dbconn.Login, socket string) {
	t.Helper()
	start, client, ok := strings.Cut(out, "\n")
	m := regexp.MustCompile(`^\S+ --defaults-file=(\S+)$`).FindStringSubmatch(strings.TrimSpace(client))
	if !ok || m == nil {
		t.Fatalf("export printed:\n%s", out)
	}
	config, err := os.ReadFile(m[1])
	if err != nil {
		t.Fatal(err)
	}
	option := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` = "(.+)"$`).FindSubmatch(config)
		if m == nil {
			t.Fatalf("%s is not in the option file", name)
		}
		return string(m[1])
	}
	return start, dbconn.Login{User: option("user"), Password: option("password")}, option("socket")
}

// TestExport starts the packaged server plainly on what was exported from an instance that is written to: all commits
// from before are there, tables check clean, and nothing of Ramaria is.
func TestExport(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	db := openDSN(t, h.ramaria("up", "main", "--server", h.daemon(), "--set", killPool))
	h.exec(db, dialect(h.srv, rewindData...)...)
	h.ramaria("mark", "main", "one")
	h.exec(db, "CREATE DATABASE shelf", "CREATE TABLE shelf.book (a INT PRIMARY KEY)", "INSERT INTO shelf.book VALUES (1)")
	h.ramaria("template", "add", "shelf", "-i", "main")
	h.ramaria("db", "new", "shelf", "--name", "lent", "-i", "main")
	l := h.beginMoveLoad(db)
	h.until("some commits", func() bool { return l.sum() > 200 })
	atLeast := [moveWriters]int64{}
	for w := range atLeast {
		atLeast[w] = l.acked[w].Load()
	}
	dir := filepath.Join(t.TempDir(), "data")
	out, talk, err := h.try("export", "main", dir)
	if err != nil {
		t.Fatalf("export: %v\n%s%s", err, talk, h.logs())
	}
	l.end()
	want := h.picture(db)
	start, login, socket := exported(t, out)
	if strings.Contains(out+talk, login.Password) {
		t.Error("the password is printed")
	}
	h.nothingOfOurs(dir)

	stop, log := h.plainStart(start)
	plain, err := dbconn.Open(socket, login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	h.until("the plain server answers", func() bool { return plain.Ping() == nil || h.diedSaying(log) })
	for w, n := range atLeast {
		var got int64
		if err := plain.QueryRow("SELECT COALESCE(MAX(n), 0) FROM app.ack WHERE w = ?", w).Scan(&got); err != nil || got < n {
			t.Errorf("writer %d: commit %d was acknowledged before, %d is the last (%v)", w, n, got, err)
		}
	}
	if err := cleanTables(t.Context(), plain); err != nil {
		t.Error(err)
	}
	// Apart from what was written meanwhile, from our accounts, and from the lease, all is the same.
	ours := regexp.MustCompile(`\bhalf\b|\back\b|ramaria_admin|lease_|\blent\b|shelf_|mysql\.user`)
	same := func(lines []string) []string {
		return slices.DeleteFunc(slices.Clone(lines), ours.MatchString)
	}
	if diff := cmp.Diff(same(want), same(h.picture(plain))); diff != "" {
		t.Errorf("-instance +exported:\n%s", diff)
	}
	users, err := column(t.Context(), plain, "SELECT CONCAT(User, '@', Host) FROM mysql.user WHERE User LIKE 'ramaria%' OR User LIKE 'lease%'")
	if err != nil || len(users) > 0 {
		t.Errorf("accounts of ours: %v (%v)", users, err)
	}
	// A routine runs with its definer's rights, and no one logs in as that.
	if _, err := plain.Exec("CALL shop.nothing()"); err != nil {
		t.Error(err)
	}
	if err := h.loginAs(db, socket); err == nil {
		t.Error("the application's account lets in")
	}
	if err := stop(); err != nil {
		t.Errorf("the plain server: %v", err)
	}
}

// nothingOfOurs looks for files of Ramaria, and for those that others may read.
func (h *testHome) nothingOfOurs(dir string) {
	h.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		if st := fi.Sys().(*syscall.Stat_t); int(st.Uid) != os.Geteuid() {
			h.t.Errorf("%s belongs to uid %d", path, st.Uid)
		}
		if strings.Contains(d.Name(), "ramaria") || strings.HasSuffix(d.Name(), ".pem") || d.Name() == "auto.cnf" {
			h.t.Errorf("%s is none of the data", path)
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
		h.t.Errorf("%s has mode %v (%v)", dir, fi.Mode(), err)
	}
}

// diedSaying fails the test if a server has ended.
func (h *testHome) diedSaying(log string) bool {
	text, err := os.ReadFile(log)
	if err == nil && strings.Contains(string(text), "Aborting") {
		h.t.Fatalf("the plain server says:\n%s", text)
	}
	return false
}

// loginAs tries the application's account of an instance on another server.
func (h *testHome) loginAs(_ *sql.DB, socket string) error {
	h.t.Helper()
	out := h.ramaria("env", "main")
	m := regexp.MustCompile(`MYSQL_PWD='([^']*)'`).FindStringSubmatch(out)
	db, err := dbconn.Open(socket, dbconn.Login{User: "app", Password: m[1]}, "")
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Ping()
}
