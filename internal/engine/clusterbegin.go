package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// candidate is a member of which none runs, with the data that it has.
type candidate struct {
	node cluster.Node
	*instance.Instance
	// number is how many transactions of the cluster a member of Galera has, and gtids which a member of a group has.
	number uint64
	gtids  string
}

// beginAgain starts a cluster of which no member is whole: that which has the most begins it. All have to be looked at: a commit
// is answered when the member that it was made at has it in its log, and the others have it a moment later.
func (e *Engine) beginAgain(ctx context.Context, c *cluster.Cluster, l ClusterListing, q ClusterUpRequest) (ClusterListing, error) {
	var stopped errgroup.Group // at one time: each that has lost the others tries for half a minute to tell them that it leaves
	for _, m := range l.Members {
		if m.Phase.Alive() {
			e.note("member %s runs, and is not whole: stopping it", m.Name)
			stopped.Go(func() error { return e.down(ctx, DownRequest{Name: m.Name}) })
		}
	}
	if err := stopped.Wait(); err != nil {
		return l, err
	}
	all, err := e.candidates(ctx, c, q)
	if err != nil {
		return l, err
	}
	if len(all) < len(c.Nodes) { // what another has shall never be taken for what comes now
		c.Group = cluster.NewGroup()
		if err := e.clusters().Put(c); err != nil {
			return l, err
		}
	}
	if galera(c) {
		err = e.beginGalera(ctx, c, all)
	} else {
		err = e.beginGroup(ctx, c, all)
	}
	if err != nil {
		return l, err
	}
	return e.listCluster(ctx, c)
}

// candidates are the members with their data, from their archives where that in RAM is gone.
func (e *Engine) candidates(ctx context.Context, c *cluster.Cluster, q ClusterUpRequest) (all []candidate, err error) {
	var lost []string
	nodes := slices.DeleteFunc(slices.Clone(c.Nodes), func(n cluster.Node) bool { return slices.Contains(q.Without, n.Name) })
	if len(nodes) == 0 {
		return nil, RequestError{fmt.Errorf("start cluster %s without all its members: none is left\nhint: ramaria cluster rm %[1]s", c.Name)}
	}
	whole := slices.DeleteFunc(slices.Clone(nodes), func(n cluster.Node) bool { return n.Stale })
	if len(whole) == 0 {
		e.note("warning: cluster %s goes back to what these members have, which it went on without", c.Name)
		whole = nodes
	}
	for _, n := range whole {
		x, err := e.candidate(ctx, n, q.AcceptLoss)
		if ctx.Err() != nil || err != nil && !levelOf(c.Spec).Durable() && !errors.Is(err, errNoData) && !errors.Is(err, instance.ErrNotFound) {
			return nil, err
		}
		if err != nil {
			e.note("member %s: %s", n.Name, oneLine(err))
			lost = append(lost, n.Name)
			continue
		}
		all = append(all, x)
	}
	switch {
	case len(all) == 0 && !levelOf(c.Spec).Durable():
		return nil, fmt.Errorf("start cluster %s: the data of all its members is gone with their volume, and none has an archive\nhint: ramaria cluster rm %[1]s, and ramaria cluster create %[1]s, which makes members durable unless it is told not to", c.Name)
	case len(lost) > 0 && (levelOf(c.Spec).Durable() || len(all) == 0):
		flags := ""
		for _, name := range lost {
			flags += " --without " + name
		}
		hint := "bring it back; "
		if levelOf(c.Spec).Durable() && !q.AcceptLoss {
			hint += fmt.Sprintf("ramaria cluster up %s --accept-loss goes on with what is left of its archive; ", c.Name)
		}
		return nil, fmt.Errorf("start cluster %s: what %s has cannot be read, and commits that were answered may be there alone\nhint: %sramaria cluster up %[1]s%[4]s goes on without it", c.Name, strings.Join(lost, " and "), hint, flags)
	}
	return all, nil
}

// candidate is one member with its data.
func (e *Engine) candidate(ctx context.Context, n cluster.Node, acceptLoss bool) (x candidate, err error) {
	lock, err := e.lockName(ctx, n.Name)
	if err != nil {
		return x, err
	}
	defer lock.Unlock()
	r, err := e.Registry.Get(n.Name)
	if err != nil {
		return x, err
	}
	state, err := r.State()
	if err != nil {
		return x, err
	}
	x.node = n
	switch {
	case !levelOf(r.Spec).Durable() && state.Phase == instance.Gone:
		return x, errNoData
	case !levelOf(r.Spec).Durable():
		x.Instance, err = e.Registry.Open(n.Name)
	case state.Phase == instance.Gone:
		if err := e.checkArchive(r, acceptLoss); err != nil {
			return x, err
		}
		x.Instance, err = e.recover(ctx, instance.Order{Name: n.Name, Spec: r.Spec}, acceptLoss)
	default:
		x.Instance, err = e.existingDurable(ctx, r, acceptLoss)
	}
	return x, err
}

// beginGalera has that member begin a Galera cluster whose log has the most: each log has a beginning of the same sequence.
func (e *Engine) beginGalera(ctx context.Context, c *cluster.Cluster, all []candidate) error {
	best := 0
	for i := range all {
		x := &all[i]
		gtids, err := e.gtidsOf(x.Instance)
		if err != nil {
			return err
		}
		x.number = gtids.Most(0)
		if x.number > all[best].number {
			best = i
		}
	}
	first := all[best]
	e.note("cluster %s begins with member %s, which has the most: transaction %d", c.Name, first.Name, first.number)
	c.Numbered = max(c.Numbered, first.number)
	if err := e.clusters().Put(c); err != nil {
		return err
	}
	if err := e.startAlone(ctx, first.Instance, instance.JoinsBegin); err != nil {
		return err
	}
	// It begins another history, which no other can join with what it has. Until this is written down, they would be refused.
	return e.markStale(c, true, others(c, first.Name)...)
}

// others are the members of a cluster but for one.
func others(c *cluster.Cluster, name string) (names []string) {
	for _, n := range c.Nodes {
		if n.Name != name {
			names = append(names, n.Name)
		}
	}
	return names
}

// gtidsOf is how far the log of an instance of MariaDB goes that does not run.
func (e *Engine) gtidsOf(i *instance.Instance) (binlog.GTIDs, error) {
	state, err := durable.LogState(i.DataDir())
	if errors.Is(err, durable.ErrNoLog) && levelOf(i.Spec).Durable() {
		m, rerr := durable.Read(e.archiveDir(i.Name, i.Spec))
		if rerr != nil {
			return nil, rerr
		}
		state, err = m.Last().GTIDState, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find what member %s has: %w", i.Name, err)
	}
	return binlog.ParseGTIDs(state)
}

// startAlone starts a member whose name is not locked.
func (e *Engine) startAlone(ctx context.Context, i *instance.Instance, joins string) error {
	lock, err := e.lockName(ctx, i.Name)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return e.startMember(ctx, i, joins, false)
}

// beginGroup has that member begin a group of MySQL that has the most, with what the others alone have. Only servers know what they have, so
// that all are started first, apart.
func (e *Engine) beginGroup(ctx context.Context, c *cluster.Cluster, all []candidate) error {
	for i := range all {
		x := &all[i]
		if err := e.startAlone(ctx, x.Instance, instance.JoinsApart); err != nil {
			return err
		}
		v, err := viewOf(ctx, x.Instance)
		if err != nil {
			return err
		}
		x.gtids = v.GTIDs
	}
	var sets []gtidSet
	for _, x := range all {
		sets = append(sets, gtidSet{x.Name, x.gtids})
	}
	best, lacks, err := mostOfGroup(ctx, all[0].Instance, sets)
	if err != nil {
		return err
	}
	first := all[best]
	e.note("cluster %s begins with member %s, which has the most: %s", c.Name, first.Name, first.gtids)
	if err := e.unite(ctx, c, first.Instance, lacks); err != nil {
		return err
	}
	if err := e.join(ctx, c, first.Instance, true); err != nil {
		return err
	}
	var left []string // none of the group that has begun
	for _, name := range others(c, first.Name) {
		if !slices.ContainsFunc(all, func(x candidate) bool { return x.Name == name }) {
			left = append(left, name)
		}
	}
	if err := e.markStale(c, true, left...); err != nil {
		return err
	}
	for i, x := range all {
		if i == best {
			continue
		}
		donor, err := e.describe(ctx, c, first.node)
		if err != nil {
			return err
		}
		can, err := canFollow(ctx, x.Instance, donor.purged)
		if err != nil {
			return err
		}
		if can {
			err = e.join(ctx, c, x.Instance, false)
		} else {
			err = e.copyMember(ctx, c, first.Name, x.node)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// canFollow reports whether a member that runs, apart, has all that is not in a donor's log any more.
func canFollow(ctx context.Context, i *instance.Instance, purged string) (can bool, err error) {
	err = asMember(ctx, i, func(ctx context.Context, db *sql.DB) error {
		var has string
		if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_executed").Scan(&has); err != nil {
			return err
		}
		missing, err := dbconn.GTIDsMissing(ctx, db, purged, has)
		can = missing == ""
		return err
	})
	return can, err
}

// join has a server that runs apart join its group, or begin it, and waits until it is in it.
func (e *Engine) join(ctx context.Context, c *cluster.Cluster, i *instance.Instance, begin bool) error {
	return asMember(ctx, i, func(ctx context.Context, db *sql.DB) error {
		if err := dbconn.JoinGroup(ctx, db, c.Group, c.Login, begin); err != nil {
			return fmt.Errorf("start member %s: %w\nhint: ramaria logs %[1]s", i.Name, err)
		}
		return dbconn.AwaitMember(ctx, i.Server.Dialect(), db)
	})
}
