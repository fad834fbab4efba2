package tests

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// TestAction runs the steps of the action for GitHub as its runner does: the first job builds and fills the cache, the
// next has server and data from it, and one whose dump is another has the server from it.
func TestAction(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED, UNTESTED: the action: %v", err)
		}
	}
	h := newTestHome(t)
	a := &actionRunner{t: t, h: h, dir: t.TempDir(), work: filepath.Join(h.home, "w"), cache: httptest.NewServer(&actionCache{t: t})}
	t.Cleanup(a.cache.Close)
	a.build()
	dump := filepath.Join(a.dir, "shop.sql")
	write := func(rows string) {
		t.Helper()
		if err := os.WriteFile(dump, []byte("CREATE TABLE t (a INT PRIMARY KEY);\nINSERT INTO t VALUES "+rows+";\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs := map[string]string{
		"flavour": h.daemon(), "from": dump, "database": "shop", "user": "ann", "password": "p'w d", "template": "shop",
		"front": freePort(t), "my-cnf": "[client]\nport = 1\n[mysqld] # ours\n# few\nmax-connections = 77 # really\nskip-name-resolve\ninit_connect=\"SET @a = 'x # y'\" # once\n", "tmpfs-size": "1G",
	}
	write("(1), (2)")
	for _, want := range []struct{ hit, rows string }{{"", "2"}, {"true", "2"}, {"false", "3"}} {
		if want.rows == "3" {
			write("(1), (2), (3)")
		}
		job := a.job(inputs)
		if job.outputs["cache-hit"] != want.hit && want.hit != "" {
			t.Errorf("cache-hit is %q, want %q: %s", job.outputs["cache-hit"], want.hit, job.log)
		}
		if loaded := strings.Contains(job.log, "loading shop.sql"); loaded != (want.hit != "true") {
			t.Errorf("the dump was loaded: %v, though cache-hit is %q: %s", loaded, want.hit, job.log)
		}
		t.Logf("cache-hit %q: %s", want.hit, job.took)
		db := openDSN(t, job.outputs["dsn"])
		for query, value := range map[string]string{"SELECT COUNT(*) FROM t": want.rows, "SELECT @@max_connections": "77", "SELECT @@init_connect": "SET @a = 'x # y'", "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)": "ann", "SELECT DATABASE()": "shop"} {
			if got := h.one(db, query); got != value {
				t.Errorf("%s: %s, want %s", query, got, value)
			}
		}
		clone := openDSN(t, job.outputs["front"]+"shop@1")
		if got := h.one(clone, "SELECT DATABASE()"); got != "shop_1" {
			t.Errorf("behind the door is %s", got)
		}
		for _, open := range []*sql.DB{db, clone} {
			if err := open.Close(); err != nil {
				t.Error(err)
			}
		}
		if job.outputs["password"] != "p'w d" || job.env["DATABASE_URL"] != job.outputs["dsn"] || job.env["MYSQL_PWD"] != "p'w d" {
			t.Errorf("outputs %v, variables %v", job.outputs, job.env)
		}
		for _, path := range []string{job.outputs["socket"], job.outputs["api"], job.env["RAMARIA_API"]} {
			if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeSocket == 0 {
				t.Errorf("%q is no socket: %v", path, err)
			}
		}
		job.end()
		if stop, log := strings.Index(job.log, "::stop-commands::"), strings.Index(job.log, "ready for connections"); stop < 0 || stop > log {
			t.Errorf("the server's log is printed as commands of the step: %s", job.log)
		}
		if !strings.Contains(job.log, "ready for connections") || !strings.Contains(job.summary, "running") {
			t.Errorf("the log says %s, the summary %s", job.log, job.summary)
		}
		masks := strings.NewReplacer("::add-mask::p'w d", "", "::add-mask::p%2527w%2520d", "", "::add-mask::p%27w%20d", "") // a command has its % escaped
		if log := masks.Replace(job.log); strings.Contains(log, "p'w d") || !strings.Contains(job.log, "::add-mask::p%25") {
			t.Errorf("the password is in the log: %s", job.log)
		}
		a.wipe()
	}
	inputs["from"] = filepath.Join(a.dir, "no such*.sql")
	if job := a.job(inputs); job.failed == nil || !strings.Contains(job.log, "there is no such file") || strings.Contains(job.log, "the server's log") {
		t.Errorf("without the dump: %v: %s", job.failed, job.log)
	}
	if left, err := filepath.Glob(filepath.Join(a.work, "_ramaria", "password-*")); err != nil || len(left) > 0 {
		t.Errorf("the last step leaves %q, %v", left, err)
	}
	a.wipe()
	a.testGroups()
	a.testTakenPort(inputs)
	inputs["durable"] = "perhaps"
	if job := a.job(inputs); job.failed == nil || !strings.Contains(job.log, "it is true or false") {
		t.Errorf("durable: perhaps: %v: %s", job.failed, job.log)
	}
}

// actionRunner does for the action what GitHub's runner does.
type actionRunner struct {
	t         *testing.T
	h         *testHome
	dir, work string
	cache     *httptest.Server
}

// build builds the action, and a release that it installs.
func (a *actionRunner) build() {
	a.t.Helper()
	cmd := exec.CommandContext(a.t.Context(), "sh", "../packaging/action/build.sh", filepath.Join(a.dir, "action"))
	cmd.Env = append(os.Environ(), "VERSION="+a.version())
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Fatalf("build the action: %v: %s", err, out)
	}
	notices, err := os.ReadFile(filepath.Join(a.dir, "action", "THIRD_PARTY_NOTICES"))
	if err != nil {
		a.t.Fatal(err)
	}
	for _, words := range []string{"\n@actions/core ", "\n@azure/storage-blob ", "Permission is hereby granted"} {
		if !strings.Contains(string(notices), words) {
			a.t.Errorf("the licences of what the action contains have no %q", words)
		}
	}
	program, err := os.ReadFile(filepath.Join(binDir, "ramaria"))
	if err != nil {
		a.t.Fatal(err)
	}
	makeRelease(a.t, filepath.Join(a.dir, "release"), a.version(), string(program))
}

// version is that of the program.
func (a *actionRunner) version() string {
	out, _, err := a.h.try("--version")
	if err != nil {
		a.t.Fatal(err)
	}
	return strings.Fields(out)[1]
}

// actionJob is a job that uses the action.
type actionJob struct {
	a            *actionRunner
	environ      []string
	state        string
	took         time.Duration
	log, summary string
	outputs, env map[string]string
	failed       error
}

// job runs the action's step with inputs.
func (a *actionRunner) job(inputs map[string]string) *actionJob {
	a.t.Helper()
	var action struct {
		Inputs map[string]struct {
			Default string `yaml:"default"`
		} `yaml:"inputs"`
		Runs struct{ Main, Post string } `yaml:"runs"`
	}
	text, err := os.ReadFile(filepath.Join(a.dir, "action", "action.yml"))
	if err == nil {
		err = yaml.Unmarshal(text, &action)
	}
	if err != nil || action.Runs.Main != "main.mjs" || action.Runs.Post != "post.mjs" {
		a.t.Fatalf("action.yml: %v: %+v", err, action.Runs)
	}
	temp := filepath.Join(a.work, "_temp")
	if err := os.MkdirAll(temp, 0o755); err != nil {
		a.t.Fatal(err)
	}
	j := &actionJob{a: a, state: filepath.Join(temp, "state")}
	j.environ = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_STATE="+j.state, "GITHUB_WORKSPACE="+a.dir, "RAMARIA_RELEASES="+filepath.Join(a.dir, "release"),
		"ACTIONS_CACHE_URL="+a.cache.URL+"/", "ACTIONS_RUNTIME_TOKEN=token", "RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME="+testVolume, "RAMARIA_HOME=")
	for _, name := range []string{"OUTPUT", "ENV", "PATH", "STATE", "STEP_SUMMARY"} {
		path := filepath.Join(temp, strings.ToLower(name))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			a.t.Fatal(err)
		}
		j.environ = append(j.environ, "GITHUB_"+name+"="+path)
	}
	for name, input := range action.Inputs {
		value, given := inputs[name]
		if !given {
			value = input.Default
		}
		j.environ = append(j.environ, "INPUT_"+strings.ToUpper(name)+"="+value)
	}
	for name := range inputs {
		if _, known := action.Inputs[name]; !known {
			a.t.Fatalf("action.yml has no input %s", name)
		}
	}
	start := time.Now()
	j.failed = j.run("main.mjs")
	j.took = time.Since(start)
	j.outputs, j.env = commandFile(a.t, filepath.Join(temp, "output")), commandFile(a.t, filepath.Join(temp, "env"))
	path, err := os.ReadFile(filepath.Join(temp, "path"))
	if err != nil {
		a.t.Fatal(err)
	}
	j.environ = append(j.environ, "PATH="+strings.TrimSpace(string(path))+":"+os.Getenv("PATH"))
	if j.failed != nil {
		j.end()
	}
	return j
}

// run runs a script of the action.
func (j *actionJob) run(script string) error {
	cmd := exec.CommandContext(j.a.t.Context(), "node", filepath.Join(j.a.dir, "action", script))
	cmd.Env = j.environ
	out, err := cmd.CombinedOutput()
	j.log += string(out)
	return err
}

// end runs the action's last step.
func (j *actionJob) end() {
	j.a.t.Helper()
	for name, value := range commandFile(j.a.t, j.state) {
		j.environ = append(j.environ, "STATE_"+name+"="+value)
	}
	for name, value := range j.env {
		j.environ = append(j.environ, name+"="+value)
	}
	if err := j.run("post.mjs"); err != nil || strings.Contains(j.log, "::warning::") {
		j.a.t.Errorf("the last step: %v: %s", err, j.log)
	}
	summary, err := os.ReadFile(filepath.Join(filepath.Dir(j.state), "step_summary"))
	if err != nil {
		j.a.t.Error(err)
	}
	j.summary = string(summary)
}

// wipe leaves nothing of a job, as a runner that is thrown away.
func (a *actionRunner) wipe() {
	a.t.Helper()
	home := filepath.Join(a.work, "_ramaria")
	cmd := a.h.command("volume", "rm", "--all", "--force")
	cmd.Env = append(cmd.Env, "RAMARIA_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Errorf("%v: %s", err, out)
	}
	if err := os.RemoveAll(a.work); err != nil {
		a.t.Error(err)
	}
}

// commandFile reads a file by which a step tells the runner names and values.
func commandFile(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for rest := string(text); rest != ""; {
		head, tail, _ := strings.Cut(rest, "\n")
		name, mark, ok := strings.Cut(head, "<<")
		value, after, ended := strings.Cut(tail, "\n"+mark+"\n")
		if !ok || !ended {
			t.Fatalf("%s: %q", path, text)
		}
		values[name], rest = value, after
	}
	return values
}

// actionCache is the service that keeps caches for jobs, by its first protocol.
type actionCache struct {
	t       *testing.T
	mu      sync.Mutex
	entries []*actionEntry
}

type actionEntry struct {
	key, version string
	data         []byte
	done         bool
}

var cachePath = regexp.MustCompile(`^/(?:_apis/artifactcache/caches?|archive)(?:/(\d+))?$`)

func (c *actionCache) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := cachePath.FindStringSubmatch(r.URL.Path)
	if m == nil {
		c.t.Errorf("the cache was asked for %s %s", r.Method, r.URL)
		http.NotFound(w, r)
		return
	}
	var e *actionEntry
	if m[1] != "" {
		id, err := strconv.Atoi(m[1])
		if err != nil || id < 1 || id > len(c.entries) {
			http.NotFound(w, r)
			return
		}
		e = c.entries[id-1]
	}
	if err := c.serve(w, r, e); err != nil {
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
}

func (c *actionCache) serve(w http.ResponseWriter, r *http.Request, e *actionEntry) error {
	switch {
	case r.Method == http.MethodGet && e != nil:
		_, err := w.Write(e.data)
		return err
	case r.Method == http.MethodGet:
		keys, err := url.QueryUnescape(r.URL.Query().Get("keys")) // it is escaped twice
		if err != nil {
			return err
		}
		for _, key := range strings.Split(keys, ",") {
			for id, e := range c.entries {
				if e.done && e.version == r.URL.Query().Get("version") && strings.HasPrefix(e.key, key) {
					return json.NewEncoder(w).Encode(map[string]string{"cacheKey": e.key, "archiveLocation": fmt.Sprintf("http://%s/archive/%d", r.Host, id+1)})
				}
			}
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	case r.Method == http.MethodPatch && e != nil: // in pieces, in any order
		var from, to int
		if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/*", &from, &to); err != nil {
			return err
		}
		piece, err := io.ReadAll(r.Body)
		if len(e.data) < to+1 {
			e.data = append(e.data, make([]byte, to+1-len(e.data))...)
		}
		copy(e.data[from:], piece)
		w.WriteHeader(http.StatusNoContent)
		return err
	case r.Method == http.MethodPost && e != nil:
		e.done = true
		w.WriteHeader(http.StatusNoContent)
		return nil
	case r.Method == http.MethodPost:
		var order struct{ Key, Version string }
		if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
			return err
		}
		c.entries = append(c.entries, &actionEntry{key: order.Key, version: order.Version})
		w.WriteHeader(http.StatusCreated)
		return json.NewEncoder(w).Encode(map[string]int{"cacheId": len(c.entries)})
	}
	return errors.New("no such request")
}

// freePort is a port that nobody has at present.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
