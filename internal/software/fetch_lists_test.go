package software

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// architecture asks for the machine's.
func architecture(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("dpkg", "--print-architecture").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// makeSuite makes a repository with a suite of its own, as the distributions have, of
// the packages in repo, and returns what it has beside their list.
func makeSuite(t *testing.T, repo, codename string) (others []string) {
	t.Helper()
	arch := architecture(t)
	packages, err := os.ReadFile(filepath.Join(repo, "Packages"))
	if err != nil {
		t.Fatal(err)
	}
	others = []string{"main/Contents-" + arch, "main/binary-sparc/Packages", "main/i18n/Translation-de", "main/source/Sources"}
	release := "Suite: " + codename + "\nCodename: " + codename + "\nComponents: main\nArchitectures: " + arch + " sparc\nSHA256:\n"
	for _, name := range append(slices.Clone(others), "main/binary-"+arch+"/Packages") {
		content := packages
		if slices.Contains(others, name) {
			content = []byte("Package: x\nVersion: 1\nArchitecture: sparc\nDescription-md5: " + strings.Repeat("0", 32) + "\nDescription-de: x\n")
		}
		path := filepath.Join(repo, "dists", codename, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		release += fmt.Sprintf(" %x %d %s\n", sha256.Sum256(content), len(content), name)
	}
	if err := os.WriteFile(filepath.Join(repo, "dists", codename, "Release"), []byte(release), 0o644); err != nil {
		t.Fatal(err)
	}
	return others
}

// richConf is a machine that has everything switched on.
const richConf = `#clear Acquire::Languages;
APT::Architectures { "%s"; "sparc"; };
Acquire::Languages { "de"; };
Acquire::IndexTargets::deb::Translations { MetaKey "$(COMPONENT)/i18n/Translation-$(LANGUAGE)"; ShortDescription "t"; Description "t"; };
Acquire::IndexTargets::deb::Contents-deb { MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)"; ShortDescription "c"; Description "c"; DefaultEnabled "true"; };
Acquire::IndexTargets::deb-src::Sources { MetaKey "$(COMPONENT)/source/Sources"; ShortDescription "s"; Description "s"; };
`

func TestFetchPackageListsOnly(t *testing.T) {
	repo := repository(t, mariadbPackages[0], "10.11.77")
	others := makeSuite(t, repo, "test")
	rich := fmt.Sprintf(richConf, architecture(t))
	conf := filepath.Join(t.TempDir(), "apt.conf")
	if err := os.WriteFile(conf, []byte(rich), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("APT_CONFIG", conf)
	for name, c := range map[string]struct {
		last string // configuration that is read after ours
		want []string
	}{
		"as it is":                    {"", nil},
		"control: the machine's last": {rich, others},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex // guards got
			var got []string
			files := http.FileServer(http.Dir(repo))
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				file := strings.TrimPrefix(r.URL.Path, "/dists/test/")
				mu.Lock()
				if slices.Contains(others, file) {
					got = append(got, file)
				}
				mu.Unlock()
				files.ServeHTTP(w, r)
			}))
			t.Cleanup(srv.Close)
			m := fetching(t, "http://127.0.0.1:9/", jarOf(nil))
			m.aptSources("deb [trusted=yes] " + srv.URL + " test main\ndeb-src [trusted=yes] " + srv.URL + " test main")
			m.apt += c.last
			m.mustFind("")
			slices.Sort(got)
			if diff := cmp.Diff(c.want, slices.Compact(got)); diff != "" {
				t.Errorf("fetched beside the list: -want +got:\n%s", diff)
			}
		})
	}
}

// A source that brings its list byte by byte leaves time for other methods.
func TestFetchPackageListsInTime(t *testing.T) {
	needTools(t, "apt-get", "dpkg-deb")
	drip := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte("#")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	}))
	t.Cleanup(drip.Close)
	m := fetching(t, "http://127.0.0.1:9/", jarOf(nil))
	m.aptSources("deb [trusted=yes] " + drip.URL + " ./")
	a, err := m.newApt(t.Context(), t.TempDir(), aptRequest{})
	if err != nil {
		t.Fatal(err)
	}
	const limit = 2 * time.Second
	began := time.Now()
	complaint := a.update(t.Context(), limit, func(float64) {})
	if took := time.Since(began); complaint == nil || took < limit || took > limit+commandGrace+2*time.Minute {
		t.Errorf("after %s: %v", took, complaint)
	}
}
