package tests

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestGitLab runs the job of docs/examples/ci/gitlab-ci.yml as GitLab's runner does: before_script and script in one
// shell, after_script in another.
func TestGitLab(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skipf("SKIPPED, UNTESTED: the job for GitLab: %v", err)
	}
	var jobs struct {
		Test struct {
			Variables map[string]string
			Before    []string `yaml:"before_script"`
			Script    []string
			After     []string `yaml:"after_script"`
		}
	}
	text, err := os.ReadFile("../docs/examples/ci/gitlab-ci.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &jobs)
	}
	if err != nil || len(jobs.Test.Before) == 0 || len(jobs.Test.Script) == 0 || len(jobs.Test.After) == 0 {
		t.Fatalf("gitlab-ci.yml: %v: %+v", err, jobs)
	}
	h := newTestHome(t)
	release := t.TempDir()
	program, err := os.ReadFile(filepath.Join(binDir, "ramaria"))
	if err != nil {
		t.Fatal(err)
	}
	makeRelease(t, release, "0.0.1", string(program))
	install, err := os.ReadFile("../packaging/release/install.sh")
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(h.home, "p")
	for path, text := range map[string]string{
		filepath.Join(release, "install.sh"): string(install),
		filepath.Join(project, "schema.sql"): "CREATE TABLE t (a INT PRIMARY KEY);\nINSERT INTO t VALUES (1), (2);\n",
		filepath.Join(project, "test.sh"):    "#!/bin/sh\nramaria sql -e 'SELECT COUNT(*) AS `rows` FROM schema.t'; echo \"at $DATABASE_URL\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	srv := httptest.NewServer(http.FileServer(http.Dir(release)))
	t.Cleanup(srv.Close)
	environ := append(os.Environ(), "CI_PROJECT_DIR="+project, "RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME="+testVolume)
	jobs.Test.Variables["RAMARIA_RELEASES"], jobs.Test.Variables["RAMARIA_SERVER"] = srv.URL, h.daemon()
	for name, value := range jobs.Test.Variables {
		environ = append(environ, name+"="+strings.ReplaceAll(value, "$CI_PROJECT_DIR", project))
	}
	run := func(lines ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-eo", "pipefail", "-c", strings.Join(lines, "\n"))
		cmd.Dir, cmd.Env = project, environ
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	for _, loads := range []bool{true, false} { // the second has the image from the cache
		out := run(append(jobs.Test.Before, jobs.Test.Script...)...)
		if !strings.Contains(out, "2") || !strings.Contains(out, "at mysql://app:") || strings.Contains(out, "loading schema.sql") != loads {
			t.Errorf("with an empty cache %v: %s", loads, out)
		}
		if out := run(jobs.Test.After...); !strings.Contains(out, "ready for connections") {
			t.Errorf("after_script: %s", out)
		}
		run("$RAMARIA_HOME/program/bin/ramaria volume rm --all --force") // as a machine that is thrown away
	}
}

// TestRecipesInDocs: what the pages show of the files for CI is what they are.
func TestRecipesInDocs(t *testing.T) {
	t.Parallel()
	for file, page := range map[string]string{
		"github.yml": "howto/ci-database.md", "gitlab-ci.yml": "howto/ci-database.md", "compose.yml": "containers.md", "devcontainer.json": "containers.md",
	} {
		text, err := os.ReadFile(filepath.Join("../docs/examples/ci", file))
		if err != nil {
			t.Fatal(err)
		}
		shown, err := os.ReadFile(filepath.Join("../docs", page))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(shown), "\n```"+strings.TrimPrefix(filepath.Ext(strings.Replace(file, ".yml", ".yaml", 1)), ".")+"\n"+string(text)+"```\n") {
			t.Errorf("docs/%s does not show docs/examples/ci/%s as it is", page, file)
		}
	}
}
