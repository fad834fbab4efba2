package software

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server"
)

func TestFetchJar(t *testing.T) {
	content := fakeJar(t, fakeServer("11.4.5"))
	srv := serveBytes(t, content)
	m := fetching(t, srv.URL+"/maven2/", jarOf(content))
	var said bytes.Buffer
	m.Progress = &said
	s := m.mustFind("")
	dir := filepath.Join(m.Places.Servers(), "mariadb-11.4.5")
	want := &server.Server{
		Flavour: server.MariaDB, Version: server.Version{Major: 11, Minor: 4, Patch: 5}, Origin: "maven", Dir: dir,
		Daemon: server.Program{Argv: []string{dir + "/bin/mariadbd"}}, Client: server.Program{Argv: []string{dir + "/bin/mariadb"}},
		Dumper: server.Program{Argv: []string{dir + "/bin/mariadb-dump"}},
		Share:  dir + "/share", Messages: dir + "/share", Charsets: dir + "/share/charsets", Plugins: dir + "/lib/plugin",
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, m.mustFind("mariadb:11.4")); diff != "" {
		t.Errorf("found again: -want +got:\n%s", diff)
	}
	if n := srv.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
	if b, err := os.ReadFile(filepath.Join(dir, descriptionFile)); err != nil || bytes.Contains(b, []byte(partialPrefix)) {
		t.Errorf("description: %v\n%s", err, b)
	}
	if diff := cmp.Diff([]string{"mariadb-11.4.5"}, m.cacheNames()); diff != "" {
		t.Errorf("cache: %s", diff)
	}
	for name, mode := range map[string]os.FileMode{"": 0o755, "bin": 0o755, "bin/mariadbd": 0o755, "share/english/errmsg.sys": 0o644, "server.json": 0o644} {
		if fi, err := os.Stat(filepath.Join(dir, name)); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", name, fi.Mode(), err)
		}
	}
	for _, name := range []string{"bin/resolveip", "share/groonga"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is not needed", name)
		}
	}
	if text := said.String(); strings.Count(text, "\n") > 4 || strings.Contains(text, "\x1b") || !strings.Contains(text, "done in") {
		t.Errorf("said:\n%s", text)
	}
}

func TestFetchJarFails(t *testing.T) {
	t.Parallel()
	content := fakeJar(t, fakeServer("11.4.5"))
	half := len(content) / 2
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		jar    func(*jar)
		want   []string
		is     error
		tries  int32
	}{
		"wrong checksum": {jar: func(j *jar) { j.sha256 = strings.Repeat("0", 64) }, want: []string{"wrong checksum"}, is: ErrChecksum, tries: 1},
		"too long":       {jar: func(j *jar) { j.size-- }, want: []string{"wrong checksum"}, is: ErrChecksum, tries: 1},
		"too short":      {jar: func(j *jar) { j.size++ }, want: []string{"416"}, tries: 2},
		"not there":      {handle: http.NotFound, want: []string{"404"}, tries: 1},
		"server's fault": {handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, want: []string{"503"}, tries: downloadTries},
		"stalls": {handle: func(w http.ResponseWriter, r *http.Request) {
			w.Write(content[:1])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, want: []string{"stopped sending", "no network"}, is: ErrStalled, tries: downloadTries},
		"cut off": {handle: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			w.Write(content[:half])
		}, want: []string{"EOF"}, is: io.ErrUnexpectedEOF, tries: downloadTries},
		"not a jar of ours": {jar: func(j *jar) { j.prefix = "other/" }, want: []string{"no program"}},
		"another machine's": {jar: func(j *jar) { j.arch = "s390x" }, want: []string{"for s390x only"}},
		"wrong version":     {jar: func(j *jar) { j.version = server.Version{Major: 11, Minor: 8, Patch: 1} }, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serveBytes(t, content)
			if c.handle != nil {
				srv = serveJar(t, c.handle)
			}
			j := jarOf(content)
			if c.jar != nil {
				c.jar(&j)
			}
			m := fetching(t, srv.URL, j)
			m.stall = 200 * time.Millisecond
			if name == "wrong version" { // it says so itself, and is believed
				if s := m.mustFind(""); s.Version.String() != "11.4.5" {
					t.Errorf("%+v", s)
				}
				return
			}
			err := m.failure(c.want...)
			if !errors.Is(err, ErrNoServer) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v", err)
			}
			if n := srv.requests.Load(); c.tries != 0 && n != c.tries {
				t.Errorf("%d requests, want %d", n, c.tries)
			}
		})
	}
}

func TestFetchJarResumes(t *testing.T) {
	t.Parallel()
	content := fakeJar(t, fakeServer("11.4.5"))
	for name, ranges := range map[string]bool{"with ranges": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			srv := serveJar(t, func(w http.ResponseWriter, r *http.Request) {
				seen = append(seen, r.Header.Get("Range"))
				if len(seen) == 1 {
					w.Header().Set("Content-Length", fmt.Sprint(len(content)))
					w.Write(content[:1000])
					return
				}
				if !ranges {
					r.Header.Del("Range")
				}
				http.ServeContent(w, r, "x.jar", time.Time{}, bytes.NewReader(content))
			})
			m := fetching(t, srv.URL, jarOf(content))
			m.mustFind("")
			if diff := cmp.Diff([]string{"", "bytes=1000-"}, seen); diff != "" {
				t.Errorf("ranges: %s", diff)
			}
		})
	}
}

func TestFetchWithoutNetwork(t *testing.T) {
	t.Parallel()
	needTools(t, "apt-get", "dpkg-deb")
	srv := serveBytes(t, nil)
	gone := srv.URL
	srv.Close()
	m := fetching(t, gone, jarOf([]byte("x")))
	m.fails(ErrNoServer, "there seems to be no network", "connection refused", "mariadbd", EnvMaven)
	m = fetching(t, gone, jarOf([]byte("x")))
	m.aptSources("deb [trusted=yes] " + gone + "/debian ./")
	m.fails(ErrNoServer, "there seems to be no network", "apt: ", "maven: ")
	m.env[EnvMaven] = "nonsense"
	m.fails(ErrNoServer, EnvMaven+"=nonsense")
	m.env[EnvNoFetch] = "1"
	m.fails(ErrNoServer, "fetching is switched off")
}

func TestFetchEndsWithContext(t *testing.T) {
	content := fakeJar(t, fakeServer("11.4.5"))
	ctx, cancel := context.WithCancel(t.Context())
	srv := serveJar(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(content[:1000])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	m := fetching(t, srv.URL, jarOf(content))
	began := time.Now()
	if _, err := m.Find(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("took %s", took)
	}
	if left := m.cacheNames(); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnpackJarStaysInside(t *testing.T) {
	for _, name := range []string{"../evil", "bin/../../mariadbd", "share/../../../x.sql"} {
		dir := t.TempDir()
		archive := filepath.Join(dir, "x.jar")
		if err := os.WriteFile(archive, fakeJar(t, map[string]string{name: "x"}), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unpackJar(t.Context(), archive, fakePrefix, filepath.Join(dir, "a/b")); err != nil {
			t.Logf("%s: %v", name, err) // an error is as good as leaving the file out
		}
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && p != archive && !strings.HasPrefix(p, filepath.Join(dir, "a/b")) {
				t.Errorf("%s was written to %s", name, p)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestLoadedPart(t *testing.T) {
	elf := make([]byte, 20000)
	copy(elf, "\x7fELF\x02\x01")
	le := binary.LittleEndian
	le.PutUint64(elf[elfPhoff:], elfHeader)
	le.PutUint64(elf[elfShoff:], 19000)
	le.PutUint16(elf[elfPhentsize:], elfPhdrSize)
	le.PutUint16(elf[elfPhnum:], 2)
	for i, ph := range [][2]uint64{{0, 9000}, {9000, 3000}} {
		at := elf[elfHeader+i*elfPhdrSize:]
		le.PutUint32(at, elfPtLoad)
		le.PutUint64(at[elfPhOffset:], ph[0])
		le.PutUint64(at[elfPhFilesz:], ph[1])
	}
	big := bytes.Repeat([]byte("x"), 20000)
	for name, c := range map[string]struct {
		in   []byte
		want int
	}{"a program": {elf, 12000}, "a long script": {big, 20000}, "a short script": {[]byte("#!/bin/sh\n"), 10}, "nothing": {nil, 0}} {
		r, err := loadedPart(bytes.NewReader(c.in))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(r); len(got) != c.want || err != nil {
			t.Errorf("%s: %d bytes, want %d, %v", name, len(got), c.want, err)
		}
	}
}
