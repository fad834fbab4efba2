package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/server"
)

// ClusterUpRequest asks for a whole cluster.
type ClusterUpRequest struct {
	Name string
	// Without are members that are lost for good: the cluster is started without what they alone have.
	Without []string
	// Minority goes on with less than most of the members of a cluster on several machines.
	Minority bool
	// AcceptLoss has members go on with what their archives have, where that is not all that was acknowledged.
	AcceptLoss bool
}

// UpCluster starts the members of a cluster that do not run. Where none is whole, that which has the most begins it.
func (e *Engine) UpCluster(ctx context.Context, q ClusterUpRequest) (out ClusterListing, err error) {
	lock, err := e.lockCluster(ctx, q.Name)
	if err != nil {
		return out, err
	}
	defer func() {
		if lock != nil {
			err = errors.Join(err, lock.Unlock())
		}
	}()
	c, err := e.madeCluster(q.Name)
	if err != nil {
		return out, err
	}
	for _, name := range q.Without {
		if _, number := c.Node(name); number == 0 && c.Far() { // another machine may have said it already
			e.note("%s is no member of cluster %s", name, c.Name)
		} else if number == 0 {
			return out, RequestError{fmt.Errorf("start cluster %s without %s: that is no member of it\nhint: ramaria cluster status %[1]s", c.Name, name)}
		}
	}
	if c.Far() {
		return e.upHere(ctx, c, q, func() (*cluster.Cluster, error) {
			old := lock
			lock = nil
			if err := old.Unlock(); err != nil {
				return nil, err
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(meetPause):
			}
			if lock, err = e.lockCluster(ctx, q.Name); err != nil {
				lock = nil
				return nil, err
			}
			return e.madeCluster(q.Name)
		})
	}
	if err := e.endParted(ctx, c); err != nil {
		return out, err
	}
	if err := openNetwork(ctx, c); err != nil {
		return out, err
	}
	l, err := e.settledCluster(ctx, c)
	if err != nil {
		return out, err
	}
	if l.lost() {
		if l, err = e.beginAgain(ctx, c, l, q); err != nil {
			return out, err
		}
	}
	if err := e.rejoinAll(ctx, c, l); err != nil {
		// Members that had been parted from the others may leave them even after these have been seen to reach each other.
		l, lerr := e.settledCluster(ctx, c)
		if lerr != nil || !l.lost() && !errors.Is(err, errDonorLost) {
			return out, errors.Join(err, lerr)
		}
		if l.lost() {
			e.note("cluster %s lost its quorum while a member joined: %s", c.Name, oneLine(err))
			if l, err = e.beginAgain(ctx, c, l, q); err != nil {
				return out, err
			}
		}
		if err := e.rejoinAll(ctx, c, l); err != nil {
			return out, err
		}
	}
	return e.listCluster(ctx, c)
}

// madeCluster returns a cluster of which this machine has its members.
func (e *Engine) madeCluster(name string) (*cluster.Cluster, error) {
	c, err := e.clusters().Get(name)
	if err == nil && (c.Removing || !c.Made) {
		err = RequestError{fmt.Errorf("start cluster %s: it was not made whole, or is removed half way\nhint: ramaria cluster rm %[1]s, and ramaria cluster create or join again", c.Name)}
	}
	return c, err
}

// lost reports whether a cluster has to begin again: too few of its members reach each other, or none runs.
func (l ClusterListing) lost() bool { return l.State == ClusterNoQuorum || l.State == ClusterStopped }

// settlePatience is how long members that run are given to say whether they reach each other.
const settlePatience, settlePause = 40 * time.Second, 500 * time.Millisecond

// settledCluster lists a cluster once it is known whether those of its members that run have a quorum: one that recovers, or is
// slow to answer, is not to be stopped.
func (e *Engine) settledCluster(ctx context.Context, c *cluster.Cluster) (l ClusterListing, err error) {
	lost := 0 // how often it was seen that there is no quorum
	for end := time.Now().Add(settlePatience); ; {
		if l, err = e.listCluster(ctx, c); err != nil || l.State != ClusterNoQuorum {
			return l, err
		}
		silent := ""
		joins := false
		for _, m := range l.Members {
			if m.Silent {
				silent = m.Name
			}
			joins = joins || m.Quorum
		}
		if silent == "" && !joins {
			lost++
		}
		switch {
		case lost > 2:
			return l, nil
		case time.Now().After(end) && silent != "":
			return l, fmt.Errorf("start cluster %s: member %s runs and does not answer, so that it is not known whether the cluster works\nhint: ramaria logs %[2]s; ramaria down %[2]s ends it", c.Name, silent)
		case time.Now().After(end):
			return l, nil
		}
		select {
		case <-ctx.Done():
			return l, ctx.Err()
		case <-time.After(settlePause):
		}
	}
}

// StopCluster stops the members of a cluster, that which is written to last: it has the most then.
func (e *Engine) StopCluster(ctx context.Context, name string) error {
	return e.eachMember(ctx, name, func(c *cluster.Cluster, m MemberListing) error {
		if !m.Phase.Alive() {
			return nil
		}
		return e.down(ctx, DownRequest{Name: m.Name})
	})
}

// RestartCluster restarts the members one by one: the cluster is written to all the while.
func (e *Engine) RestartCluster(ctx context.Context, name string) error {
	return e.eachMember(ctx, name, func(c *cluster.Cluster, m MemberListing) error {
		l, err := e.listCluster(ctx, c)
		if err != nil {
			return err
		}
		if l.State != ClusterWhole {
			return RequestError{fmt.Errorf("restart member %s of cluster %s: not all of it is up, and without this one it might have no quorum\nhint: ramaria cluster up %[2]s", m.Name, c.Name)}
		}
		if err := e.down(ctx, DownRequest{Name: m.Name}); err != nil {
			return err
		}
		n, _ := c.Node(m.Name)
		if err := e.rejoin(ctx, c, l.donor(m.Name), n); err != nil {
			return err
		}
		e.note("restarted member %s", m.Name)
		return nil
	})
}

// ReplaceMember makes a member of a cluster a copy of another one.
func (e *Engine) ReplaceMember(ctx context.Context, name, member string) error {
	lock, err := e.lockCluster(ctx, name)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	c, err := e.clusters().Get(name)
	if err != nil {
		return err
	}
	n, number := c.Node(member)
	if number == 0 {
		return RequestError{fmt.Errorf("replace %s: that is no member of cluster %s\nhint: ramaria cluster status %[2]s", member, name)}
	}
	if !c.Local(n) {
		return RequestError{fmt.Errorf("replace member %s of cluster %s: it is on another machine, at %s\nhint: ramaria cluster replace %[2]s %[1]s there", member, name, n.Host)}
	}
	l, err := e.listCluster(ctx, c)
	if err != nil {
		return err
	}
	donor := l.donor(member)
	if donor == "" {
		return RequestError{fmt.Errorf("replace member %s of cluster %s: no other is whole that it could be a copy of\nhint: ramaria cluster up %[2]s", member, name)}
	}
	m := l.Members[number-1]
	if rest := l.online(member); m.Online && rest < l.Quorum {
		return RequestError{fmt.Errorf("replace member %s of cluster %s: it is whole, and of the others %d of %d are: without it the cluster might have no quorum, which takes %d\nhint: ramaria cluster up %[2]s, or ramaria cluster replace of a member that does not come back, and then this one", member, name, rest, len(l.Members)-1, l.Quorum)}
	}
	if m.Phase.Alive() {
		if err := e.down(ctx, DownRequest{Name: member}); err != nil {
			return err
		}
	}
	return e.copyMember(ctx, c, donor, n)
}

// eachMember calls do for the members of a cluster, that which is written to last.
func (e *Engine) eachMember(ctx context.Context, name string, do func(*cluster.Cluster, MemberListing) error) (err error) {
	lock, err := e.lockCluster(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	c, err := e.clusters().Get(name)
	if err != nil {
		return err
	}
	l, err := e.listCluster(ctx, c)
	if err != nil {
		return err
	}
	order := slices.Clone(l.Members)
	if p := l.primary(); p >= 0 {
		order = append(slices.Delete(order, p, p+1), l.Members[p])
	}
	for _, m := range order {
		if n, _ := c.Node(m.Name); !c.Local(n) {
			continue
		}
		if err := do(c, m); err != nil {
			return err
		}
	}
	return nil
}

// galera reports whether a cluster is one of Galera.
func galera(c *cluster.Cluster) bool { return c.Flavour == server.MariaDB }
