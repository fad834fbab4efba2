package tests

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// envClusterFaults names the variable with how many faults TestClusterPartitions makes, and envClusterSeed the one with what
// chooses them, which a run prints.
const envClusterFaults, envClusterSeed = "RAMARIA_CLUSTER_FAULTS", "RAMARIA_CLUSTER_SEED"

// fewFaults is how many are made if nothing is said.
const fewFaults = 5

// parted is a cluster whose members have networks of their own, which are parted.
type parted struct {
	*testHome
	// name is the cluster's: that of a network namespace comes from it, and other tests run meanwhile.
	name string
	rng  *rand.Rand
	// hosts and spaces are the addresses and the network namespaces of its members, and bridge what joins them.
	hosts, spaces []string
	bridge        string
	// primary is the index of the member that is written to, of MariaDB any.
	primary int
	// heals undo what was done to the networks and processes.
	heals []func()
}

// newParted makes a cluster.
func newParted(t *testing.T) (p *parted, dsns string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED, UNTESTED: only root may make network namespaces")
	}
	for _, name := range []string{"ip", "iptables"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED, UNTESTED: no %s: apt-get install iproute2 iptables", name)
		}
	}
	p = &parted{testHome: newTestHome(t), name: fmt.Sprintf("p%d", os.Getpid())}
	t.Cleanup(p.end) // before the home goes
	dsns = p.ramaria("cluster", "create", p.name, "--netns", "--volume", testVolume, "--server", p.daemon())
	for _, m := range p.look() {
		host, _, _ := strings.Cut(m.Address, ":")
		p.hosts, p.spaces = append(p.hosts, host), append(p.spaces, m.Namespace)
	}
	return p, dsns
}

// end removes the cluster, or its networks alone where the test has failed: its files are kept then.
func (p *parted) end() {
	if !p.t.Failed() {
		p.ramariaAtEnd("cluster", "rm", p.name, "--with-archive")
		return
	}
	p.ramariaAtEnd("down", "--all")
	for _, space := range p.spaces {
		_ = exec.Command("ip", "-n", space, "link", "delete", "eth0").Run()
		_ = exec.Command("ip", "netns", "delete", space).Run()
	}
	_ = exec.Command("ip", "link", "delete", p.bridge).Run()
}

type partedMember struct {
	Name, Address, Namespace, Role string
	Online                         bool
}

// look is what `cluster status` says of the members.
func (p *parted) look() []partedMember {
	p.t.Helper()
	var status struct {
		Network struct{ Bridge string }
		Members []partedMember
	}
	if err := json.Unmarshal([]byte(p.ramaria("cluster", "status", p.name, "--json")), &status); err != nil {
		p.t.Fatal(err)
	}
	p.bridge = status.Network.Bridge
	return status.Members
}

// in runs a program in the network of a member.
func (p *parted) in(member int, args ...string) error {
	out, err := exec.Command("ip", append([]string{"netns", "exec", p.spaces[member]}, args...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %q: %w: %s", p.spaces[member], args, err, out)
	}
	return err
}

func (p *parted) must(member int, args ...string) {
	p.t.Helper()
	if err := p.in(member, args...); err != nil {
		p.t.Fatal(err)
	}
}

// drop has a member lose what comes in from a peer, or goes out to it, or some of it.
func (p *parted) drop(chain string, member, peer int, also ...string) {
	p.t.Helper()
	side := map[string]string{"INPUT": "-s", "OUTPUT": "-d"}[chain]
	p.must(member, append([]string{"iptables", "-w", "-A", chain, side, p.hosts[peer], "-j", "DROP"}, also...)...)
	p.heals = append(p.heals, func() { p.must(member, "iptables", "-w", "-F", chain) })
}

// cutOff parts a member from the others, in both directions; clients reach it all the while.
func (p *parted) cutOff(member int) {
	for peer := range p.hosts {
		if peer != member {
			p.drop("INPUT", member, peer)
			p.drop("OUTPUT", member, peer)
		}
	}
}

// server is the process of a member's server, 0 for none.
func (p *parted) server(member int) int { return p.pids(fmt.Sprintf("%s-%d", p.name, member+1)).Server }

func (p *parted) killServer(member int) {
	if pid := p.server(member); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

func (p *parted) stopServer(member int) {
	pid := p.server(member)
	if pid == 0 {
		return
	}
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	p.heals = append(p.heals, func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // it may have been killed
}

// heal undoes all.
func (p *parted) heal() {
	for _, undo := range slices.Backward(p.heals) {
		undo()
	}
	p.heals = nil
}

// wait is some seconds: members are expelled after five to fifteen.
func (p *parted) wait(most time.Duration) {
	time.Sleep(most/4 + time.Duration(p.rng.Int64N(int64(most*3/4))))
}

// victim is the member that is written to, or any.
func (p *parted) victim() int {
	if p.rng.IntN(2) == 0 {
		return p.primary
	}
	return p.rng.IntN(len(p.hosts))
}

// clusterFaults are what is done to a cluster. a is the member that it is done to, and b another one.
var clusterFaults = []struct {
	name string
	do   func(p *parted, a, b int)
}{
	{"cut off", func(p *parted, a, _ int) { p.cutOff(a) }},
	{"the one that is written to cut off", func(p *parted, _, _ int) { p.cutOff(p.primary) }},
	{"all cut off from each other", func(p *parted, a, b int) { p.cutOff(a); p.cutOff(b) }},
	{"hears one other no more", func(p *parted, a, b int) { p.drop("INPUT", a, b) }},
	{"is heard by one other no more", func(p *parted, a, b int) { p.drop("OUTPUT", a, b) }},
	{"hears no other", func(p *parted, a, b int) { p.drop("INPUT", a, b); p.drop("INPUT", a, 3-a-b) }},
	{"loses a third of all packets", func(p *parted, a, b int) {
		for _, peer := range []int{b, 3 - a - b} {
			p.drop("INPUT", a, peer, "-m", "statistic", "--mode", "random", "--probability", "0.33")
		}
	}},
	{"link down", func(p *parted, a, _ int) {
		p.must(a, "ip", "link", "set", "eth0", "down")
		p.heals = append(p.heals, func() { p.must(a, "ip", "link", "set", "eth0", "up") })
	}},
	{"killed", func(p *parted, a, _ int) { p.killServer(a) }},
	{"stopped", func(p *parted, a, _ int) { p.stopServer(a) }},
	{"cut off, then killed", func(p *parted, a, _ int) { p.cutOff(a); p.wait(8 * time.Second); p.killServer(a) }},
	{"cut off, then another killed", func(p *parted, a, b int) { p.cutOff(a); p.wait(8 * time.Second); p.killServer(b) }},
	{"cut off, then another stopped", func(p *parted, a, b int) { p.cutOff(a); p.wait(8 * time.Second); p.stopServer(b) }},
	{"stopped, then another killed", func(p *parted, a, b int) { p.stopServer(a); p.wait(8 * time.Second); p.killServer(b) }},
	{"cut off and healed, then another, thrice", func(p *parted, a, b int) {
		for _, member := range []int{a, b, 3 - a - b} {
			p.cutOff(member)
			p.wait(8 * time.Second)
			p.heal()
		}
	}},
	{"hears one other no more, then all killed", func(p *parted, a, b int) {
		p.drop("INPUT", a, b)
		p.wait(8 * time.Second)
		for member := range p.hosts {
			p.killServer(member)
		}
	}},
	{"slow", func(p *parted, a, _ int) {
		if err := p.in(a, "tc", "qdisc", "add", "dev", "eth0", "root", "netem", "delay", "80ms", "40ms"); err != nil {
			p.t.Logf("SKIPPED, UNTESTED: slow links: this kernel has no netem: %v", err)
			return
		}
		p.heals = append(p.heals, func() { p.must(a, "tc", "qdisc", "del", "dev", "eth0", "root") })
	}},
}

// numberOf is that of a variable, or what it is without one.
func numberOf(t *testing.T, env string, without int64) int64 {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		return without
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestClusterPartitions: under load, networks of members part, links go down, and members are killed and stopped, in random
// order and together; each fault is healed, the cluster is brought back, and no commit that was answered is lost, doubled, or in
// another order, at any member. The control is a commit that was never made, which the check misses.
func TestClusterPartitions(t *testing.T) {
	p, dsns := newParted(t)
	seed := numberOf(t, envClusterSeed, time.Now().UnixNano())
	t.Logf("%s=%d", envClusterSeed, seed)
	p.rng = rand.New(rand.NewPCG(uint64(seed), 0)) // #nosec G115 -- any bits
	p.exec(openDSN(t, strings.Fields(dsns)[0]), appendTable)
	faults, total, noticed := numberOf(t, envClusterFaults, fewFaults), 0, 0
	var all appends // all loads: what an earlier one did is not lost later either
	var order []int
	for n := range faults {
		if len(order) == 0 {
			order = p.rng.Perm(len(clusterFaults))
		}
		f := clusterFaults[order[0]]
		order = order[1:]
		p.primary = max(0, slices.IndexFunc(p.look(), func(m partedMember) bool { return m.Role == "primary" }))
		a := p.victim()
		b := (a + 1 + p.rng.IntN(2)) % 3
		what := fmt.Sprintf("fault %d: member %d (and %d; %d is written to): %s", n+1, a+1, b+1, p.primary+1, f.name)
		began := time.Now()

		l := beginAppends(t, strings.Fields(dsns)) // of a group those that write to another than the primary wait until it is one
		p.until("commits", func() bool { return l.count() > 50 })
		f.do(p, a, b)
		p.wait(12 * time.Second)
		whole := 0
		for _, m := range p.look() {
			if m.Online {
				whole++
			}
		}
		if whole < 3 {
			noticed++
		}
		p.heal()
		early := p.rng.IntN(2) == 0 // or some commit while it is brought back
		if early {
			l.end()
		}
		dsns = p.ramaria("cluster", "up", p.name)
		l.end()
		total += l.count()
		for w := range l.acked {
			all.acked[w] = append(all.acked[w], l.acked[w]...)
		}
		p.checkAll(what, dsns, &all)
		t.Logf("%s: %d members were whole; %d commits; %.0f s", what, whole, l.count(), time.Since(began).Seconds())
	}
	t.Logf("%d faults, %d of them seen by a member; %d commits answered, none lost", faults, noticed, total)
	if noticed == 0 {
		t.Error("no fault made a difference to a member")
	}
	// Somebody removes the names of their networks: what is made anew under these is another network.
	for _, space := range p.spaces {
		if err := runAll([]string{"ip", "netns", "delete", space}); err != nil {
			t.Fatal(err)
		}
	}
	dsns = p.ramaria("cluster", "up", p.name)
	p.checkAll("networks without names", dsns, &all)
	for _, m := range p.look() {
		if !m.Online {
			t.Errorf("without the names of their networks, and up again, %s is %+v", m.Name, m)
		}
	}
	all.acked[0] = append(all.acked[0], 1)
	if lost, _ := all.check(openDSN(t, strings.Fields(dsns)[0])); lost != 1 {
		t.Errorf("the control, a commit that was never made: %d are lost, want 1", lost)
	}
}
