package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// ReplicaRequest asks for a new instance, New, that follows the instance Of.
type ReplicaRequest struct {
	Of, New string
	// Volume is where it is to lie, with a size or without; "" is where its source lies.
	Volume string
	// Sync has commits at the source wait until the new instance has them.
	Sync bool
}

// AddReplica makes an instance that follows another, which must run, and starts it. Errors are those of
// client.Client.AddReplica.
func (e *Engine) AddReplica(ctx context.Context, q ReplicaRequest) (client.Branch, error) {
	if err := instance.CheckNew(q.New); err != nil {
		return client.Branch{}, RequestError{err}
	}
	of, err := e.Registry.Open(q.Of)
	if err != nil {
		return client.Branch{}, err
	}
	if q.New == q.Of {
		return client.Branch{}, fmt.Errorf("make replica %s: %w by the instance that is to be followed\nhint: ramaria replica add %[1]s NEW, where NEW is another name", q.New, instance.ErrTaken)
	}
	if q.Volume != "" { // made here: the supervisor may not be allowed to
		if _, err := e.openVolume(ctx, q.Volume); err != nil {
			return client.Branch{}, err
		}
	}
	c := client.New(of.APISocket())
	defer c.Close()
	b, err := c.AddReplica(ctx, client.ReplicaRequest{Name: q.New, Volume: q.Volume, Sync: q.Sync})
	if errors.Is(err, client.ErrNoServer) {
		return b, RequestError{fmt.Errorf("make a replica of instance %s: it does not run\nhint: ramaria up %[1]s", q.Of)}
	}
	return b, err
}

// refuseFollowed refuses to take data back that replicas have.
func (e *Engine) refuseFollowed(what, name string) error {
	list, err := e.Registry.Followers(name)
	if err != nil || len(list) == 0 {
		return errors.Join(err, e.refuseHandOver(what, name))
	}
	return RequestError{fmt.Errorf("%s of instance %s: instance %s follows it, and would have what is not there any more\nhint: ramaria replica rm %[3]s, or ramaria replica promote %[3]s", what, name, list[0].Name)}
}

// Promoted says what a replica was.
type Promoted struct {
	client.Promotion
	// SourceRuns says that the source still runs: what is written there is not here any more.
	SourceRuns bool
}

// PromotionRequest asks for a promotion.
type PromotionRequest struct {
	Name string
	client.PromoteRequest
}

// promoteSlow is after how long it is said what a promotion waits for.
const promoteSlow = 3 * time.Second

// PromoteReplica makes a replica an instance of its own.
func (e *Engine) PromoteReplica(ctx context.Context, q PromotionRequest) (out Promoted, err error) {
	name := q.Name
	i, err := e.replica("promote", name)
	if err != nil {
		return out, err
	}
	c := client.New(i.APISocket())
	defer c.Close()
	slow := time.AfterFunc(promoteSlow, func() {
		e.note("%s applies what it has received; a session that holds a lock there keeps it from that (SHOW PROCESSLIST); Ctrl-C leaves it as it was", name)
	})
	defer slow.Stop()
	out.Promotion, err = c.Promote(ctx, q.PromoteRequest)
	if errors.Is(err, client.ErrNoServer) {
		return out, fmt.Errorf("promote instance %s: it does not run\nhint: ramaria up %[1]s", name)
	}
	if err != nil {
		return out, err
	}
	if source, err := e.Registry.Open(out.Of); err == nil {
		st, err := source.State()
		out.SourceRuns = err == nil && st.Phase == instance.Running
	}
	return out, nil
}

// RemoveReplica stops a replica and removes it.
func (e *Engine) RemoveReplica(ctx context.Context, name string) error {
	i, err := e.replica("remove", name)
	if err != nil {
		return err
	}
	if err := e.Down(ctx, DownRequest{Name: name, Remove: true}); err != nil {
		return err
	}
	if at := i.Source; at != nil && i.Spec.Replica.IsRemote() {
		e.note("its account stays at %s: DROP USER IF EXISTS '%s'@'%s'", i.Spec.Replica.Of, at.Login.User, at.SeenFrom)
	}
	return nil
}

// replica returns an instance that is one.
func (e *Engine) replica(what, name string) (*instance.Instance, error) {
	i, err := e.Registry.Open(name)
	if err != nil {
		return nil, err
	}
	if i.Spec.Replica == nil {
		return nil, RequestError{fmt.Errorf("%s replica %s: instance %[2]s follows no other\nhint: ramaria ls shows which do", what, name)}
	}
	return i, nil
}
