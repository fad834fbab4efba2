package tests

import (
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClients runs the tests of the clients in other languages, each by its test.sh, which
// gets all that it needs from its language's registry. In a quick run each has one server, and together
// they see both flavours; `make test-all` has each on the others, too, as python-mysql:9.7. RAMARIA_TEST_SERVER
// has all of them on one.
func TestClients(t *testing.T) {
	t.Parallel() // what they wait for is registries
	for _, c := range []struct{ name, needs, server string }{
		{"python", "python3", Servers[0]}, {"node", "npm", Servers[0]}, {"java", "mvn", "mysql:9.7"},
	} {
		first := cmp.Or(os.Getenv(envServer), c.server)
		t.Run(c.name, func(t *testing.T) { runClient(t, c.name, c.needs, first) })
		for _, want := range Servers {
			if !chosen() && want != first && lastOfFlavour(want) {
				t.Run(c.name+"-"+want, func(t *testing.T) { runClient(t, c.name, c.needs, want) })
			}
		}
	}
}

// runClient runs the test.sh of a client on a server.
func runClient(t *testing.T, name, needs, want string) {
	t.Parallel()
	if _, err := exec.LookPath(needs); err != nil {
		t.Skipf("SKIPPED, UNTESTED: the %s client: %v", name, err)
	}
	if name == "python" { // Debian has what makes environments in a package of its own
		if out, err := exec.CommandContext(t.Context(), needs, "-c", "import ensurepip, venv").CombinedOutput(); err != nil {
			t.Skipf("SKIPPED, UNTESTED: the python client: %s: apt-get install python3-venv", bytes.TrimSpace(out))
		}
	}
	h := newTestHomeOf(t, want)
	cmd := exec.CommandContext(t.Context(), "sh", filepath.Join("..", "clients", name, "test.sh"))
	cmd.Env = append(os.Environ(), envServer+"="+series(h.srv), "RAMARIA_BIN="+filepath.Join(binDir, "ramaria"), "RAMARIA_HOME="+h.home,
		"RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME="+testVolume, "RAMARIA_SERVER="+series(h.srv))
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%s on %s", time.Since(began).Round(time.Second), series(h.srv))
}

// TestClientsFromClone does what the READMEs say in a clean copy of the tree: it builds all
// clients, installs them, and asks their ramaria who it is; of Go it runs the test on the
// page about test suites. Then it runs the example projects.
func TestClientsFromClone(t *testing.T) {
	t.Parallel()
	clone := filepath.Join(t.TempDir(), "clone")
	for _, dir := range []string{"cmd", "internal", "client", "ramariatest", "clients", "docs/examples"} {
		if err := os.CopyFS(filepath.Join(clone, dir), os.DirFS(filepath.Join("..", dir))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "Makefile", "LICENSE", "THIRD_PARTY_NOTICES"} {
		b, err := os.ReadFile(filepath.Join("..", file))
		if err == nil {
			err = os.WriteFile(filepath.Join(clone, file), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(dir string, argv ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = dir
		cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "RAMARIA_BIN=") })
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	if pip := hasPip(t); pip != nil {
		_, npm := exec.LookPath("npm")
		if _, mvn := exec.LookPath("mvn"); npm != nil && mvn != nil {
			t.Skipf("SKIPPED, UNTESTED: no client can be built here: %v, %v, %v", pip, npm, mvn)
		}
	}
	made := filepath.Join(clone, "bin", "clients") // by another version, before
	if err := errors.Join(os.MkdirAll(made, 0o700), os.WriteFile(filepath.Join(made, "ramaria-0.0.1-py3-none-any.whl"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	said := in(clone, "make", "clients")
	only := func(pattern string) string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(made, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("make clients made %v of %s: %v\n%s", found, pattern, err, said)
		}
		return found[0]
	}
	t.Run("go", func(t *testing.T) {
		page, err := os.ReadFile(filepath.Join("..", "docs", "howto", "fast-test-suite.md"))
		if err != nil {
			t.Fatal(err)
		}
		_, section, _ := strings.Cut(string(page), "\n## Go\n")
		block := func(language string) string {
			t.Helper()
			_, behind, found := strings.Cut(section, "```"+language+"\n")
			text, _, closed := strings.Cut(behind, "```")
			if !found || !closed {
				t.Fatalf("the section on Go has no block of %s", language)
			}
			return text
		}
		h := newTestHome(t)
		app := pageFiles(t, h) // with shop.sql
		err = errors.Join(os.Mkdir(filepath.Join(app, "testdata"), 0o700),
			os.Rename(filepath.Join(app, "shop.sql"), filepath.Join(app, "testdata", "shop.sql")),
			os.WriteFile(filepath.Join(app, "shop_test.go"), []byte(block("go")), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		in(app, "go", "mod", "init", "example.com/shop")
		in(app, "sh", "-ec", strings.ReplaceAll(block("bash"), "CLONE", clone))
		cmd := exec.CommandContext(t.Context(), "go", "test", "./...")
		cmd.Dir = app
		cmd.Env = append(os.Environ(), "PATH="+binDir+":"+os.Getenv("PATH"), "RAMARIA_BIN=", "RAMARIA_HOME="+h.home,
			"RAMARIA_NO_FETCH=1", "RAMARIA_VOLUME="+testVolume, "RAMARIA_SERVER="+series(h.srv))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
	})
	t.Run("python", func(t *testing.T) {
		if err := hasPip(t); err != nil {
			t.Skipf("SKIPPED, UNTESTED: %v", err)
		}
		var files []string
		wheel := only("ramaria-*.whl")
		for _, name := range zipped(t, wheel) {
			files = append(files, filepath.Base(name))
		}
		if !slices.Contains(files, "LICENSE") || !slices.Contains(files, "THIRD_PARTY_NOTICES") {
			t.Errorf("the wheel has no licences, but %s", files)
		}
		// The binary says 0.1.0-dev, since the copy has no git; as Python spells it.
		if says := in(clone, filepath.Join(clone, "bin", "ramaria"), "--version"); !strings.HasPrefix(says, "ramaria 0.1.0-dev ") || !strings.Contains(wheel, "/ramaria-0.1.0.dev0-") {
			t.Errorf("the wheel is %s, its binary %s", wheel, says)
		}
		venv := filepath.Join(t.TempDir(), "venv")
		in(clone, "python3", "-m", "venv", venv)
		in(clone, venv+"/bin/pip", "install", "--quiet", "./clients/python") // Go builds its ramaria
		if got := in(clone, venv+"/bin/ramaria", "--version"); !strings.HasPrefix(got, "ramaria 0.1.0-dev ") {
			t.Errorf("its ramaria says %q", got)
		}
		// So does build.sh, and it is the same one.
		if built := in(clone, "env", "PYTHON="+venv+"/bin/python", "sh", "clients/python/build.sh", t.TempDir()); !strings.Contains(built, "/ramaria-0.1.0.dev0-") {
			t.Errorf("build.sh makes %s", built)
		}
		if got := in(clone, venv+"/bin/python", "-c", "from importlib.metadata import version; print(version('ramaria'))"); got != "0.1.0.dev0\n" {
			t.Errorf("what is installed has version %q", got)
		}
	})
	t.Run("node", func(t *testing.T) {
		if _, err := exec.LookPath("npm"); err != nil {
			t.Skipf("SKIPPED, UNTESTED: %v", err)
		}
		for _, file := range []string{"package/LICENSE", "package/THIRD_PARTY_NOTICES"} {
			if listed := in(clone, "tar", "-tzf", only("ramaria-*.tgz")); !strings.Contains(listed, file+"\n") {
				t.Errorf("the package of npm has no %s:\n%s", file, listed)
			}
		}
		app := t.TempDir()
		in(app, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=peer", only("ramaria-*.tgz"))
		if got := in(app, "node_modules/.bin/ramaria", "--version"); !strings.HasPrefix(got, "ramaria ") {
			t.Errorf("its ramaria says %q", got)
		}
		in(filepath.Join(clone, "clients", "node"), "npm", "pack", "--silent", "--pack-destination", app) // Go builds its ramaria
		in(app, "tar", "-xzf", "ramaria-0.1.0.tgz")
		if got := in(app, "package/bin/ramaria", "--version"); !strings.HasPrefix(got, "ramaria 0.1.0-dev ") {
			t.Errorf("the ramaria that is built for the package says %q", got)
		}
	})
	t.Run("java", func(t *testing.T) {
		if _, err := exec.LookPath("mvn"); err != nil {
			t.Skipf("SKIPPED, UNTESTED: %v", err)
		}
		files := zipped(t, only("ramaria-junit5-*.jar"))
		for _, file := range []string{"io/github/ramariadb/junit/RamariaExtension.class", "META-INF/LICENSE"} {
			if !slices.Contains(files, file) {
				t.Errorf("the jar has no %s, but %s", file, files)
			}
		}
	})
	t.Run("examples", func(t *testing.T) { runExamples(t, clone) })
}

// hasPip returns an error where the wheel cannot be built: Debian has pip in a package of its own.
func hasPip(t *testing.T) error {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "pip", "--version").CombinedOutput(); err != nil {
		return fmt.Errorf("python3 has no pip: %w: %s", err, out)
	}
	return nil
}

// zipped are the names of the files in an archive.
func zipped(t *testing.T, path string) (names []string) {
	t.Helper()
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	return names
}
