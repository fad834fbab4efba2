package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// ClusterUpRequest asks for a whole cluster.
type ClusterUpRequest struct {
	Name string
	// Without are members that are lost for good: the cluster is started without what they alone have.
	Without []string
	// Minority goes on with less than most of the members of a cluster on several machines.
	Minority bool
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
		if l, err = e.beginAgain(ctx, c, l, q.Without); err != nil {
			return out, err
		}
	}
	if err := e.rejoinAll(ctx, c, l); err != nil {
		// Members that had been parted from the others may leave them even after these have been seen to reach each other.
		l, lerr := e.settledCluster(ctx, c)
		if lerr != nil || !l.lost() {
			return out, errors.Join(err, lerr)
		}
		e.note("cluster %s lost its quorum while a member joined: %s", c.Name, oneLine(err))
		if l, err = e.beginAgain(ctx, c, l, q.Without); err != nil {
			return out, err
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

// rejoinAll has those members join that are not in the cluster.
func (e *Engine) rejoinAll(ctx context.Context, c *cluster.Cluster, l ClusterListing) (err error) {
	for i, n := range c.Nodes {
		switch m := l.Members[i]; {
		case m.Online && n.Stale: // a command was killed that had made it whole
			err = e.markStale(c, false, n.Name)
		case m.Online:
		default:
			err = e.rejoin(ctx, c, l.donor(n.Name), n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

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

// rejoin has a member that is not in the cluster be in it again: with what it has, if it can get the rest from the others, else
// as a copy.
func (e *Engine) rejoin(ctx context.Context, c *cluster.Cluster, donor string, n cluster.Node) error {
	if n.Stale {
		return e.copyMember(ctx, c, donor, n)
	}
	err := e.rejoinAsItIs(ctx, c, donor, n)
	if err != nil && ctx.Err() == nil && notLetIn(err) {
		e.note("member %s was not let in, and tries again: %s", n.Name, oneLine(err))
		err = e.rejoinAsItIs(ctx, c, donor, n)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if ahead(err) {
		return fmt.Errorf("have member %s join cluster %s: it has transactions that the others lack: %w\nhint: ramaria sql %[1]s shows them; ramaria cluster replace %[2]s %[1]s makes it a copy of another, and loses them", n.Name, c.Name, err)
	}
	if !tooOld(err) {
		return err
	}
	e.note("member %s cannot go on with what it has, and becomes a copy of %s: %s", n.Name, donor, oneLine(err))
	return e.copyMember(ctx, c, donor, n)
}

// markStale writes down which members have what the cluster goes on without, or that they have it no more.
func (e *Engine) markStale(c *cluster.Cluster, stale bool, names ...string) error {
	for i := range c.Nodes {
		if slices.Contains(names, c.Nodes[i].Name) {
			c.Nodes[i].Stale = stale
		}
	}
	return e.clusters().Put(c)
}

// errNoData says that a member has nothing to go on with.
var errNoData = errors.New("its data is gone")

// errTooOld says that the others do not have any more what a member lacks.
var errTooOld = errors.New("the others do not have any more what it lacks")

func (e *Engine) rejoinAsItIs(ctx context.Context, c *cluster.Cluster, donor string, n cluster.Node) error {
	lock, err := e.lockName(ctx, n.Name)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	r, err := e.Registry.Get(n.Name)
	if err != nil {
		return err
	}
	state, err := r.State()
	if err != nil {
		return err
	}
	if state.Phase == instance.Gone {
		return errNoData
	}
	if state.Phase.Alive() { // its server is not in the cluster
		if err := e.stop(ctx, r); err != nil {
			return err
		}
	}
	i, err := e.Registry.Open(n.Name)
	if err != nil {
		return err
	}
	if err := e.fits(i); err != nil {
		return err
	}
	if galera(c) {
		return e.startMember(ctx, i, "", false)
	}
	if err := e.startMember(ctx, i, instance.JoinsApart, false); err != nil {
		return err
	}
	d, _ := c.Node(donor)
	from, err := e.describe(ctx, c, d)
	if err != nil {
		return err
	}
	if can, err := canFollow(ctx, i, from.purged); err != nil || !can {
		return cmp.Or(err, errTooOld)
	}
	return e.join(ctx, c, i, false)
}

// notLetIn reports whether a group of MySQL did not take a server in time: what it was before it died may still have counted as
// a member, while too few reached each other to throw that out, and a server that was turned away does not get in by itself.
func notLetIn(err error) bool { return strings.Contains(err.Error(), "Error 3092 ") }

// ahead reports whether a server was refused since it has what the cluster lacks.
func ahead(err error) bool {
	return strings.Contains(err.Error(), "contains transactions not present in the group") || strings.Contains(err.Error(), "more executed transactions")
}

// tooOld reports whether a member failed to join since the others do not have any more what it lacks, or it has not what it
// had: it becomes a copy.
func tooOld(err error) bool {
	if errors.Is(err, errNoData) || errors.Is(err, errTooOld) || errors.Is(err, durable.ErrBehind) || errors.Is(err, instance.ErrGone) || errors.Is(err, instance.ErrNotFound) {
		return true
	}
	return slices.ContainsFunc([]string{"SST request callback failed", "Receiving IST failed", "wsrep_sst_" + server.SSTMethod, "State transfer request failed", "Will never receive state", "Reversing history", "Inconsistency detected"}, func(words string) bool {
		return strings.Contains(err.Error(), words)
	})
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
	if m := l.Members[number-1]; m.Phase.Alive() {
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

// fits refuses data of a durable member that is not all that its archive has.
func (e *Engine) fits(i *instance.Instance) error {
	if !levelOf(i.Spec).Durable() {
		return nil
	}
	boot, err := e.Host.BootID()
	if err != nil {
		return err
	}
	return durable.Fits(e.archiveDir(i.Name, i.Spec), i, boot)
}

// galera reports whether a cluster is one of Galera.
func galera(c *cluster.Cluster) bool { return c.Flavour == server.MariaDB }
