package tests

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
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
	if h.srv.Flavour == server.MySQL {
		dsns = h.losePrimary()
	}
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
		dsns = h.uniteGroup(strings.Fields(dsns)[0], 1, func(string) {})
		h.uniteGroup(strings.Fields(dsns)[0], 2, func(name string) { // what the logs of their servers had has only the archive
			if err := os.RemoveAll(h.instanceDir(testVolume, name)); err != nil {
				t.Fatal(err)
			}
		})
		h.refuseStranger()
	}
}

// losePrimary kills the member of a group that is written to: until the others have another one the status says that there is
// none, and they throw it out when its time is over, not when they happen to look.
func (h *testHome) losePrimary() (dsns string) {
	h.t.Helper()
	status := func() (state, primary string) {
		var l struct {
			State   string
			Members []struct{ Name, Role string }
		}
		if err := json.Unmarshal([]byte(h.ramaria("cluster", "status", "c", "--json")), &l); err != nil {
			h.t.Fatal(err)
		}
		for _, m := range l.Members {
			if m.Role == dbconn.RolePrimary {
				primary = m.Name
			}
		}
		return l.State, primary
	}
	_, former := status()
	h.kill(former, func(p pids) int { return p.Server })
	none := false
	h.until("another primary", func() bool {
		state, primary := status()
		if without := state == "no primary"; without != (primary == "") {
			h.t.Errorf("the cluster is %s, and its primary %q", state, primary)
		}
		none = none || primary == ""
		return primary != "" && primary != former
	})
	if !none {
		h.t.Error("the status has never said that there is no primary")
	}
	hastened := 0
	for _, name := range members(3) {
		if name == former {
			continue
		}
		var by string
		err := h.memberRoot(name).QueryRow("SELECT SET_USER FROM performance_schema.variables_info WHERE VARIABLE_NAME = 'group_replication_member_expel_timeout'").Scan(&by)
		if err == nil && by != "" {
			hastened++
		}
	}
	if hastened == 0 {
		h.t.Error("no member has had the group look at the one that died")
	}
	return h.ramaria("cluster", "up", "c")
}

// memberRoot is one connection to the server of a member, which may do everything there.
func (h *testHome) memberRoot(name string) *sql.DB {
	h.t.Helper()
	var made instance.Made
	if err := instance.ReadJSON(filepath.Join(h.instanceDir(testVolume, name), "instance.json"), &made); err != nil {
		h.t.Fatal(err)
	}
	db, err := dbconn.Open(made.Endpoint.Socket, made.Supervisor, made.Endpoint.Database)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	return db
}

// refuseStranger has a member of a group expect another certificate than the group's, as if somebody stood between it and the
// others: it tells nobody its password, and does not join.
func (h *testHome) refuseStranger() {
	h.t.Helper()
	dir := h.instanceDir(testVolume, "c-2")
	root := h.memberRoot("c-2")
	h.exec(root, "STOP GROUP_REPLICATION")
	h.exec(root, "SET GLOBAL group_replication_recovery_ssl_ca = '"+server.CertPath(filepath.Join(dir, "run"))+"'") // its own
	const refused = "Failed to establish MySQL client connection in Group Replication"
	times := func() int {
		log, err := os.ReadFile(filepath.Join(dir, "server.log"))
		if err != nil {
			h.t.Fatal(err)
		}
		return strings.Count(string(log), refused)
	}
	before := times()
	joined := make(chan error, 1)
	go func() {
		_, err := root.ExecContext(h.t.Context(), "START GROUP_REPLICATION")
		joined <- err
	}()
	h.until("it makes no connection", func() bool { return times() > before })
	select {
	case err := <-joined:
		if err == nil {
			h.t.Error("a member joined a group whose certificate it does not know")
		}
	default: // it goes on for a minute
	}
}

// uniteGroup has two members of a group each have transactions that no other has, and all die: then all have both. lose is
// called for those that have died; number is that of the try.
func (h *testHome) uniteGroup(primary string, number int, lose func(name string)) (dsns string) {
	h.t.Helper()
	h.writeApart(h.memberRoot(h.secondary()), primary, number)
	for _, name := range members(3) {
		h.kill(name, func(p pids) int { return p.Server })
		lose(name)
	}
	dsns = h.ramaria("cluster", "up", "c")
	h.united(dsns, number)
	return dsns
}

// secondary is the name of a member of the group c that is not written to.
func (h *testHome) secondary() string {
	h.t.Helper()
	var listed struct{ Members []struct{ Name, Role string } }
	if err := json.Unmarshal([]byte(h.ramaria("cluster", "status", "c", "--json")), &listed); err != nil {
		h.t.Fatal(err)
	}
	return listed.Members[slices.IndexFunc(listed.Members, func(m struct{ Name, Role string }) bool { return m.Role == "secondary" })].Name
}

// writeApart has a secondary of a group, which leaves it, and then its primary commit what the other does not have.
func (h *testHome) writeApart(secondary *sql.DB, primary string, number int) {
	h.t.Helper()
	var group string
	if err := secondary.QueryRow("SELECT @@GLOBAL.group_replication_group_name").Scan(&group); err != nil {
		h.t.Fatal(err)
	}
	for _, text := range []string{
		"STOP GROUP_REPLICATION", "SET GLOBAL super_read_only = OFF",
		fmt.Sprintf("SET GTID_NEXT = '%s:77777%d'", group, number), fmt.Sprintf("INSERT INTO append VALUES (99, %d, %[1]d99)", number),
		fmt.Sprintf("SET GTID_NEXT = '%s:88888%d'", group, number), fmt.Sprintf("CREATE TABLE alone%d (a INT PRIMARY KEY, b TEXT)", number),
		fmt.Sprintf("SET GTID_NEXT = '%s:99999%d'", group, number), fmt.Sprintf(`INSERT INTO alone%d VALUES (1, 'it''s ö')`, number),
		"SET GTID_NEXT = AUTOMATIC",
	} {
		h.exec(secondary, text)
	}
	h.exec(openDSN(h.t, primary), fmt.Sprintf("INSERT INTO append VALUES (98, %d, %[1]d98)", number))
}

// united waits until all members have all that writeApart did.
func (h *testHome) united(dsns string, number int) {
	h.t.Helper()
	for i, dsn := range strings.Fields(dsns) {
		db := openDSN(h.t, dsn)
		h.until(fmt.Sprintf("member %d has what two had alone", i+1), func() bool {
			var n int
			query := fmt.Sprintf(`SELECT COUNT(*) FROM append WHERE k IN (98, 99) AND pos = %d AND EXISTS (SELECT 1 FROM alone%[1]d WHERE a = 1 AND b = 'it''s ö')`, number)
			return db.QueryRow(query).Scan(&n) == nil && n == 2
		})
	}
}
