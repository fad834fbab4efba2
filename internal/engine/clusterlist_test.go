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
