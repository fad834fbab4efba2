package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/network"
	"github.com/ramaria-db/ramaria/internal/server"
)

// States of a cluster.
const (
	ClusterWhole     = "whole"      // all members are in it
	ClusterDegraded  = "degraded"   // most are, and it is written to
	ClusterNoPrimary = "no primary" // most are in a group, which has lost the one that is written to, and chooses another
	ClusterNoQuorum  = "no quorum"  // some run, and none takes writes
	ClusterStopped   = "stopped"    // none runs
	// ClusterUnfinished is one that a command was killed which made or removed it.
	ClusterUnfinished = "unfinished"
)

// ClusterListing describes one cluster; see docs/json.md, cluster status. Fields are added, never changed.
type ClusterListing struct {
	Name    string         `json:"name"`
	State   string         `json:"state"`
	Flavour server.Flavour `json:"flavour"`
	Durable string         `json:"durable,omitempty"`
	// Quorum is how many members have to reach each other.
	Quorum int `json:"quorum"`
	// Here is the address of this machine, where the members are on several.
	Here string `json:"here,omitempty"`
	// Network is that of members with addresses of their own.
	Network *network.Network `json:"network,omitempty"`
	Members []MemberListing  `json:"members"`
	// Doubt is why a degraded cluster may not be written to just now, or what its members do not agree on; "" for neither.
	Doubt string `json:"-"`
	// torn says that all are in it, each by what it says of itself, and not all see all.
	torn bool
	// parted says that those which are in it, by what each says of itself, are too few, and have not found out yet.
	parted bool
}

// MemberListing describes a member.
type MemberListing struct {
	Name    string         `json:"name"`
	Phase   instance.Phase `json:"phase"`
	Reason  string         `json:"reason,omitempty"`
	Address string         `json:"address"`
	// Namespace is the network namespace of its server, "" for the machine's own.
	Namespace string `json:"namespace,omitempty"`
	// URL is for applications.
	URL string `json:"-"`
	// State is the server's word for what it is in the cluster, "" where it does not run, and Online whether it is whole.
	State  string `json:"state,omitempty"`
	Online bool   `json:"online"`
	// Joining says that a command makes it, which may have been killed: it is not counted.
	Joining bool `json:"joining,omitempty"`
	// Role is primary, secondary or any.
	Role string `json:"role,omitempty"`
	// Sees is how many members it reaches, itself among them.
	Sees int `json:"sees,omitempty"`
	// Quorum says that most members reach each other, and Silent that it runs and did not answer.
	Quorum bool   `json:"-"`
	Silent bool   `json:"-"`
	GTIDs  string `json:"gtids,omitempty"`
	// cut, listed and primary are what dbconn.ClusterView says. apart says that it waits to be looked at, has what cluster.Cluster.Has
	// says of it then, purged which transactions it has and its log has not, version that of its server, and far what another
	// machine knows of the cluster.
	cut     bool
	listed  []string
	primary string
	apart   bool
	has     uint64
	purged  string
	version server.Version
	far     *cluster.Cluster
}

// ClusterStatus returns one cluster.
func (e *Engine) ClusterStatus(ctx context.Context, name string) (ClusterListing, error) {
	c, err := e.clusters().Get(name)
	if err != nil {
		return ClusterListing{}, err
	}
	return e.listCluster(ctx, c)
}

// ListClusters returns all clusters.
func (e *Engine) ListClusters(ctx context.Context) ([]ClusterListing, error) {
	all, err := e.clusters().List()
	if err != nil {
		return nil, err
	}
	list := []ClusterListing{}
	for _, c := range all {
		l, err := e.listCluster(ctx, c)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// ClusterNames are the names of all clusters.
func (e *Engine) ClusterNames() ([]string, error) {
	all, err := e.clusters().List()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return names, nil
}

func (e *Engine) listCluster(ctx context.Context, c *cluster.Cluster) (ClusterListing, error) {
	for end := time.Now().Add(agreeWithin); ; {
		l := ClusterListing{Name: c.Name, Flavour: c.Flavour, Durable: c.Spec.Durable, Quorum: c.Quorum(), Here: c.Here, Network: c.Network}
		var err error
		if l.Members, err = e.listMembers(ctx, c); err != nil {
			return l, err
		}
		l.assess(c)
		if !l.torn || time.Now().After(end) {
			return l, nil
		}
		time.Sleep(agreePause)
	}
}

// agreeWithin is how long members may take to see one that has just joined before it is said that they do not, and agreePause
// the pause between two looks. One that was frozen takes itself for whole for seconds after the others have gone on without it.
const agreeWithin, agreePause = time.Second, 100 * time.Millisecond

// assess finds the state of a cluster from what its members say.
func (l *ClusterListing) assess(c *cluster.Cluster) {
	online, running, within, answer, seen, view := 0, 0, 0, 0, 0, 0
	least := c.Counted()
	for i, m := range l.Members {
		if c.Nodes[i].Joining {
			l.Members[i].Joining = true
			continue
		}
		if c.Far() && m.Sees < l.Quorum { // it waits for the others, or has lost them
			m.Online = false
		}
		if m.Online {
			online++
			least = min(least, m.Sees)
			seen, view = max(seen, m.Sees), max(view, m.Sees, len(m.listed))
		}
		if m.Phase == instance.Running {
			running++
		}
		if m.Phase == instance.Running && !m.cut || m.Phase == instance.Starting || m.Phase == PhaseUnreached {
			within++ // or may be
			if !m.Silent {
				answer++
			}
		}
	}
	most := l.Quorum
	if !c.Far() { // those that died before count no more
		most = view/2 + 1
	}
	switch {
	case c.Removing || !c.Made:
		l.State = ClusterUnfinished
	case running > 0 && within < most && seen > within:
		l.State, l.parted = ClusterNoQuorum, true
		for i := range l.Members {
			l.Members[i].Quorum = false
		}
	case online > 0 && !l.led(c):
		l.State = ClusterNoPrimary
	case online == c.Counted() && least == online:
		l.State = ClusterWhole
	case online > 0:
		l.State, l.torn = ClusterDegraded, online == c.Counted()
		l.Doubt = l.doubt(c, seen > answer)
	case running > 0:
		l.State = ClusterNoQuorum
	default:
		l.State = ClusterStopped
	}
}

// doubt is that of a degraded cluster; unnoticed says that its members count some that have died, or do not answer.
func (l *ClusterListing) doubt(c *cluster.Cluster, unnoticed bool) string {
	switch {
	case l.torn:
		return "each member says that it is in it, and not all see all others"
	case c.Flavour == server.MariaDB && unnoticed:
		return "its members have not noticed yet that one has died or does not answer, and writes wait until they have, some seconds"
	case c.Flavour == server.MySQL && l.primary() < 0:
		return "the member that is written to cannot be asked; if it has died or hangs, writes wait until the others have chosen another"
	}
	return ""
}

// led reports whether a member of a group is written to: by what it says of itself, or, where it cannot be asked, by what
// another says of it.
func (l *ClusterListing) led(c *cluster.Cluster) bool {
	if c.Flavour != server.MySQL || l.primary() >= 0 {
		return true
	}
	return slices.ContainsFunc(l.Members, func(p MemberListing) bool {
		return (p.Silent || p.Phase == PhaseUnreached) &&
			slices.ContainsFunc(l.Members, func(m MemberListing) bool { return m.Online && m.primary == p.Address })
	})
}

// listMembers describes the members of a cluster. Other machines are asked at one time.
func (e *Engine) listMembers(ctx context.Context, c *cluster.Cluster) ([]MemberListing, error) {
	members := make([]MemberListing, len(c.Nodes))
	var asked sync.WaitGroup
	var err error
	for i, n := range c.Nodes {
		if !c.Local(n) {
			asked.Go(func() { members[i] = e.listFar(ctx, c, n) })
		}
	}
	for i, n := range c.Nodes {
		if c.Local(n) && err == nil {
			members[i], err = e.listMember(ctx, n)
			members[i].has = c.Has
			if c.Network != nil {
				members[i].Namespace = network.Namespace(n.Name)
			}
		}
	}
	asked.Wait()
	return members, err
}

// describe describes a member, wherever it is.
func (e *Engine) describe(ctx context.Context, c *cluster.Cluster, n cluster.Node) (MemberListing, error) {
	if c.Local(n) {
		return e.listMember(ctx, n)
	}
	return e.listFar(ctx, c, n), nil
}

func (e *Engine) listMember(ctx context.Context, n cluster.Node) (MemberListing, error) {
	m := MemberListing{Name: n.Name, Address: n.Address()}
	r, err := e.Registry.Get(n.Name)
	if errors.Is(err, instance.ErrNotFound) {
		m.Phase, m.Reason = instance.Gone, "it was removed"
		return m, nil
	}
	if err != nil {
		return m, err
	}
	state, err := r.State()
	if err != nil {
		return m, err
	}
	m.Phase, m.Reason = state.Phase, state.Reason
	if state.Phase == instance.Gone {
		return m, nil
	}
	i, err := e.Registry.Open(n.Name)
	if err != nil {
		return m, err
	}
	m.URL, m.version = i.Endpoint.URL(), i.Server.Version
	if state.Phase != instance.Running {
		return m, nil
	}
	v, err := viewOf(ctx, i)
	if err != nil {
		m.State, m.Silent = "does not answer", true
		return m, nil //nolint:nilerr // that is what there is to say of it
	}
	m.State, m.Online, m.Role, m.Sees, m.GTIDs, m.Quorum, m.purged = v.State, v.Online, v.Role, v.Size, v.GTIDs, v.Quorum, v.Purged
	m.cut, m.listed, m.primary = v.Cut, v.Listed, v.Primary
	m.apart = i.Joins == instance.JoinsApart && !v.Online && (i.Server.Flavour != server.MySQL || v.Cut) // else it is on its way in
	return m, nil
}

// primary returns the index of the member that is to be stopped last: the one that is written to; -1 for none. One that was
// frozen takes itself for it beside the one that the others have chosen since: what most say counts.
func (l ClusterListing) primary() int {
	best, most := -1, -1
	for i, p := range l.Members {
		say := 0
		for _, m := range l.Members {
			if m.Online && m.primary == p.Address {
				say++
			}
		}
		if p.Role == dbconn.RolePrimary && say > most {
			best, most = i, say
		}
	}
	return best
}

// donor is a whole member, another than the one called name.
func (l ClusterListing) donor(name string) string {
	best := ""
	for _, m := range l.Members {
		if m.Online && m.Name != name && (best == "" || m.Role == dbconn.RoleSecondary) {
			best = m.Name
		}
	}
	return best
}

// online counts the whole members but for the one called name.
func (l ClusterListing) online(name string) (n int) {
	for _, m := range l.Members {
		if m.Online && m.Name != name {
			n++
		}
	}
	return n
}

// URLs are the DSNs of the whole members, that of the one that is written to first.
func (l ClusterListing) URLs() []string {
	var urls []string
	for i, m := range l.Members {
		switch {
		case !m.Online:
		case i == l.primary():
			urls = append([]string{m.URL}, urls...)
		default:
			urls = append(urls, m.URL)
		}
	}
	return urls
}
