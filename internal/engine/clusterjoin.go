package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// JoinRequest asks for a member on this machine of a cluster that another machine has.
type JoinRequest struct {
	// Address is that of the door of a member, and Invitation the cluster's.
	Address    string
	Invitation cluster.Invitation
	// Here is the address at which the other machines reach this one; "" for the one from which this one reaches Address.
	Here string
	// Volume is what the member's data is to lie in, and Server its software; "" for the usual ones.
	Volume, Server string
}

// Ports that members with addresses of their own take if they are free, so that firewalls can know them: those of the servers'
// manuals, and the next one for the door.
const (
	serverPort   = 3306
	groupPort    = 4567
	transferPort = 4568
	statePort    = 4444
	doorPort     = 4569
)

// JoinCluster makes a member on this machine of a cluster that another one has. When it fails nothing is left.
func (e *Engine) JoinCluster(ctx context.Context, q JoinRequest) (_ *cluster.Cluster, err error) {
	name := q.Invitation.Name
	if _, _, err := net.SplitHostPort(q.Address); err != nil {
		q.Address = net.JoinHostPort(q.Address, strconv.Itoa(doorPort))
	}
	lock, err := e.lockCluster(ctx, name)
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
	switch old, err := e.clusters().Get(name); {
	case errors.Is(err, cluster.ErrNotFound):
	case err != nil:
		return nil, err
	case old.Removing:
		return nil, RequestError{fmt.Errorf("join cluster %s: this machine's member is removed half way\nhint: ramaria cluster rm %[1]s", name)}
	case old.Made, !old.Far():
		return nil, RequestError{fmt.Errorf("join cluster %s: this machine has a cluster of that name\nhint: ramaria cluster status %[1]s", name)}
	default: // a command was killed that joined
		if err := e.leave(ctx, old, true, false); err != nil {
			return nil, err
		}
	}
	asked := &cluster.Cluster{Name: name, Cert: q.Invitation.Cert, Key: q.Invitation.Key}
	donor, err := e.askMember(ctx, asked, q.Address)
	if err != nil {
		return nil, fmt.Errorf("join cluster %s: %w\nhint: ramaria cluster status %[1]s at the other machine says whether its member runs, and at which ports it must be reached", name, err)
	}
	c, n, err := e.planJoin(ctx, q, donor)
	if err != nil {
		return nil, err
	}
	if err := e.clusters().Put(c); err != nil {
		return nil, err
	}
	if err := e.makeJoiner(ctx, c, donor.Name, n); err != nil {
		if ctx.Err() == nil && !strings.Contains(err.Error(), "\nhint: ") {
			err = fmt.Errorf("%w\nhint: nothing is left of it here; ramaria cluster status %s at another machine says whether its members are whole", err, name)
		}
		return nil, errors.Join(err, e.leave(context.WithoutCancel(ctx), c, true, false))
	}
	n.Joining, c.Made = false, true
	joined := cluster.Change{Add: &n}
	if err := c.Apply(joined); err != nil {
		return nil, err
	}
	if err := e.clusters().Put(c); err != nil {
		return nil, err
	}
	return c, e.tellNodes(ctx, c, joined, func(o cluster.Node, err error) {
		e.note("member %s does not know yet that %s has joined: %s", o.Name, n.Name, oneLine(err)) // it will ask
	})
}

// makeJoiner has all others know of a new member, and makes it.
func (e *Engine) makeJoiner(ctx context.Context, c *cluster.Cluster, donor string, n cluster.Node) error {
	if err := e.tellNodes(ctx, c, cluster.Change{Add: &n}, nil); err != nil && strings.Contains(err.Error(), cluster.ErrTaken.Error()) {
		return fmt.Errorf("join cluster %s: %w\nhint: again when it has", c.Name, err)
	} else if err != nil {
		return fmt.Errorf("join cluster %s: %w\nhint: all its members are to be reached while one joins: ramaria cluster status %[1]s at another machine; ramaria cluster up %[1]s --without MEMBER there takes out one that is lost for good", c.Name, err)
	}
	e.note("cluster %s has %d members now; firewalls have to let these machines reach %s at tcp %s", c.Name, len(c.Nodes), n.Host, portList(n))
	if len(c.Nodes) < cluster.LeastNodes {
		e.note("of two members neither goes on without the other: a third machine is needed")
	}
	return e.copyMember(ctx, c, donor, n)
}

// portList is how a firewall is told of a member's ports.
func portList(n cluster.Node) string {
	var list []string
	for _, p := range n.Ports() {
		list = append(list, strconv.Itoa(p))
	}
	return strings.Join(list, ",")
}

// tellNodes tells the other machines of a change of who the members are. untold is called with those that are not reached, or
// refuse; without it the first of them ends it.
func (e *Engine) tellNodes(ctx context.Context, c *cluster.Cluster, change cluster.Change, untold func(cluster.Node, error)) error {
	for _, n := range c.Nodes {
		if c.Local(n) {
			continue
		}
		err := c.Ask(ctx, n.DoorAddress(), http.MethodPut, cluster.PathNodes, change, nil)
		switch {
		case err == nil:
		case untold == nil:
			return fmt.Errorf("tell member %s of it: %w", n.Name, err)
		default:
			untold(n, err)
		}
	}
	return nil
}

// planJoin says what this machine's member is to be. Nothing is made yet.
func (e *Engine) planJoin(ctx context.Context, q JoinRequest, donor *farMember) (*cluster.Cluster, cluster.Node, error) {
	var n cluster.Node
	if !donor.Online {
		return nil, n, RequestError{fmt.Errorf("join cluster %s: member %s is not in it at the moment: %s\nhint: ramaria cluster up %[1]s there", q.Invitation.Name, donor.Name, donor.State)}
	}
	here := q.Here
	if here == "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "udp", q.Address) // which sends nothing
		if err != nil {
			return nil, n, err
		}
		here = conn.LocalAddr().(*net.UDPAddr).IP.String()
		if err := conn.Close(); err != nil {
			return nil, n, err
		}
	}
	if ip := net.ParseIP(here); ip != nil {
		here = ip.String()
	}
	c := donor.Cluster
	c.Cert, c.Key, c.Here = q.Invitation.Cert, q.Invitation.Key, here
	if err := checkHere(ctx, c.Name, here); err != nil {
		return nil, n, err
	}
	// What is the other machine's alone is left out.
	s := c.Spec
	c.Spec = instance.Spec{
		Database: s.Database, User: s.User, Set: s.Set, Durable: s.Durable, RecoverWithin: s.RecoverWithin, History: s.History, WhenFull: s.WhenFull,
		Cluster: c.Name, Volume: q.Volume,
	}
	c.Has, c.Made, c.Removing, c.Network = 0, false, false, nil
	for _, o := range c.Nodes {
		if o.Joining && !c.Local(o) {
			return nil, n, RequestError{fmt.Errorf("join cluster %s: member %s joins at this moment, at %s\nhint: again when it has; where its command was killed, again there; ramaria cluster up %[1]s --without %[2]s at a machine whose member is in it takes out one that is lost for good", c.Name, o.Name, o.Host)}
		}
	}
	// A path is one of the other machine.
	if c.Spec.Server = q.Server; q.Server == "" {
		c.Spec.Server = fmt.Sprintf("%s:%s", c.Flavour, donor.version.Series())
	}
	known := slices.IndexFunc(c.Nodes, c.Local)
	switch {
	case known >= 0: // a machine that has lost what it had, or did not come to an end with it
		n = c.Nodes[known]
		if _, err := e.askMember(ctx, c, n.DoorAddress()); err == nil {
			return nil, n, RequestError{fmt.Errorf("join cluster %s at %s: its member %s is there, of another user or another home\nhint: one machine has one member; --address takes another address of this machine", c.Name, here, n.Name)}
		}
	case len(c.Nodes) >= cluster.MostNodes:
		return nil, n, RequestError{fmt.Errorf("join cluster %s: it has %d members, and no cluster has more", c.Name, len(c.Nodes))}
	default:
		var err error
		if n, err = planFarNode(ctx, c.Name, c.NextNumber(), c.Flavour, here); err != nil {
			return nil, n, err
		}
		n.Joining = true
		c.Nodes = append(c.Nodes, n)
	}
	c.Revision++
	if err := e.checkNewMember(c.Name, n.Name, c.Spec); err != nil {
		return nil, n, err
	}
	srv, err := e.Finder().Find(ctx, c.Spec.Server)
	if err != nil {
		return nil, n, err
	}
	if _, err := srv.Provider(); err != nil {
		return nil, n, err
	}
	c.Spec.Set = srv.MemberSet(c.Spec.Set)
	if err := checkCluster(ClusterRequest{Name: c.Name, Nodes: 1, Spec: c.Spec, Here: here}); err != nil {
		return nil, n, RequestError{err}
	}
	if srv.Flavour != c.Flavour || srv.Version.Series() != donor.version.Series() || srv.Version.Compare(donor.version) < 0 {
		return nil, n, RequestError{fmt.Errorf("join cluster %s: its members run %s %s, and this machine has %s\nhint: the same series is needed, and none that is older", c.Name, c.Flavour, donor.version, srv.Name())}
	}
	return c, n, nil
}

// checkHere refuses an address at which other machines cannot reach this one.
func checkHere(ctx context.Context, name, here string) error {
	ip := net.ParseIP(here)
	if ip == nil || ip.IsUnspecified() || ip.IsLoopback() {
		return RequestError{fmt.Errorf("have other machines reach cluster %s at %q: it is to be an IP address of this machine, and not of loopback\nhint: ip -brief address shows them", name, here)}
	}
	if _, err := server.FreePort(ctx, here); err != nil {
		return RequestError{fmt.Errorf("have other machines reach cluster %s at %s: %w\nhint: ip -brief address shows the addresses of this machine", name, here, err)}
	}
	return nil
}

// planFarNode gives the member of a machine its name, and ports at an address.
func planFarNode(ctx context.Context, name string, number int, flavour server.Flavour, here string) (n cluster.Node, err error) {
	port := func(usual int) int {
		if server.TryPort(ctx, here, usual) == nil {
			return usual
		}
		p, perr := server.FreeMemberPort(ctx, here)
		err = errors.Join(err, perr)
		return p
	}
	n = cluster.Node{Name: cluster.NodeName(name, number), Host: here, Port: port(serverPort), Door: port(doorPort)}
	if flavour == server.MariaDB {
		n.MemberPorts = server.MemberPorts{Group: port(groupPort), Transfer: port(transferPort), State: port(statePort)}
	}
	return n, err
}

// receiveMember makes the instance of a member from the data that one on another machine has now.
func (e *Engine) receiveMember(ctx context.Context, c *cluster.Cluster, donor, n cluster.Node) (*instance.Instance, error) {
	spec := memberSpec(c, n)
	v, err := e.openVolume(ctx, spec.Volume)
	if err != nil {
		return nil, err
	}
	srv, err := e.Finder().Find(ctx, spec.Server)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(e.sweep(ctx, v), e.sweepTempMarks(ctx)); err != nil {
		return nil, err
	}
	body, err := c.Data(ctx, donor.DoorAddress())
	if err != nil {
		return nil, err
	}
	r, err := image.Receive(ctx, body, donor.DoorAddress())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	made := instance.Made{PageSize: r.PageSize, Origin: r.Origin}
	made.Endpoint.Database = r.Database
	order := instance.Order{Name: n.Name, Spec: spec, Server: srv, App: c.App}
	return e.instances(v).Restore(ctx, order, made, r.Size, func(_ context.Context, i *instance.Instance) error {
		return r.Unpack(i.DataDir(), i.Account)
	})
}

// leave removes this machine's member, and has the others know that; said tells of those that do not.
func (e *Engine) leave(ctx context.Context, c *cluster.Cluster, archives, said bool) error {
	own := c.LocalNodes()
	if err := e.removeCluster(ctx, c, archives); err != nil || !c.Far() {
		return err
	}
	return e.tellNodes(ctx, c, cluster.Change{Remove: own}, func(n cluster.Node, err error) {
		if !said { // it may not have heard of it at all
			return
		}
		e.note("warning: member %s does not know yet that %s has left: %s\nhint: ramaria cluster up %s --without %[2]s there", n.Name, own[0].Name, oneLine(err), c.Name)
	})
}

// InviteToCluster returns what another machine needs to join a cluster, and the address at which it can ask.
func (e *Engine) InviteToCluster(name string) (cluster.Invitation, string, error) {
	c, err := e.clusters().Get(name)
	if err != nil {
		return cluster.Invitation{}, "", err
	}
	if !c.Made || c.Removing {
		return cluster.Invitation{}, "", RequestError{fmt.Errorf("invite to cluster %s: it was not made whole, or is removed half way\nhint: ramaria cluster status %[1]s", name)}
	}
	if !c.Far() {
		return cluster.Invitation{}, "", RequestError{fmt.Errorf("invite to cluster %s: all its members are on this machine, at %s\nhint: ramaria cluster create NAME --address ADDRESS makes one that other machines can join", name, server.Loopback)}
	}
	return c.Invitation(), c.LocalNodes()[0].DoorAddress(), nil
}
