package tests

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// testGroups: of the groups of my-cnf those count that the server itself says it reads, but for those that are not its alone.
func (a *actionRunner) testGroups() {
	a.t.Helper()
	srv := a.h.srv
	help := exec.CommandContext(a.t.Context(), srv.Daemon.Argv[0], append(srv.Daemon.Argv[1:], "--no-defaults", "--help", "--verbose")...)
	out, _ := help.Output() // some leave with a status
	said := regexp.MustCompile(`groups are read: (.*)`).FindSubmatch(out)
	if said == nil {
		a.t.Fatalf("the server does not say which groups it reads: %s", out)
	}
	read := strings.Fields(string(said[1]))
	of, _, _ := strings.Cut(series(srv), ":")
	asked := slices.Concat(read, []string{"client", "mysqld", "mysqld-5.7", "mysqld-8", "mysqld_safe", "mariadb", "mariadb-10", "mariadb-10.6", "mariadbd", "mariadbd-13.9", "mariadb-client"})
	const program = `const { reads } = await import(process.argv[1]); console.log(process.argv.slice(3).filter((g) => reads(process.argv[2], g)).join(' '))`
	settings, err := filepath.Abs("../packaging/action/settings.mjs")
	if err != nil {
		a.t.Fatal(err)
	}
	counts, err := exec.CommandContext(a.t.Context(), "node", append([]string{"--input-type=module", "-e", program, settings, srv.Name()}, asked...)...).CombinedOutput()
	want := slices.DeleteFunc(asked, func(group string) bool {
		return !slices.Contains(read, group) || group == "client-server" || group == "galera" || group == "mysql_cluster"
	})
	if got := strings.TrimSpace(string(counts)); err != nil || got != strings.Join(want, " ") {
		a.t.Errorf("%s: %v: groups that count: %s, want %s", srv.Name(), err, got, want)
	}
	servers := filepath.Join(a.work, "_ramaria", "cache", "servers")
	if err := errors.Join(os.MkdirAll(filepath.Dir(servers), 0o755), os.Symlink(filepath.Join(a.h.home, "cache", "servers"), servers)); err != nil {
		a.t.Fatal(err)
	}
	number := srv.Version.Series()
	job := a.job(map[string]string{"flavour": of, "my-cnf": "[mysqld-" + number + "]\nmax_connections = 79\n[mysqld-5.1]\nmax_connections = 51\n"})
	if job.failed != nil {
		a.t.Fatalf("with groups of versions: %v: %s", job.failed, job.log)
	}
	db := openDSN(a.t, job.outputs["dsn"])
	if got := a.h.one(db, "SELECT @@max_connections"); got != "79" {
		a.t.Errorf("max_connections is %s, want that of the group for %s", got, number)
	}
	_ = db.Close()
	job.end()
	a.wipe()
}

// testTakenPort: what is said names the input.
func (a *actionRunner) testTakenPort(inputs map[string]string) {
	a.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		a.t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	job := a.job(map[string]string{"flavour": inputs["flavour"], "database": "shop", "template": "shop", "front": port})
	if want := "front: port " + port + " is taken"; job.failed == nil || !strings.Contains(job.log, want) {
		a.t.Errorf("at a port that is taken: %v: %s, want %q", job.failed, job.log, want)
	}
	a.wipe()
}
