package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestCutOff: the name of what a killed adoption has copied is not just taken, and the error says how to go on. One that
// stands in for its service, one that is being adopted, and one of another origin are something else.
func TestCutOff(t *testing.T) {
	dir := t.TempDir()
	e := &Engine{Host: host.Host{Root: "/"}, Places: host.Places{State: filepath.Join(dir, "state")}, Registry: instance.Registry{Dir: filepath.Join(dir, "registry")}}
	p := &AdoptPlan{Instance: "mariadb", Service: "mariadb.service"}
	if err := e.cutOff(p); err != nil {
		t.Errorf("nothing there: %v", err)
	}
	i := &instance.Instance{Record: instance.Record{Format: instance.Format, Name: "mariadb", Volume: "disk", Dir: filepath.Join(dir, "mariadb")}}
	put := func(origin string) {
		t.Helper()
		i.Origin = origin
		if err := errors.Join(os.MkdirAll(i.Dir, 0o700), os.MkdirAll(e.Registry.Dir, 0o700), i.Save(), e.Registry.Put(&i.Record)); err != nil {
			t.Fatal(err)
		}
	}
	put("branch of shop")
	if err := e.cutOff(p); err != nil {
		t.Errorf("a branch: %v", err)
	}
	put(adoptedFrom + "/var/lib/mysql")
	if err := e.cutOff(p); err == nil || !strings.Contains(err.Error(), "ramaria rm mariadb --with-archive") {
		t.Errorf("a copy: %v", err)
	}
	lock, err := e.tryAdoptionLock(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cutOff(p); err == nil || !strings.Contains(err.Error(), "at the moment") {
		t.Errorf("one that is being adopted: %v", err)
	}
	if err := errors.Join(lock.Unlock(), e.putAdoption("mariadb", adoptionNote{Service: p.Service})); err != nil {
		t.Fatal(err)
	}
	if err := e.cutOff(p); err != nil {
		t.Errorf("one that stands in: %v", err)
	}
}
