package server_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// stays are the variables that no switch makes those of a plain server: Ramaria relies on them, or
// they are where this very server lies.
var stays = []string{
	"have_symlink", "innodb_use_native_aio", "persisted_globals_load", "secure_file_priv", "skip_replica_start", "skip_slave_start",
	// Off in both. Without the log MySQL has none for replicas either.
	"query_cache_size", "query_cache_type", "log_replica_updates", "log_slave_updates",
	"ssl_ca", "ssl_cert", "ssl_key", "caching_sha2_password_private_key_path", "caching_sha2_password_public_key_path",
}

// performance is what MySQL has little of, all of which one switch brings back.
const performance = "performance_schema"

// TestFidelity compares the variables of ours with those of the same server as it comes. Each that
// differs must be in docs/fidelity.md, and each switch that is named there must remove what it says.
func TestFidelity(t *testing.T) {
	page, err := os.ReadFile("../../docs/fidelity.md")
	if err != nil {
		t.Fatal(err)
	}
	servertest.Each(t, func(t *testing.T, want string) {
		r := servertest.Start(t, servertest.Find(t, want))
		r.RestartAs(t, server.Stock, false, nil)
		plain := r.Variables(t)
		differing := func() (names []string) {
			for name, value := range r.Variables(t) {
				if plain[name] != value {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return names
		}
		r.RestartAs(t, server.Run, false, nil)
		for _, name := range differing() {
			if !strings.HasPrefix(name, performance+"_") && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/fidelity.md does not say that %s differs from %q", name, plain[name])
			}
		}
		if r.Flavour == server.MySQL {
			checkAttributes(t, r)
		}
		r.RestartAs(t, server.Run, true, nil)
		off := differing()
		if slices.ContainsFunc(off, func(name string) bool {
			return strings.Contains(name, "log_bin") || strings.HasPrefix(name, "binlog_") || name == "innodb_stats_persistent"
		}) && r.Flavour == server.MariaDB {
			t.Errorf("with --log off these differ: %q", off)
		}
		set := map[string]string{}
		for _, name := range off {
			switch {
			case strings.HasPrefix(name, performance+"_"):
				set[performance] = "ON"
			case slices.Contains(stays, name):
			case own(r.Server, name) && r.CheckSet(map[string]string{name: "x"}, true, server.InRAM) == nil:
				set[name] = plain[name]
			}
		}
		r.RestartAs(t, server.Run, true, set)
		for _, name := range differing() {
			if !slices.Contains(stays, name) && !strings.HasPrefix(name, "log_bin") {
				t.Errorf("%s is not that of a plain server in spite of all switches", name)
			}
		}
	})
}

// own reports whether a variable is one of our settings, not what follows from another.
func own(s *server.Server, name string) bool {
	return slices.ContainsFunc(s.Settings(server.Run, "disk"), func(line string) bool { return strings.HasPrefix(line, name+"=") })
}

// checkAttributes looks for what a client says of itself.
func checkAttributes(t *testing.T, r *servertest.Running) {
	db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM performance_schema.session_connect_attrs WHERE PROCESSLIST_ID = CONNECTION_ID()").Scan(&n); err != nil || n == 0 {
		t.Errorf("a connection has %d attributes: %v", n, err)
	}
}
