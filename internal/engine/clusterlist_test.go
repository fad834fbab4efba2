package engine

import (
	"testing"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// TestAssess: what a member says of itself counts for more than what others say of it.
func TestAssess(t *testing.T) {
	t.Parallel()
	in := func(sees int) MemberListing {
		return MemberListing{Phase: instance.Running, Online: true, Sees: sees, Quorum: true, Role: dbconn.RolePrimary}
	}
	follows := func(sees int, primary string) MemberListing {
		m := in(sees)
		m.Role, m.primary = dbconn.RoleSecondary, primary
		return m
	}
	at := func(m MemberListing, address string) MemberListing { m.Address = address; return m }
	left := MemberListing{Phase: instance.Running, cut: true}
	joins := MemberListing{Phase: instance.Running, Sees: 2, Quorum: true}
	silent := MemberListing{Phase: instance.Running, Silent: true}
	ended, unreached := MemberListing{Phase: instance.Crashed}, MemberListing{Phase: PhaseUnreached}
	for _, tc := range []struct {
		name    string
		members []MemberListing
		here    string
		state   string
		parted  bool
	}{
		{"all are in it", []MemberListing{in(3), in(3), in(3)}, "", ClusterWhole, false},
		{"one was frozen, and the others have gone on without it", []MemberListing{in(2), in(3), in(2)}, "", ClusterDegraded, false},
		{"two are", []MemberListing{in(2), ended, in(2)}, "", ClusterDegraded, false},
		{"one has not found out that two have ended", []MemberListing{in(3), ended, ended}, "", ClusterNoQuorum, true},
		{"one reaches another that has left", []MemberListing{in(2), left, ended}, "", ClusterNoQuorum, true},
		{"two reach a third that has left", []MemberListing{in(3), in(3), left}, "", ClusterDegraded, false},
		{"one reaches another that does not answer us", []MemberListing{in(2), silent, ended}, "", ClusterDegraded, false},
		{"one that has begun, and two that join", []MemberListing{in(1), joins, left}, "", ClusterDegraded, false},
		{"one has ended of three that two others left", []MemberListing{in(3), in(3), ended, ended, ended}, "", ClusterDegraded, false},
		{"two have ended of three that two others left", []MemberListing{in(3), ended, ended, ended, ended}, "", ClusterNoQuorum, true},
		{"three have ended of five", []MemberListing{in(5), in(5), ended, ended, ended}, "", ClusterNoQuorum, true},
		{"one reaches another that starts", []MemberListing{in(2), {Phase: instance.Starting}, ended}, "", ClusterDegraded, false},
		{"all have left", []MemberListing{left, left, left}, "", ClusterNoQuorum, false},
		{"the primary has ended", []MemberListing{at(ended, "a"), follows(2, ""), follows(2, "")}, "", ClusterNoPrimary, false},
		{"the same, and the others have not found out", []MemberListing{at(ended, "a"), follows(3, "a"), follows(3, "a")}, "", ClusterNoPrimary, false},
		{"the primary does not answer us", []MemberListing{at(silent, "a"), follows(3, "a"), follows(3, "a")}, "", ClusterDegraded, false},
		{"none runs", []MemberListing{ended, ended, ended}, "", ClusterStopped, false},
		{"machines: one is not reached by us", []MemberListing{in(2), unreached, ended}, "10.0.0.1", ClusterDegraded, false},
		{"machines: one is not reached by us, and two have ended", []MemberListing{in(3), left, unreached}, "10.0.0.1", ClusterDegraded, false},
		{"machines: one reaches another that has left", []MemberListing{in(2), left, ended}, "10.0.0.1", ClusterNoQuorum, true},
		{"machines: the primary is not reached by us", []MemberListing{at(unreached, "a"), follows(2, "a"), ended}, "10.0.0.1", ClusterDegraded, false},
		{"machines: the primary is reached by nobody", []MemberListing{at(unreached, "a"), follows(2, ""), follows(2, "")}, "10.0.0.1", ClusterNoPrimary, false},
		{"machines: one has begun, and waits for the others", []MemberListing{in(1), left, left}, "10.0.0.1", ClusterNoQuorum, false},
	} {
		c := &cluster.Cluster{Name: "c", Flavour: server.MySQL, Made: true, Here: tc.here, Nodes: make([]cluster.Node, len(tc.members))}
		l := ClusterListing{Quorum: c.Quorum(), Members: tc.members}
		if l.assess(c); l.State != tc.state || l.parted != tc.parted {
			t.Errorf("%s: %s, parted %t, want %s, %t", tc.name, l.State, l.parted, tc.state, tc.parted)
		}
		for i, m := range l.Members {
			if m.Quorum && l.parted {
				t.Errorf("%s: member %d has a quorum", tc.name, i+1)
			}
		}
	}
}

// TestAssessDoubt: a cluster is not said to be written to while it is not known to be.
func TestAssessDoubt(t *testing.T) {
	t.Parallel()
	in := func(sees int, role string) MemberListing {
		return MemberListing{Phase: instance.Running, Online: true, Sees: sees, Role: role, primary: "a"}
	}
	any3, any2 := in(3, dbconn.RoleAny), in(2, dbconn.RoleAny)
	second := in(3, dbconn.RoleSecondary)
	ended, silent := MemberListing{Phase: instance.Crashed}, MemberListing{Phase: instance.Running, Silent: true, Address: "a"}
	for _, tc := range []struct {
		name    string
		flavour server.Flavour
		members []MemberListing
		doubt   bool
	}{
		{"one of Galera has died, and is counted", server.MariaDB, []MemberListing{ended, any3, any3}, true},
		{"the same, and it was noticed", server.MariaDB, []MemberListing{ended, any2, any2}, false},
		{"one of Galera hangs, and is counted", server.MariaDB, []MemberListing{silent, any3, any3}, true},
		{"the same, and it was noticed", server.MariaDB, []MemberListing{silent, any2, any2}, false},
		{"the others of Galera have gone on without one", server.MariaDB, []MemberListing{any2, any3, any2}, true},
		{"the primary of a group hangs", server.MySQL, []MemberListing{silent, second, second}, true},
		{"another of a group has died", server.MySQL, []MemberListing{in(3, dbconn.RolePrimary), ended, second}, false},
	} {
		c := &cluster.Cluster{Name: "c", Flavour: tc.flavour, Made: true, Nodes: make([]cluster.Node, len(tc.members))}
		l := ClusterListing{Quorum: c.Quorum(), Members: tc.members}
		if l.assess(c); l.State != ClusterDegraded || (l.Doubt != "") != tc.doubt {
			t.Errorf("%s: %s, doubt %q, want one: %t", tc.name, l.State, l.Doubt, tc.doubt)
		}
	}
}

// TestPrimaryOfMost: one that was frozen is not taken for the primary beside the one that the others have chosen since.
func TestPrimaryOfMost(t *testing.T) {
	t.Parallel()
	is := func(address, role, primary string) MemberListing {
		return MemberListing{Phase: instance.Running, Online: true, Address: address, Role: role, primary: primary}
	}
	l := ClusterListing{Members: []MemberListing{is("a", dbconn.RolePrimary, "a"), is("b", dbconn.RolePrimary, "b"), is("c", dbconn.RoleSecondary, "b")}}
	if p := l.primary(); p != 1 {
		t.Errorf("member %d is the primary, want 1, which most say", p)
	}
}
