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
	if err := e.awaitForgotten(ctx, c, n); err != nil {
		return err
	}
	return e.join(ctx, c, i, false)
}

// notLetIn reports whether a group of MySQL did not take a server in time, as where its members changed meanwhile.
func notLetIn(err error) bool { return strings.Contains(err.Error(), "Error 3092 ") }

// forgetPatience is how long a group is given to throw out what a member was before it died, and forgetQuiet after how much of
// that it is said.
const forgetPatience, forgetQuiet = 2 * time.Minute, 5 * time.Second

// errDonorLost says that the members that one would join do not reach each other any more.
var errDonorLost = errors.New("the others do not reach each other any more")

// unclear reports whether it is not known what a member is.
func unclear(m MemberListing) bool { return m.Silent || m.Phase == PhaseUnreached }

// awaitForgotten waits until a group of MySQL has thrown out what a member was before it died: until then it is turned away, and
// does not get in by itself later. To throw it out, most of the others have to reach each other.
func (e *Engine) awaitForgotten(ctx context.Context, c *cluster.Cluster, n cluster.Node) error {
	if galera(c) {
		return nil
	}
	said, lost := false, 0
	for began := time.Now(); ; {
		l, err := e.listCluster(ctx, c)
		if err != nil {
			return err
		}
		donor := l.donor(n.Name)
		gone := donor == "" || l.parted
		if lost++; !gone || slices.ContainsFunc(l.Members, unclear) {
			lost = 0
		}
		switch took := time.Since(began); {
		case lost > 2 || gone && took > forgetPatience: // what two said at two moments may not agree
			return fmt.Errorf("have member %s join cluster %s: %w\nhint: ramaria cluster up %[2]s", n.Name, c.Name, errDonorLost)
		case gone:
		case !slices.Contains(l.member(donor).listed, n.Address()):
			return nil
		case took > forgetPatience:
			return fmt.Errorf("have member %s join cluster %s: after %s the others still count it as a member that they do not reach\nhint: ramaria logs %s; ramaria cluster up %[2]s tries again", n.Name, c.Name, forgetPatience, donor)
		case took > forgetQuiet && !said:
			said = true
			e.note("member %s waits until the others count it no more as a member that they do not reach", n.Name)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settlePause):
		}
	}
}

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
	return notGiven(err)
}

// notGiven reports whether a server of Galera ended since no other gave it what it lacks.
func notGiven(err error) bool {
	return slices.ContainsFunc([]string{"SST request callback failed", "Receiving IST failed", "wsrep_sst_" + server.SSTMethod, "State transfer request failed", "Will never receive state", "Reversing history", "Inconsistency detected"}, func(words string) bool {
		return strings.Contains(err.Error(), words)
	})
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
