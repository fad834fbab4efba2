package software

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
)

// envHelper makes TestFetchHelper a program of its own.
const envHelper = "RAMARIA_FETCH_HELPER"

// helperTask is what that program shall do.
type helperTask struct {
	Root, Cache, Memo, Base, Path, SHA256 string
	Size                                  int64
}

// TestFetchHelper is no test: other tests start it as another process.
func TestFetchHelper(t *testing.T) {
	text := os.Getenv(envHelper)
	if text == "" {
		return
	}
	var k helperTask
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		t.Fatal(err)
	}
	j := jarOf(nil)
	j.path, j.sha256, j.size = k.Path, k.SHA256, k.Size
	f := &Finder{
		Host: host.Host{Root: k.Root}, Places: host.Places{Cache: k.Cache}, Memo: memo.Store{Dir: k.Memo},
		Getenv:   func(name string) string { return map[string]string{EnvMaven: k.Base}[name] },
		Progress: os.Stderr, jars: []jar{j},
		look: func(string) (string, error) { return "", exec.ErrNotFound },
	}
	s, err := f.Find(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("helper found %s\n", s.Dir)
}

// helper returns the machine's fetch as a command.
func (m *machine) helper() *exec.Cmd {
	m.t.Helper()
	j := m.jars[0]
	k, err := json.Marshal(helperTask{m.root, m.Places.Cache, m.Memo.Dir, m.env[EnvMaven], j.path, j.sha256, j.size})
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFetchHelper$", "-test.v")
	cmd.Env = append(os.Environ(), envHelper+"="+string(k))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func TestFetchOnceAtOnce(t *testing.T) {
	content := fakeJar(t, fakeServer("11.4.5"))
	srv := serveJar(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(500 * time.Millisecond) // so that the others have to wait
		http.ServeContent(w, r, "x.jar", time.Time{}, bytes.NewReader(content))
	})
	m := fetching(t, srv.URL, jarOf(content))
	var wg sync.WaitGroup
	out := make([]string, 3)
	for i := range out {
		wg.Go(func() {
			b, err := m.helper().CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, b)
			}
			out[i] = string(b)
		})
	}
	wg.Wait()
	if n := srv.requests.Load(); n != 1 {
		t.Errorf("%d downloads", n)
	}
	all := strings.Join(out, "")
	if n := strings.Count(all, "helper found "+filepath.Join(m.Places.Servers(), "mariadb-11.4.5")); n != len(out) {
		t.Errorf("%d of %d found it:\n%s", n, len(out), all)
	}
	if !strings.Contains(all, "waiting for it") {
		t.Errorf("no process said that it waits:\n%s", all)
	}
	if diff := cmp.Diff([]string{"mariadb-11.4.5"}, m.cacheNames()); diff != "" {
		t.Errorf("cache: %s", diff)
	}
}

func TestFetchKilled(t *testing.T) {
	content := fakeJar(t, fakeServer("11.4.5"))
	begun := make(chan struct{})
	var once sync.Once
	srv := serveJar(t, func(w http.ResponseWriter, r *http.Request) {
		first := false
		once.Do(func() { first = true })
		if !first {
			http.ServeContent(w, r, "x.jar", time.Time{}, bytes.NewReader(content))
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Write(content[:len(content)/2])
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
	})
	m := fetching(t, srv.URL, jarOf(content))
	cmd := m.helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-time.After(80 * time.Second):
		t.Error("the fetch did not begin")
	}
	cmd.Process.Kill()
	cmd.Wait()
	left := m.cacheNames()
	if len(left) != 1 || !strings.HasPrefix(left[0], partialPrefix) {
		t.Fatalf("a killed fetch left %v", left) // if nothing, the test shows nothing
	}
	m.mustFind("")
	if diff := cmp.Diff([]string{"mariadb-11.4.5"}, m.cacheNames()); diff != "" {
		t.Errorf("cache: %s", diff)
	}
}

// A directory with the right name that is no server is replaced.
func TestFetchReplacesBroken(t *testing.T) {
	content := fakeJar(t, fakeServer("11.4.5"))
	m := fetching(t, serveBytes(t, content).URL, jarOf(content))
	m.mustFind("")
	if err := os.Remove(filepath.Join(m.Places.Servers(), "mariadb-11.4.5/bin/mariadbd")); err != nil {
		t.Fatal(err)
	}
	m.mustFind("")
	if diff := cmp.Diff([]string{"mariadb-11.4.5"}, m.cacheNames()); diff != "" {
		t.Errorf("cache: %s", diff)
	}
}

func TestFetchDiskFull(t *testing.T) {
	content := fakeJar(t, fakeServer("11.4.5")) // about 140 kB
	for name, c := range map[string]struct {
		size  string
		needs int64
		want  string
	}{
		"seen before": {"200k", 1 << 30, "1073.9 MB are needed"},
		"jar":         {"64k", -1 << 30, "needed"},
		"unpacking":   {"200k", 0, "needed"},
	} {
		t.Run(name, func(t *testing.T) {
			j := jarOf(content)
			j.needs = c.needs
			m := fetching(t, serveBytes(t, content).URL, j)
			smallCache(t, m.Places.Servers(), c.size)
			err := m.failure("disk full: ", "MB free", c.want)
			var room *NoRoomError
			if !errors.As(err, &room) {
				t.Errorf("%#v", err)
			}
		})
	}
	t.Run("packages", func(t *testing.T) {
		needTools(t, "apt-get", "dpkg-deb")
		m := fetching(t, "http://127.0.0.1:9/", jarOf(nil))
		m.look = nil
		smallCache(t, m.Places.Servers(), "1m")
		err := m.failure("disk full: ", "200.0 MB are needed")
		var room *NoRoomError
		if !errors.As(err, &room) {
			t.Errorf("%#v", err)
		}
	})
}

// smallCache puts the cache in dir on a file system of that size.
func smallCache(t *testing.T, dir, size string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("ramaria-test", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("SKIPPED, UNTESTED: disk full while fetching, since mounting a small tmpfs is not allowed: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
}
