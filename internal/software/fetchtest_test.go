package software

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

const fakePrefix = "x/mariadb-11.4.5/linux/"

// fakeServer are the files of a server that only tells its version.
func fakeServer(version string) map[string]string {
	return map[string]string{
		"bin/mariadbd":                    "#!/bin/sh\necho 'mariadbd  Ver " + version + "-MariaDB for Linux on x86_64'\n",
		"bin/mariadb":                     "#!/bin/sh\n",
		"bin/mariadb-dump":                "#!/bin/sh\n",
		"bin/resolveip":                   "not needed",
		"share/mariadb_system_tables.sql": "SELECT 1;\n",
		"share/english/errmsg.sys":        strings.Repeat("message", 20000),
		"share/charsets/Index.xml":        "<x/>",
		"share/groonga/COPYING":           "not needed",
	}
}

// fakeJar packs files below fakePrefix.
func fakeJar(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: fakePrefix + name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(w, content)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jarOf(content []byte) jar {
	sum := sha256.Sum256(content)
	return jar{flavour: server.MariaDB, version: server.Version{Major: 11, Minor: 4, Patch: 5}, arch: runtime.GOARCH, path: "a/server.jar",
		size: int64(len(content)), sha256: hex.EncodeToString(sum[:]), prefix: fakePrefix}
}

// maven serves one jar and counts the requests for it.
type maven struct {
	*httptest.Server
	requests atomic.Int32
}

func serveJar(t testing.TB, handle http.HandlerFunc) *maven {
	t.Helper()
	m := &maven{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.requests.Add(1)
		handle(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

func serveBytes(t testing.TB, content []byte) *maven {
	return serveJar(t, func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "server.jar", time.Time{}, bytes.NewReader(content))
	})
}

// noApt makes the machine one that is not Debian's.
func (m *machine) noApt() {
	m.look = func(name string) (string, error) { return "", exec.ErrNotFound }
}

// aptSources replaces the machine's sources by the given lines.
func (m *machine) aptSources(lines string) {
	m.t.Helper()
	m.look = nil
	list := filepath.Join(m.t.TempDir(), "sources.list")
	if err := os.WriteFile(list, []byte(lines+"\n"), 0o644); err != nil {
		m.t.Fatal(err)
	}
	m.apt = fmt.Sprintf("Dir::Etc::sourcelist %q;\nDir::Etc::sourceparts \"/dev/null\";\nDir::Etc::preferencesparts \"/dev/null\";\nAcquire::Retries \"0\";\n", list)
}

// fetching is a machine without servers and packages that fetches j from base.
func fetching(t *testing.T, base string, j jar) *machine {
	t.Helper()
	m := newMachine(t)
	m.NoFetch = false
	m.noApt()
	m.jars = []jar{j}
	m.env[EnvMaven] = base
	return m
}

// cacheNames lists what lies in the cache of servers but for the lock.
func (m *machine) cacheNames() []string {
	m.t.Helper()
	return namesIn(m.t, m.Places.Servers())
}

func namesIn(t *testing.T, cache string) []string {
	t.Helper()
	entries, err := os.ReadDir(cache)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != fetchLock {
			names = append(names, e.Name())
		}
	}
	return names
}

// fails fetches, and checks that the error is one of that kind, says all of texts,
// and that nothing is left.
func (m *machine) fails(kind error, texts ...string) {
	m.t.Helper()
	if err := m.failure(texts...); !errors.Is(err, kind) {
		m.t.Errorf("the error is no %q: %#v", kind, err)
	}
}

// failure is fails for an error that its caller looks at.
func (m *machine) failure(texts ...string) error {
	m.t.Helper()
	s, err := m.Find(m.t.Context(), "")
	if err == nil {
		m.t.Fatalf("fetched %+v", s)
	}
	for _, text := range append(texts, "\nhint: ") {
		if !strings.Contains(err.Error(), text) {
			m.t.Errorf("the error lacks %q:\n%v", text, err)
		}
	}
	if left := m.cacheNames(); left != nil {
		m.t.Errorf("left behind: %v", left)
	}
	return err
}

// needTools skips a test that needs programs of the distribution.
func needTools(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED, UNTESTED: fetching by apt, since there is no %s here", name)
		}
	}
}
