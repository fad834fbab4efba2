package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
)

// TestScenariosOfResets makes the scenarios as the command does, on a machine that has nothing.
func TestScenariosOfResets(t *testing.T) {
	l := &Lab{Server: &server.Server{Flavour: server.MariaDB}, Dir: t.TempDir()}
	for _, s := range []bench.Scenario{l.ResetScenario(), l.CycleScenario(), l.LogScenario()} {
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

func TestSakilaMayBeMissing(t *testing.T) {
	f := &farm{lab: &Lab{Samples: t.TempDir()}}
	if err := f.sample(t.Context(), sakila); !errors.Is(err, bench.ErrUnavailable) {
		t.Errorf("error %v, want that it is not available", err)
	}
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
	l := &lease{Database: client.Database{Name: "world_1"}, api: client.New(socket)}
	defer l.close()
	if _, _, err := l.cycle(t.Context(), nil, "reclone"); err != nil {
		t.Error(err)
	}
	if _, _, err := l.cycle(t.Context(), nil, wayRewind); err == nil || !strings.Contains(err.Error(), "a hole") {
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
	f := &farm{api: client.New(socket)}
	defer f.api.Close()
	if err := f.ready(t.Context(), "world", 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "none in 50ms: it lost a table") {
		t.Errorf("error %v", err)
	}
	spare = 1
	if err := f.ready(t.Context(), "world", time.Minute); err != nil {
		t.Error(err)
	}
}

func TestContentsDiffer(t *testing.T) {
	want := contents{"city": "x with checksum 1", "(views)": "2"}
	for _, tc := range []struct {
		name string
		have contents
		want string
	}{
		{"same", contents{"city": "x with checksum 1", "(views)": "2"}, ""},
		{"rows", contents{"city": "x with checksum 2", "(views)": "2"}, "city"},
		{"no table", contents{"(views)": "2"}, "city"},
		{"no view", contents{"city": "x with checksum 1", "(views)": "1"}, "(views)"},
	} {
		if got := want.differs(tc.have); got != tc.want {
			t.Errorf("%s: %q differs, want %q", tc.name, got, tc.want)
		}
	}
	if got := want.tables(); len(got) != 1 || got[0] != "city" {
		t.Errorf("tables %q", got)
	}
}

func TestWithoutLog(t *testing.T) {
	got, err := withoutLog("[mysqld]\n\n# why\nlog_bin = binlog\n\n# why\nlog_bin_compress = OFF\n")
	if want := "[mysqld]\n\n# why\nskip_log_bin\n\n# why\nlog_bin_compress = OFF\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"[mysqld]\nskip_log_bin\n", "log_bin = a\nlog_bin = b\n"} {
		if _, err := withoutLog(text); err == nil {
			t.Errorf("%q: accepted", text)
		}
	}
}

func TestDumps(t *testing.T) {
	many := manyDump()
	if n := strings.Count(many, "CREATE TABLE "); n != manyTables {
		t.Errorf("%d tables", n)
	}
	if n := strings.Count(many, "'item "); n != manyTables*manyRows {
		t.Errorf("%d rows", n)
	}
	if n := strings.Count(bulkDump(), "\n("); n != bulkRows-1 { // the first stands behind VALUES
		t.Errorf("%d rows but the first", n)
	}
	rows := int64(0)
	for _, c := range bulkChanges {
		rows += c.rows
	}
	if rows != 10_000 {
		t.Errorf("%d rows are changed, not 10,000", rows)
	}
}
