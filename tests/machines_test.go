package tests

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// machines are network namespaces that stand for machines, each with a home.
type machines struct {
	t     *testing.T
	homes []*testHome
	// net is the network that they have in common: the first three numbers of its addresses.
	net string
}

func runAll(commands ...[]string) (err error) {
	for _, argv := range commands {
		if out, rerr := exec.Command(argv[0], argv[1:]...).CombinedOutput(); rerr != nil { // #nosec G204 -- the tests' own
			err = errors.Join(err, fmt.Errorf("%q: %w: %s", argv, rerr, out))
		}
	}
	return err
}

func newMachines(t *testing.T, n int) *machines {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: a network namespace is for root")
	}
	for _, program := range []string{"ip", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED, UNTESTED: no %s to make machines with: apt-get install iproute2 util-linux", program)
		}
	}
	id := strconv.Itoa(os.Getpid())
	m := &machines{t: t, net: fmt.Sprintf("10.%d.%d", 192+rand.IntN(30), rand.IntN(256))}
	bridge := "rmb" + id
	remove := [][]string{{"ip", "link", "del", bridge}}
	t.Cleanup(func() { // when the homes are gone
		if err := runAll(remove...); err != nil {
			t.Error(err)
		}
	})
	if err := runAll([]string{"ip", "link", "add", bridge, "type", "bridge"}, []string{"ip", "addr", "add", m.net + ".254/24", "dev", bridge}, []string{"ip", "link", "set", bridge, "up"}); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		ns, link := fmt.Sprintf("rmm%s-%d", id, i), fmt.Sprintf("rml%s-%d", id, i)
		remove = append(remove, []string{"ip", "netns", "del", ns})
		err := runAll([]string{"ip", "netns", "add", ns}, []string{"ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", ns},
			[]string{"ip", "link", "set", link, "master", bridge, "up"}, []string{"ip", "-n", ns, "addr", "add", m.address(i) + "/24", "dev", "eth0"},
			[]string{"ip", "-n", ns, "link", "set", "eth0", "up"}, []string{"ip", "-n", ns, "link", "set", "lo", "up"})
		if err != nil {
			t.Fatal(err)
		}
		m.add(ns)
	}
	return m
}

func (m *machines) address(number int) string { return fmt.Sprintf("%s.%d", m.net, number) }

// add gives a machine a home.
func (m *machines) add(ns string) *testHome {
	m.t.Helper()
	h := newTestHome(m.t)
	h.host = ns
	m.t.Cleanup(func() { h.ramariaAtEnd("down", "--all", "--rm", "--with-archive") })
	m.homes = append(m.homes, h)
	return h
}

// join has a machine join the cluster of the first.
func (m *machines) join(h *testHome) string {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "invitation")
	said := strings.Fields(m.homes[0].ramaria("cluster", "invite", "c", file))
	return h.ramaria("cluster", "join", said[3], "--invitation", file, "--volume", testVolume, "--server", h.daemon())
}

// up has machines start their members, at one time, in any order.
func (m *machines) up(homes []*testHome, args ...string) {
	m.t.Helper()
	var all sync.WaitGroup
	for _, i := range rand.Perm(len(homes)) {
		h := homes[i]
		all.Go(func() {
			if _, talk, err := h.try(append([]string{"cluster", "up", "c"}, args...)...); err != nil {
				m.t.Errorf("cluster up at %s: %v: %s%s", h.host, err, talk, h.logs())
			}
		})
		time.Sleep(rand.N(time.Second))
	}
	all.Wait()
	if m.t.Failed() {
		m.t.FailNow()
	}
}

// dsns are those of the whole members, once all are, that of the primary first.
func (m *machines) dsns(n int) string {
	m.t.Helper()
	var dsns string
	m.homes[0].until("all are whole, and written to", func() bool {
		dsns, _, _ = m.homes[0].try("cluster", "up", "c")
		list := strings.Fields(dsns)
		if len(list) != n {
			return false
		}
		_, err := openDSN(m.t, list[0]).Exec("DELETE FROM append WHERE k = -1")
		return err == nil
	})
	return dsns
}

// powerCut kills all that runs at machines, and removes what is in RAM.
func (m *machines) powerCut(homes []*testHome) {
	m.t.Helper()
	var all []int
	for i, h := range homes {
		p := h.pids(fmt.Sprintf("c-%d", i+1))
		all = append(all, p.Supervisor, p.Server)
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for i, h := range homes {
		h.until("all have ended", func() bool { return syscall.Kill(all[2*i], 0) != nil && syscall.Kill(all[2*i+1], 0) != nil })
		if err := os.RemoveAll(h.instanceDir(testVolume, fmt.Sprintf("c-%d", i+1))); err != nil {
			m.t.Fatal(err)
		}
	}
}

// TestClusterMachines: a cluster of three machines, each with its own ramaria. One is cut off, one killed, all lose power, and
// one is lost for good; no commit that was answered is missing at any member.
func TestClusterMachines(t *testing.T) {
	m := newMachines(t, 3)
	first := m.homes[0]
	first.ramaria("cluster", "create", "c", "--volume", testVolume, "--server", first.daemon(), "--address", m.address(1))
	for _, h := range m.homes[1:] {
		m.join(h)
	}
	writable := func(dsns string) []string { return (&clusterHome{testHome: first}).writable(dsns) }
	dsns := first.ramaria("cluster", "up", "c")
	first.exec(openDSN(t, strings.Fields(dsns)[0]), appendTable)
	loaded := func(what string, fault func()) {
		t.Helper()
		l := beginAppends(t, writable(dsns))
		first.until("commits", func() bool { return l.count() > 100 })
		fault()
		l.end()
		dsns = m.dsns(3)
		first.checkAll(what, dsns, l)
		t.Logf("%s: %d commits answered, none lost", what, l.count())
	}

	loaded("a member killed", func() {
		m.homes[1].kill("c-2", func(p pids) int { return p.Server })
		m.up(m.homes[1:2])
	})
	loaded("all machines lose power", func() {
		m.powerCut(m.homes)
		m.up(m.homes)
	})
	if first.srv.Flavour == server.MySQL { // two that have what no other has: the one that begins takes it from the other's archive
		one := first.secondary()
		number, err := strconv.Atoi(strings.TrimPrefix(one, "c-"))
		if err != nil {
			t.Fatal(err)
		}
		first.writeApart(m.homes[number-1].memberRoot(one), strings.Fields(dsns)[0], 1)
		m.powerCut(m.homes)
		m.up(m.homes)
		dsns = m.dsns(3)
		first.united(dsns, 1)
	}
	loaded("a machine cut off", func() {
		cut := []string{"ip", "-n", m.homes[0].host, "link", "set", "eth0"}
		if err := runAll(append(cut, "down")); err != nil {
			t.Fatal(err)
		}
		h := m.homes[1]
		h.until("the others go on", func() bool {
			list, _, _ := h.try("cluster", "status", "c", "--json")
			return strings.Count(list, `"sees": 2`) == 2 && strings.Contains(list, `"degraded"`)
		})
		if out, _, _ := m.homes[0].try("cluster", "status", "c"); !strings.Contains(out, "unreached") {
			t.Errorf("the machine that is cut off says: %s", out)
		}
		if err := runAll(append(cut, "up")); err != nil {
			t.Fatal(err)
		}
		m.up(m.homes)
	})

	// One that is left alone takes no writes, and is none of a majority, whatever is said of the others.
	m.homes[1].ramaria("cluster", "down", "c")
	if _, talk, err := first.try("cluster", "up", "c", "--without", "c-3"); err == nil || !strings.Contains(talk, "its machine answers") {
		t.Errorf("one that answers is taken out: %v: %s", err, talk)
	}
	m.homes[2].ramaria("cluster", "down", "c")
	alone := openDSN(t, strings.Fields(first.ramaria("cluster", "up", "c"))[0])
	first.until("one that is alone takes no writes", func() bool {
		_, err := alone.Exec("DELETE FROM append WHERE k = -1")
		return err != nil && strings.Contains(err.Error(), "read-only") || err != nil && strings.Contains(err.Error(), "read_only")
	})
	if state := first.ramaria("cluster", "status", "c", "--json"); !strings.Contains(state, `"no quorum"`) {
		t.Errorf("one that is alone says: %s", state)
	}
	if _, talk, err := first.try("cluster", "up", "c", "--without", "c-2", "--without", "c-3"); err == nil || !strings.Contains(talk, "--minority") {
		t.Errorf("most are taken out: %v: %s", err, talk)
	}
	m.up(m.homes[1:])
	dsns = m.dsns(3)

	// Two of three wait for the third, since it may have the most, unless they are told that it is lost for good.
	l := beginAppends(t, writable(dsns))
	first.until("commits", func() bool { return l.count() > 100 })
	m.powerCut(m.homes)
	l.end()
	lone := first.command("cluster", "up", "c")
	var said bytes.Buffer
	lone.Stderr = &said
	if err := lone.Start(); err != nil {
		t.Fatal(err)
	}
	first.until("one of three is recovered, and begins nothing", func() bool {
		state, _, _ := first.try("cluster", "status", "c", "--json")
		return strings.Contains(state, `"no quorum"`) && strings.Contains(state, `"running"`)
	})
	time.Sleep(2 * time.Second)
	if state, _, _ := first.try("cluster", "status", "c", "--json"); !strings.Contains(state, `"no quorum"`) {
		t.Errorf("one of three that is up says: %s", state)
	}
	if err := errors.Join(lone.Process.Signal(os.Interrupt), lone.Wait()); err == nil || !strings.Contains(said.String(), "ramaria cluster up c there") {
		t.Errorf("one of three waits, and says: %v: %s", err, said.String())
	}
	lost := m.homes[2]
	for _, dir := range []string{filepath.Join(lost.places.State, "archives", "c-3"), filepath.Join(lost.places.State, "clusters")} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	m.up(m.homes[:2], "--without", "c-3")
	first.until("two are written to", func() bool {
		return strings.Contains(first.ramaria("cluster", "status", "c", "--json"), `"whole"`)
	})
	lost.ramaria("down", "c-3", "--rm")
	meanwhile := beginAppends(t, writable(m.dsns(2)))
	first.until("commits", func() bool { return meanwhile.count() > 50 })
	m.join(lost)
	meanwhile.end()
	dsns = m.dsns(3)
	first.checkAll("one joins under load", dsns, meanwhile)
	if first.srv.Flavour == server.MariaDB { // a commit is in the log of its own member, and may be nowhere else
		l.acked[2], l.acked[5] = nil, nil
	}
	first.checkAll("one lost for good", dsns, l)

	lost.ramaria("cluster", "rm", "c", "--with-archive")
	// Not as one that died, which counts for a while as a member that may come back.
	if state := first.ramaria("cluster", "status", "c", "--json"); strings.Count(state, `"name": "c-`) != 2 || strings.Count(state, `"sees": 2`) != 2 {
		t.Errorf("after one has left: %s", state)
	}
	m.homes[1].ramaria("cluster", "rm", "c", "--with-archive")
	m.dsns(1)
}
