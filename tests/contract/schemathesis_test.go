package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

const (
	// seed makes every run send the same requests.
	seed = "26"
	// runLimit is how long a run of Schemathesis may take, and installLimit how long it may
	// take to install.
	runLimit     = 15 * time.Minute
	installLimit = 20 * time.Minute
)

// venv is a virtual environment of Python with Schemathesis in it, made once.
var venv struct {
	once sync.Once
	dir  string // "" until it is made
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if venv.dir != "" {
		os.RemoveAll(venv.dir)
	}
	os.Exit(code)
}

// schemathesis returns the path of the program. Where it cannot be had the test is skipped.
func schemathesis(t *testing.T) string {
	t.Helper()
	venv.once.Do(func() { venv.err = install() })
	if venv.err != nil {
		t.Skipf("SKIPPED, UNTESTED: the API against its document by Schemathesis: %v", venv.err)
	}
	return filepath.Join(venv.dir, "bin", "schemathesis")
}

func install() (err error) {
	if os.Getenv(servertest.EnvOffline) == "1" {
		return errors.New(servertest.EnvOffline + "=1")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return err
	}
	if venv.dir, err = os.MkdirTemp("", "rcv-"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), installLimit)
	defer cancel()
	for _, argv := range [][]string{
		{python, "-m", "venv", venv.dir},
		{filepath.Join(venv.dir, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--requirement", "requirements.txt"},
	} {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
		}
	}
	return nil
}

// request is a request that was sent, and the status of its answer.
type request struct {
	method, path string
	status       int
}

// run has Schemathesis test what answers at a URL, and returns what it sent and what it
// says. The error matches *exec.ExitError if it found something.
func run(t *testing.T, at string, more ...string) (sent []request, out string, err error) {
	t.Helper()
	program := schemathesis(t)
	dir := t.TempDir() // it keeps notes where it runs
	for _, name := range []string{"hooks.py", "schemathesis.toml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "openapi.yaml"), api.Document(), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"--config-file", "schemathesis.toml", "run", "openapi.yaml", "--url", at, "--seed", seed, "--no-color",
		"--report-har-path", "sent.har",
	}, more...)
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	t.Logf("schemathesis %s", strings.Join(args, " "))
	b, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("schemathesis takes longer than %s:\n%s", runLimit, b)
	}
	return read(t, filepath.Join(dir, "sent.har")), string(b), err
}

// read reads a file in the HTTP Archive format.
func read(t *testing.T, file string) []request {
	t.Helper()
	b, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var archive struct {
		Log struct {
			Entries []struct {
				Request struct {
					Method, URL string
				}
				Response struct {
					Status int
				}
			}
		}
	}
	if err := errors.Join(err, json.Unmarshal(b, &archive)); err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	var list []request
	for _, e := range archive.Log.Entries {
		u, err := url.Parse(e.Request.URL)
		if err != nil {
			t.Fatalf("read %s: %v", file, err)
		}
		list = append(list, request{e.Request.Method, u.EscapedPath(), e.Response.Status})
	}
	return list
}
