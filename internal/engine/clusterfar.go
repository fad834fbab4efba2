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
// begins takes no writes until it reaches most members, so that two never do, whatever was said to be lost.
func (e *Engine) upHere(ctx context.Context, c *cluster.Cluster, without []string) (l ClusterListing, err error) {
	if err := e.takeOut(ctx, c, without); err != nil {
		return l, err
	}
	own := c.LocalNodes()[0]
	if l, err = e.settledCluster(ctx, c); err != nil {
		return l, err
	}
	apart := false
	defer func() {
		if err != nil && apart { // nobody goes on with it
			err = errors.Join(err, e.down(context.WithoutCancel(ctx), DownRequest{Name: own.Name}))
		}
	}()
	said := ""
	for end := time.Now().Add(meetPatience); ; {
		if err := e.learnNodes(c, l); err != nil {
			return l, err
		}
		me := l.member(own.Name)
		if me.Online {
			return l, e.markStale(c, false, own.Name)
		}
		if donor := l.donor(own.Name); donor != "" {
			n, _ := c.Node(own.Name)
			if err := e.rejoin(ctx, c, donor, n); err != nil {
				return l, err
			}
			return e.listCluster(ctx, c)
		}
		if !me.apart {
			if err := e.startApart(ctx, c, own, me); err != nil {
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
		select {
		case <-ctx.Done():
			return l, ctx.Err()
		case <-time.After(meetPause):
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
func (e *Engine) takeOut(ctx context.Context, c *cluster.Cluster, without []string) error {
	if len(without) == 0 {
		return nil
	}
	for _, n := range c.LocalNodes() {
		if slices.Contains(without, n.Name) {
			return RequestError{fmt.Errorf("start cluster %s without %s: that is this machine's own member\nhint: ramaria cluster rm %[1]s has it leave", c.Name, n.Name)}
		}
	}
	var change cluster.Change
	for _, n := range c.Nodes {
		if slices.Contains(without, n.Name) {
			change.Remove = append(change.Remove, n)
		}
	}
	if err := c.Apply(change); err != nil {
		return err
	}
	if err := e.clusters().Put(c); err != nil {
		return err
	}
	return e.tellNodes(ctx, c, change, func(n cluster.Node, err error) {
		e.note("member %s does not know it yet: %s", n.Name, oneLine(err)) // it will, when it asks
	})
}

// learnNodes takes over what other machines know of who the members are: from one whose member is in the cluster, else from
// that which knows of the last change.
func (e *Engine) learnNodes(c *cluster.Cluster, l ClusterListing) error {
	var best *cluster.Cluster
	whole := false
	for _, m := range l.Members {
		switch {
		case m.far == nil || whole && !m.Online:
		case best == nil, m.Online && !whole, m.far.Revision > best.Revision:
			best, whole = m.far, m.Online
		}
	}
	if best == nil || best.Revision <= c.Revision && !whole || best.Revision == c.Revision && best.Group == c.Group && best.Numbered <= c.Numbered {
		return nil
	}
	if err := c.Adopt(best); err != nil {
		return err
	}
	return e.clusters().Put(c)
}

// startApart starts the member of this machine apart from the others, so that it can be looked at.
func (e *Engine) startApart(ctx context.Context, c *cluster.Cluster, own cluster.Node, me MemberListing) error {
	if me.Phase.Alive() {
		e.note("member %s runs, and is not whole: stopping it", own.Name)
		if err := e.down(ctx, DownRequest{Name: own.Name}); err != nil {
			return err
		}
	}
	x, err := e.candidate(ctx, own)
	if err != nil {
		return fmt.Errorf("start cluster %s: what this machine's member has cannot be read: %w\nhint: ramaria cluster up %[1]s --without %[3]s at the other machines goes on without what it alone had; then ramaria cluster rm %[1]s here, and join again", c.Name, err, own.Name)
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
		if !m.apart {
			n, _ := c.Node(m.Name)
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
	best, number, err := mostOf(ctx, i, c, l)
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
	if err := e.markStale(c, false, own.Name); err != nil {
		return "", err
	}
	if !galera(c) {
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

// mostOf is the member that has the most, the first of those that have; number is how many transactions it has, of Galera.
func mostOf(ctx context.Context, asked *instance.Instance, c *cluster.Cluster, l ClusterListing) (best MemberListing, number uint64, err error) {
	if !galera(c) {
		var sets []gtidSet
		for _, m := range l.Members {
			sets = append(sets, gtidSet{m.Name, m.GTIDs})
		}
		i, err := mostOfGroup(ctx, asked, sets)
		if err != nil {
			return best, 0, err
		}
		return l.Members[i], 0, nil
	}
	best = l.Members[0]
	for _, m := range l.Members {
		if m.has > number {
			best, number = m, m.has
		}
	}
	return best, number, nil
}
