package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// ClusterRequest asks for a new cluster.
type ClusterRequest struct {
	Name string
	// Nodes is how many members it is to have, and Spec what these are made of.
	Nodes int
	Spec  instance.Spec
	// Here is the address at which other machines are to reach this one: the cluster begins with one member, and they join
	// it. "" is a cluster on this machine.
	Here string
	// OwnAddresses gives each an address of its own, in a network namespace of this machine.
	OwnAddresses bool
	// Stdin is read for the source "-".
	Stdin io.Reader
}

// clusters has the clusters of this user.
func (e *Engine) clusters() cluster.Store {
	return cluster.Store{Dir: filepath.Join(e.Places.State, "clusters"), Programs: filepath.Join(e.Places.Cache, "clusters"), UID: e.UID}
}

// lockCluster locks the name of a cluster, and tells if that takes waiting.
func (e *Engine) lockCluster(ctx context.Context, name string) (*sys.FileLock, error) {
	return e.clusters().Lock(ctx, name, func() { e.note("waiting: another command is at work on cluster %s", name) })
}

// CreateCluster makes a cluster and starts it. When it fails nothing is left.
func (e *Engine) CreateCluster(ctx context.Context, q ClusterRequest) (_ *cluster.Cluster, err error) {
	if err := checkCluster(q); err != nil {
		return nil, RequestError{err}
	}
	lock, err := e.lockCluster(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.UnlockRemove())
			return
		}
		err = lock.Unlock()
	}()
	switch old, err := e.clusters().Get(q.Name); {
	case errors.Is(err, cluster.ErrNotFound):
	case err != nil:
		return nil, err
	case old.Removing:
		return nil, RequestError{fmt.Errorf("make cluster %s: one of that name is removed half way\nhint: ramaria cluster rm %[1]s", q.Name)}
	case old.Made:
		return nil, RequestError{fmt.Errorf("make cluster %s: there is one\nhint: ramaria cluster up %[1]s starts it; ramaria cluster rm %[1]s removes it", q.Name)}
	default: // a command was killed that made it
		e.note("cluster %s was not made whole: it is made again, and what was written to it is lost", q.Name)
		if err := e.removeCluster(ctx, old, true); err != nil {
			return nil, err
		}
	}
	c, err := e.planCluster(ctx, q)
	if err != nil {
		return nil, err
	}
	if err := e.clusters().Put(c); err != nil {
		return nil, err
	}
	if err := e.makeCluster(ctx, c, q.Stdin); err != nil {
		return nil, errors.Join(err, e.removeCluster(context.WithoutCancel(ctx), c, true))
	}
	c.Made = true
	if c.Far() {
		e.note("firewalls have to let the other machines reach %s at tcp %s\nhint: ramaria cluster invite %s FILE", c.Here, portList(c.Nodes[0]), c.Name)
	}
	return c, e.clusters().Put(c)
}

// makeCluster makes the first member, which begins the cluster, and the others as copies of it.
func (e *Engine) makeCluster(ctx context.Context, c *cluster.Cluster, stdin io.Reader) error {
	if err := openNetwork(ctx, c); err != nil {
		return err
	}
	first := c.Nodes[0]
	if err := e.makeFirst(ctx, c, first, stdin); err != nil {
		return err
	}
	for _, n := range c.Nodes[1:] {
		if err := e.copyMember(ctx, c, first.Name, n); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) makeFirst(ctx context.Context, c *cluster.Cluster, n cluster.Node, stdin io.Reader) error {
	lock, err := e.lockName(ctx, n.Name)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	i, err := e.create(ctx, nil, instance.Order{Name: n.Name, Spec: memberSpec(c, n), App: c.App}, stdin)
	if err != nil {
		return err
	}
	return e.startMember(ctx, i, instance.JoinsBegin, true)
}

// startMember starts the server of a member whose name is locked.
func (e *Engine) startMember(ctx context.Context, i *instance.Instance, joins string, created bool) error {
	i.Joins = joins
	if err := i.Save(); err != nil {
		return err
	}
	return e.start(ctx, i, created)
}

// copyMember makes a member a copy of another one that runs, and has it join. What it was before goes; its archive goes on
// with what it is then. It is copied once more if it was not given what the cluster did meanwhile: a donor of Galera whose
// joiner leaves may turn away the next one, too.
func (e *Engine) copyMember(ctx context.Context, c *cluster.Cluster, donor string, n cluster.Node) error {
	err := e.copyMemberOnce(ctx, c, donor, n)
	if err != nil && ctx.Err() == nil && notGiven(err) {
		e.note("member %s was not given the rest, and is copied again: %s", n.Name, oneLine(err))
		err = e.copyMemberOnce(ctx, c, donor, n)
	}
	return err
}

func (e *Engine) copyMemberOnce(ctx context.Context, c *cluster.Cluster, donor string, n cluster.Node) error {
	began := time.Now()
	lock, err := e.lockName(ctx, n.Name)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	// Until it has the other's data, what it has is none of the cluster's, whoever is killed meanwhile.
	c.Has = 0
	if err := e.markStale(c, true, n.Name); err != nil {
		return err
	}
	r, err := e.Registry.Get(n.Name)
	if err == nil {
		err = e.clear(ctx, r)
	}
	if err != nil && !errors.Is(err, instance.ErrNotFound) {
		return err
	}
	i, err := e.copyData(ctx, c, donor, n)
	if err != nil {
		return fmt.Errorf("make member %s of cluster %s: %w", n.Name, c.Name, err)
	}
	if err := e.beginArchive(ctx, i, nil); err != nil {
		return e.unmake(ctx, i, err)
	}
	if err := e.markStale(c, false, n.Name); err != nil { // before it is written to
		return err
	}
	if err := e.awaitForgotten(ctx, c, n); err != nil {
		return err
	}
	if err := e.startMember(ctx, i, "", false); err != nil {
		return err
	}
	e.note("member %s: a copy of %s, joined after %s", n.Name, donor, time.Since(began).Round(10*time.Millisecond))
	return nil
}

// copyData makes the instance of a member from the data that another one has now.
func (e *Engine) copyData(ctx context.Context, c *cluster.Cluster, donor string, n cluster.Node) (i *instance.Instance, err error) {
	if d, _ := c.Node(donor); !c.Local(d) {
		return e.receiveMember(ctx, c, d, n)
	}
	from, err := e.Registry.Open(donor)
	if err != nil {
		return nil, err
	}
	spec := memberSpec(c, n)
	v, err := e.openVolume(ctx, spec.Volume)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(e.sweep(ctx, v), e.sweepTempMarks(ctx)); err != nil {
		return nil, err
	}
	err = e.withInstanceData(ctx, donor, func(data image.InstanceData) error {
		size, err := sys.DiskUsage(data.Dir)
		if err != nil {
			return err
		}
		made := from.Made
		made.Origin = "copy of " + donor
		order := instance.Order{Name: n.Name, Spec: spec, Server: data.Server, App: c.App}
		i, err = e.instances(v).Restore(ctx, order, made, size, func(ctx context.Context, i *instance.Instance) error {
			return v.Clone(ctx, data.Dir, i.DataDir())
		})
		return err
	})
	return i, err
}

// RemoveCluster removes a cluster with all its members, and with their archives if archives is true.
func (e *Engine) RemoveCluster(ctx context.Context, name string, archives bool) error {
	lock, err := e.lockCluster(ctx, name)
	if err != nil {
		return err
	}
	c, err := e.clusters().Get(name)
	if errors.Is(err, cluster.ErrNotFound) {
		return errors.Join(err, lock.UnlockRemove())
	}
	if err == nil {
		c.Removing = true
		err = e.clusters().Put(c)
	}
	if err == nil {
		err = e.leave(ctx, c, archives, true)
	}
	if err != nil {
		return errors.Join(err, lock.Unlock())
	}
	return lock.UnlockRemove()
}

func (e *Engine) removeCluster(ctx context.Context, c *cluster.Cluster, archives bool) error {
	for _, n := range c.LocalNodes() {
		r, err := e.Registry.Get(n.Name)
		if dir := e.defaultArchive(n.Name); errors.Is(err, instance.ErrNotFound) && archives && durable.Exists(dir) { // of one that came to nothing
			if err := durable.Remove(ctx, dir); err != nil {
				return err
			}
		}
		if errors.Is(err, instance.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if r.Spec.Cluster != c.Name { // it is none of this cluster's
			continue
		}
		if c.Far() { // one that is killed counts for a while as a member that may come back, and the others could lose their quorum
			if err := e.down(ctx, DownRequest{Name: n.Name}); err != nil {
				return err
			}
		}
		if err := e.down(ctx, DownRequest{Name: n.Name, Remove: true, Archive: archives}); err != nil {
			return err
		}
	}
	if err := closeNetwork(ctx, c); err != nil {
		return err
	}
	return e.clusters().Delete(c.Name)
}

// memberDB is a connection to the server of a member that runs.
func memberDB(i *instance.Instance) (*sql.DB, error) {
	return dbconn.Open(i.Socket(), i.Supervisor, "")
}

// asMember calls do with a connection to the server of a member that runs, and gives up where that server answers nobody for
// settlePatience: what do waits for may take any time, but not of a server that hangs.
func asMember(ctx context.Context, i *instance.Instance, do func(context.Context, *sql.DB) error) (err error) {
	db, err := memberDB(i)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	silent := fmt.Errorf("start member %s: its server runs, and has answered nothing for %s\nhint: ramaria logs %[1]s; ramaria down %[1]s ends it", i.Name, settlePatience)
	var watch sync.WaitGroup
	watch.Go(func() {
		for heard := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(settlePause):
			}
			if answers(ctx, i) {
				heard = time.Now()
			} else if time.Since(heard) > settlePatience {
				cancel(silent)
				return
			}
		}
	})
	err = do(ctx, db)
	if err != nil && context.Cause(ctx) == silent { //nolint:errorlint // it is this one
		err = silent
	}
	cancel(nil)
	watch.Wait()
	return err
}

// answers reports whether the server of a member lets somebody in and answers.
func answers(ctx context.Context, i *instance.Instance) bool {
	ctx, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	db, err := memberDB(i)
	if err != nil {
		return false
	}
	defer db.Close()
	return db.PingContext(ctx) == nil
}

// viewTimeout is how long a member may take to say what it sees of its cluster.
const viewTimeout = 3 * time.Second

// viewOf asks a member that runs.
func viewOf(ctx context.Context, i *instance.Instance) (v dbconn.ClusterView, err error) {
	ctx, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	db, err := memberDB(i)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return i.Server.Dialect().ClusterView(ctx, db)
}

// refuseMember refuses what would be done to a member alone.
func (e *Engine) refuseMember(what string, r *instance.Record, hint string) error {
	if r.Spec.Cluster == "" {
		return nil
	}
	return RequestError{fmt.Errorf("%s instance %s: it is a member of cluster %s\nhint: %s", what, r.Name, r.Spec.Cluster, hint)}
}

// refuseMemberNamed is refuseMember of what can be done to a branch of the member instead.
func (e *Engine) refuseMemberNamed(what, name string) error {
	r, err := e.Registry.Get(name)
	if err != nil {
		return nil //nolint:nilerr // whoever goes on says it
	}
	return e.refuseMember(what, r, fmt.Sprintf("ramaria branch %s NAME makes an instance of its own", name))
}

// hasCluster reports whether there is a cluster of a name: members whose cluster is not there are as other instances.
func (e *Engine) hasCluster(name string) bool {
	_, err := e.clusters().Get(name)
	return !errors.Is(err, cluster.ErrNotFound) && !errors.Is(err, instance.ErrName)
}
