package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/labtest"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TestScenariosOfResets makes the scenarios as the command does, on a machine that has nothing.
func TestScenariosOfResets(t *testing.T) {
	l := &lab.Lab{Server: &server.Server{Flavour: server.MariaDB}, Dir: t.TempDir()}
	for _, s := range []runner.Scenario{ResetScenario(l), CycleScenario(l), LogScenario(l)} {
		names := map[string]bool{}
		for _, c := range s.Cases {
			if names[c.Name] {
				t.Errorf("%s has two rows %q", s.Name, c.Name)
			}
			names[c.Name] = true
			if c.Prepare == nil || c.Cleanup == nil {
				t.Errorf("%s: row %q lacks a Prepare or a Cleanup", s.Name, c.Name)
				continue
			}
			// Every Cleanup is called, also of a case whose Prepare failed.
			if err := c.Cleanup(t.Context()); err != nil {
				t.Errorf("%s: clean up %q that was not prepared: %v", s.Name, c.Name, err)
			}
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// TestResetsNeedNoFiles: all databases that are put back are made by the scenario itself.
func TestResetsNeedNoFiles(t *testing.T) {
	l := labtest.Bare(t, lab.Options{})
	flags, err := resetFlags(l)(t.Context(), volume.Shm)
	if err != nil {
		t.Fatal(err)
	}
	var dumps []string
	for i, flag := range flags {
		if flag == "--from" && i+1 < len(flags) {
			dumps = append(dumps, filepath.Base(flags[i+1]))
		}
	}
	if !slices.Contains(dumps, "bulk.sql") || !slices.Contains(dumps, shop+".sql") {
		t.Errorf("the instance is made of %s", flags)
	}
	for _, c := range ResetScenario(l).Cases {
		if c.Name == RowShopClone && c.Base == RowShopFill {
			return
		}
	}
	t.Errorf("no row %q is compared with %q", RowShopClone, RowShopFill)
}

// TestResetInAnotherWay: a figure of a way that was not to be measured is none.
func TestResetInAnotherWay(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	api := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/databases/world_1/reset" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(client.Reset{Way: "reclone", Why: "the log has a hole"}); err != nil {
			t.Error(err)
		}
	})}
	go func() {
		if err := api.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { api.Close() })
	l := &lab.Lease{Database: client.Database{Name: "world_1"}, API: client.New(socket)}
	defer l.Close()
	if _, _, err := l.Cycle(t.Context(), nil, "reclone"); err != nil {
		t.Error(err)
	}
	if _, _, err := l.Cycle(t.Context(), nil, wayRewind); err == nil || !strings.Contains(err.Error(), "a hole") {
		t.Errorf("error %v, want one that says which way it was and why", err)
	}
}

// TestNoSpareClone: a pool that makes none is an error, and does not hang the scenario.
func TestNoSpareClone(t *testing.T) {
	spare := 0
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `[{"name": "world", "spare": %d, "changed": "it lost a table"}]`, spare)
	}))
	socket := filepath.Join(t.TempDir(), "s")
	var err error
	if api.Listener, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	api.Start()
	defer api.Close()
	f := &lab.TemplateServer{API: client.New(socket)}
	defer f.API.Close()
	if err := f.WaitForSpare(t.Context(), "world", 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "none in 50ms: it lost a table") {
		t.Errorf("error %v", err)
	}
	spare = 1
	if err := f.WaitForSpare(t.Context(), "world", 4*time.Minute); err != nil {
		t.Error(err)
	}
}

func TestDumps(t *testing.T) {
	many := lab.ManyDump()
	if n := strings.Count(many, "CREATE TABLE "); n != lab.ManyTables {
		t.Errorf("%d tables", n)
	}
	if n := strings.Count(many, "'item "); n != lab.ManyTables*lab.ManyRows {
		t.Errorf("%d rows", n)
	}
	if n := strings.Count(lab.BulkDump(), "\n("); n != lab.BulkRows-1 { // the first stands behind VALUES
		t.Errorf("%d rows but the first", n)
	}
	rows := int64(0)
	for _, c := range bulkChanges {
		rows += c.Rows
	}
	if rows != 10_000 {
		t.Errorf("%d rows are changed, not 10,000", rows)
	}
}
