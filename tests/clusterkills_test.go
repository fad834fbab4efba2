package tests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// TestClusterKills: members are killed under load, one or all, and join again while the others are written to; what was
// answered is there, at all of them.
func TestClusterKills(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	dsns := h.ramaria("cluster", "create", "c", "--volume", testVolume, "--server", h.daemon())
	h.exec(openDSN(t, strings.Fields(dsns)[0]), appendTable)
	for round := range 3 {
		l := beginAppends(t, (&clusterHome{testHome: h}).writable(dsns))
		h.until("commits", func() bool { return l.count() > 100 })
		time.Sleep(rand.N(300 * time.Millisecond))
		names := members(3)
		if round < 2 {
			names = names[round : round+1] // of a group first the one that is written to
		}
		for _, name := range names {
			h.kill(name, func(p pids) int { return p.Server })
		}
		if round == 2 {
			l.end()
		}
		time.Sleep(500 * time.Millisecond)
		dsns = h.ramaria("cluster", "up", "c")
		l.end()
		h.checkAll(fmt.Sprintf("round %d", round), dsns, l)
	}
	if h.srv.Flavour == server.MySQL {
		h.uniteGroup(strings.Fields(dsns)[0])
	}
}

// uniteGroup has two members of a group each have a transaction that no other has, and all die: then all have both.
func (h *testHome) uniteGroup(primary string) {
	h.t.Helper()
	var listed struct{ Members []struct{ Name, Role string } }
	if err := json.Unmarshal([]byte(h.ramaria("cluster", "status", "c", "--json")), &listed); err != nil {
		h.t.Fatal(err)
	}
	one := listed.Members[slices.IndexFunc(listed.Members, func(m struct{ Name, Role string }) bool { return m.Role == "secondary" })].Name
	var made instance.Made
	if err := instance.ReadJSON(filepath.Join(h.instanceDir(testVolume, one), "instance.json"), &made); err != nil {
		h.t.Fatal(err)
	}
	root, err := dbconn.Open(made.Endpoint.Socket, made.Supervisor, made.Endpoint.Database)
	if err != nil {
		h.t.Fatal(err)
	}
	defer root.Close()
	root.SetMaxOpenConns(1)
	var group string
	if err := root.QueryRow("SELECT @@GLOBAL.group_replication_group_name").Scan(&group); err != nil {
		h.t.Fatal(err)
	}
	for _, text := range []string{
		"STOP GROUP_REPLICATION", "SET GLOBAL super_read_only = OFF", "SET GTID_NEXT = '" + group + ":777777'",
		"INSERT INTO append VALUES (99, 1, 99)", "SET GTID_NEXT = AUTOMATIC",
	} {
		h.exec(root, text)
	}
	h.exec(openDSN(h.t, primary), "INSERT INTO append VALUES (98, 1, 98)")
	for _, name := range members(3) {
		h.kill(name, func(p pids) int { return p.Server })
	}
	for i, dsn := range strings.Fields(h.ramaria("cluster", "up", "c")) {
		db := openDSN(h.t, dsn)
		h.until(fmt.Sprintf("member %d has what two had alone", i+1), func() bool {
			var n int
			return db.QueryRow("SELECT COUNT(*) FROM append WHERE k IN (98, 99)").Scan(&n) == nil && n == 2
		})
	}
}
