package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// stockDir is a data directory as its service left it, with logs of its own and what is of the process.
func stockDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "mysql")
	for name, text := range map[string]string{
		"ibdata1": "system", "shop/t.ibd": "rows", "mysql-bin.index": "./mysql-bin.000001\n", "mysql-bin.000001": "log", "mysql-bin.000002": "newer than the index",
		"mysql-bin.state": "0-1-7\n", "host.pid": "1", "ibtmp1": "", "auto.cnf": "uuid",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDirBase: an archive begins with a directory outside of it, which a recovery copies while it is as it was, and
// refuses to once it is not.
func TestDirBase(t *testing.T) {
	dir := stockDir(t)
	a, err := Create(t.Context(), filepath.Join(t.TempDir(), "archive"), "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	i := &instance.Instance{Record: instance.Record{Name: "shop", Dir: t.TempDir()}, Made: instance.Made{Server: &server.Server{Flavour: server.MariaDB}}}
	s := Stock{Dir: dir, Size: 10, GTIDState: "0-1-7"}
	if err := errors.Join(s.Seal(), s.Unchanged()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shop/t.ibd"), []byte("more rows"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.BeginWithDir(i, s); err == nil || !strings.Contains(err.Error(), "a server has run on") {
		t.Fatalf("it was changed while it was copied: %v", err)
	}
	if err := errors.Join(s.Seal(), a.BeginWithDir(i, s)); err != nil {
		t.Fatal(err)
	}
	plans, err := Plans(a.Manifest, Until{})
	if err != nil || len(plans) != 1 || plans[0].Base.Dir != dir || plans[0].gtidsAt(1) != "0-1-7" || i.Durable == nil || i.Durable.Epoch != 1 {
		t.Fatalf("%+v, %v, %+v", plans, err, i.Durable)
	}
	if got := needs(a.Manifest).Files; len(got) != 0 {
		t.Errorf("a bucket would need %v", got)
	}
	if err := restore(t.Context(), a, plans[0].Base, i, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"ibdata1": true, "shop/t.ibd": true, "auto.cnf": true, "mysql-bin.index": false, "mysql-bin.000001": false, "mysql-bin.000002": false, "host.pid": false, "ibtmp1": false} {
		if _, err := os.Stat(filepath.Join(i.DataDir(), name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused := func(change func() error, want string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(i.DataDir()), change()); err != nil {
			t.Fatal(err)
		}
		if err := restore(t.Context(), a, plans[0].Base, i, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("got %v", err)
		}
	}
	refused(func() error { return os.WriteFile(filepath.Join(dir, "shop/t.ibd"), []byte("ROWS"), 0o600) }, "it was changed since")
	refused(func() error { return os.RemoveAll(dir) }, "no such file or directory")
}

// TestDirBaseGoes: it is kept only while there is no other, and no base is written on top of it.
func TestDirBaseGoes(t *testing.T) {
	now := time.Now()
	m := &archive.Manifest{NextBase: 2, Bases: []archive.Base{{ID: 1, Epoch: 1, Dir: "/old", Time: now.Add(-time.Minute)}}, Epochs: []archive.Epoch{{Number: 1, Base: 1}}}
	if got := (Policy{}).Keep(m, now); len(got) != 1 {
		t.Errorf("the only one goes: %v", got)
	}
	m.Bases = append(m.Bases, archive.Base{ID: 2, Epoch: 1, Time: now})
	if got := (Policy{}).Keep(m, now); len(got) != 1 || got[0].ID != 2 {
		t.Errorf("it stays: %v", got)
	}
}
