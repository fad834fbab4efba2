package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// meetPatience is how long the other machines are waited for where no member is whole, and meetPause the pause between two
// looks.
const meetPatience, meetPause = 30 * time.Minute, 500 * time.Millisecond

// upHere starts this machine's member of a cluster on several. Where no member is whole, each machine starts its own apart, and
// looks at all of them; all come to the same answer which has the most, and its machine has it begin the cluster. One that
// reaches less than most of the members takes no writes, so that two parts never do.
//
// pause waits for a moment, and lets others change what is written down of the cluster: a member may leave it meanwhile.
func (e *Engine) upHere(ctx context.Context, c *cluster.Cluster, q ClusterUpRequest, pause func() (*cluster.Cluster, error)) (l ClusterListing, err error) {
	if err := e.takeOut(ctx, c, q); err != nil {
		return l, err
	}
	own := c.LocalNodes()[0]
	if l, err = e.listCluster(ctx, c); err != nil {
		return l, err
	}
	if !l.member(own.Name).Online && l.donor(own.Name) == "" {
		if l, err = e.settledCluster(ctx, c); err != nil {
			return l, err
		}
	}
	apart := false
	defer func() {
		if err != nil && apart && e.hasCluster(q.Name) { // nobody goes on with it
			if derr := e.down(context.WithoutCancel(ctx), DownRequest{Name: own.Name}); !errors.Is(derr, instance.ErrNotFound) {
				err = errors.Join(err, derr)
			}
		}
	}()
	said := "the other machines"
	for end := time.Now().Add(meetPatience); ; {
		if learnt, err := e.learnNodes(c, l); err != nil {
			return l, err
		} else if learnt {
			if l, err = e.listCluster(ctx, c); err != nil {
				return l, err
			}
		}
		me := l.member(own.Name)
		if me.Online {
			return l, e.markStale(c, false, own.Name)
		}
		if donor := l.donor(own.Name); donor != "" && !l.parted {
			n, _ := c.Node(own.Name)
			apart = apart || !galera(c) // what it starts must not wait for ever, if it does not get in
			switch err := e.rejoin(ctx, c, donor, n); {
			case err == nil:
				return e.listCluster(ctx, c)
			case !errors.Is(err, errDonorLost):
				return l, err
			}
			e.note("the others lost each other while member %s joined", own.Name)
		} else if me.Silent { // it may be slow only
			said = "an answer of " + own.Name
		} else if n, _ := c.Node(own.Name); l.parted && (n.Stale || me.Phase == instance.Gone) {
			said = "the others to find out which of them are left" // it can only be a copy
		} else if !me.apart {
			if err := e.startApart(ctx, c, own, me, q.AcceptLoss); err != nil {
				return l, err
			}
			apart = true
		} else if wait, err := e.beginFar(ctx, c, own, l); err != nil {
			return l, err
		} else if wait == "" {
			return e.listCluster(ctx, c)
		} else if wait != said {
			said = wait
			e.note("waiting for %s", wait)
		}
		if time.Now().After(end) {
			return l, fmt.Errorf("start cluster %s: no member is whole, and after %s it still waits for %s\nhint: ramaria cluster up %[1]s at each machine, within that time; --without MEMBER, at all of them, goes on without one that is lost for good", c.Name, meetPatience, said)
		}
		if c, err = pause(); err != nil {
			return l, err
		}
		if l, err = e.listCluster(ctx, c); err != nil {
			return l, err
		}
	}
}

// member is the one called name.
func (l ClusterListing) member(name string) MemberListing {
	for _, m := range l.Members {
		if m.Name == name {
			return m
		}
	}
	return MemberListing{}
}

// takeOut takes members that are lost for good out of a cluster.
func (e *Engine) takeOut(ctx context.Context, c *cluster.Cluster, q ClusterUpRequest) error {
	var change cluster.Change
	counted := 0
	for _, n := range c.Nodes {
		if !slices.Contains(q.Without, n.Name) {
			continue
		}
		if c.Local(n) {
			return RequestError{fmt.Errorf("start cluster %s without %s: that is this machine's own member\nhint: ramaria cluster rm %[1]s has it leave", c.Name, n.Name)}
		}
		if m := e.listFar(ctx, c, n); m.Phase != PhaseUnreached {
			return RequestError{fmt.Errorf("start cluster %s without %s: its machine answers, at %s, so that it is not lost\nhint: ramaria cluster up %[1]s there; ramaria cluster rm %[1]s there has it leave", c.Name, n.Name, n.Host)}
		}
		change.Remove = append(change.Remove, n)
		if !n.Joining {
			counted++
		}
	}
	switch {
	case len(change.Remove) == 0:
		return nil
	case c.Counted()-counted < c.Quorum() && !q.Minority:
		return RequestError{fmt.Errorf("start cluster %s without %s: %d of %d members are no majority, and the others may go on as well, beside them\nhint: --minority goes on all the same, where it is sure that the others will never run again", c.Name, strings.Join(q.Without, " and "), c.Counted()-counted, c.Counted())}
	}
	if err := c.Apply(change); err != nil {
		return err
	}
	if err := e.clusters().Put(c); err != nil {
		return err
	}
	return e.tellNodes(ctx, c, change, func(n cluster.Node, err error) {
		e.note("member %s does not know it yet: %s", n.Name, oneLine(err)) // it asks now and then
	})
}

// learnNodes takes over what another machine knows of who the members are, if that is later.
func (e *Engine) learnNodes(c *cluster.Cluster, l ClusterListing) (learnt bool, err error) {
	best := c
	for _, m := range l.Members {
		if m.far != nil && m.far.Revision > best.Revision {
			best = m.far
		}
	}
	if best == c {
		return false, nil
	}
	if err := c.Adopt(best); err != nil {
		return false, err
	}
	return true, e.clusters().Put(c)
}

// startApart starts the member of this machine apart from the others, so that it can be looked at.
func (e *Engine) startApart(ctx context.Context, c *cluster.Cluster, own cluster.Node, me MemberListing, acceptLoss bool) error {
	if me.Phase.Alive() {
		e.note("member %s runs, and is not whole: stopping it", own.Name)
		if err := e.down(ctx, DownRequest{Name: own.Name}); err != nil {
			return err
		}
	}
	x, err := e.candidate(ctx, own, acceptLoss)
	if err != nil {
		return fmt.Errorf("start cluster %s: what this machine's member has cannot be read: %w\nhint: ramaria cluster up %[1]s --without %[3]s at the other machines goes on without what it alone had; then ramaria cluster rm %[1]s --with-archive here, and join again", c.Name, err, own.Name)
	}
	if galera(c) {
		if err := e.noteHas(c, x.Instance); err != nil {
			return err
		}
	}
	return e.startAlone(ctx, x.Instance, instance.JoinsApart)
}

// noteHas writes down how many transactions a member of Galera has, before its server counts from its base.
func (e *Engine) noteHas(c *cluster.Cluster, i *instance.Instance) error {
	joined, err := e.clusters().Joined(c.Name)
	if err != nil || !joined && c.Has > 0 {
		return err
	}
	gtids, err := e.gtidsOf(i)
	if err != nil {
		return err
	}
	c.Has = gtids.Most(0)
	if err := e.clusters().Put(c); err != nil {
		return err
	}
	return e.clusters().ForgetJoined(c.Name)
}

// beginFar has the member of this machine, which runs apart, begin the cluster if it has the most. wait says what is still
// waited for; it is "" once the cluster has begun.
func (e *Engine) beginFar(ctx context.Context, c *cluster.Cluster, own cluster.Node, l ClusterListing) (wait string, err error) {
	var missing []string
	for _, m := range l.Members {
		if n, _ := c.Node(m.Name); !m.apart && !n.Joining {
			missing = append(missing, fmt.Sprintf("%s (%s): ramaria cluster up %s there", m.Name, n.Host, c.Name))
		}
	}
	if len(missing) > 0 {
		return strings.Join(missing, "; "), nil
	}
	i, err := e.Registry.Open(own.Name)
	if err != nil {
		return "", err
	}
	best, number, lacks, err := mostOf(ctx, i, c, l)
	if err != nil {
		return "", err
	}
	if best.Name != own.Name {
		if galera(c) { // what it has is of another history than what now begins
			err = e.markStale(c, true, own.Name)
		}
		return "member " + best.Name + ", which has the most, to begin the cluster", err
	}
	e.note("cluster %s begins with member %s, which has the most", c.Name, own.Name)
	c.Revision++
	for _, m := range l.Members {
		if m.far != nil {
			c.Numbered = max(c.Numbered, m.far.Numbered)
		}
	}
	c.Numbered = max(c.Numbered, number)
	// What one has that was left out shall never be taken for what comes now.
	c.Group = cluster.NewGroup()
	if err := e.markStale(c, false, own.Name); err != nil {
		return "", err
	}
	if !galera(c) {
		if err := e.unite(ctx, c, i, lacks); err != nil {
			return "", err
		}
		return "", e.join(ctx, c, i, true)
	}
	if err := e.down(ctx, DownRequest{Name: own.Name}); err != nil {
		return "", err
	}
	if i, err = e.Registry.Open(own.Name); err != nil {
		return "", err
	}
	return "", e.startAlone(ctx, i, instance.JoinsBegin)
}

// mostOf is the member that has the most, the first of those that have. Of Galera number is how many transactions it has, and
// of MySQL lacks is what it has not of others.
func mostOf(ctx context.Context, asked *instance.Instance, c *cluster.Cluster, l ClusterListing) (best MemberListing, number uint64, lacks []lack, err error) {
	if !galera(c) {
		var sets []gtidSet
		for _, m := range l.Members {
			sets = append(sets, gtidSet{m.Name, m.GTIDs})
		}
		i, lacks, err := mostOfGroup(ctx, asked, sets)
		return l.Members[i], 0, lacks, err
	}
	best = l.Members[0]
	for _, m := range l.Members {
		if m.has > number || m.has == number && m.Name < best.Name {
			best, number = m, m.has
		}
	}
	return best, number, nil, nil
}
