package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/network"
	"github.com/ramaria-db/ramaria/internal/server"
)

// networkable refuses members with addresses of their own where there can be none.
func networkable(q ClusterRequest) error {
	if !q.OwnAddresses {
		return nil
	}
	if q.Here != "" {
		return fmt.Errorf("make cluster %s with --netns and --address: the first is for one machine, the second for several\nhint: leave one out", q.Name)
	}
	return network.Usable()
}

// planNetwork gives a cluster a network of its own, and its members addresses in it.
func (e *Engine) planNetwork(ctx context.Context, c *cluster.Cluster, nodes int) (err error) {
	all, err := e.clusters().List()
	if err != nil {
		return err
	}
	var taken []netip.Prefix // by clusters whose networks are not made again yet since the machine booted
	for _, other := range all {
		if other.Network != nil {
			taken = append(taken, other.Network.Subnet)
		}
	}
	for n := 1; n <= nodes; n++ {
		node := cluster.Node{Name: cluster.NodeName(c.Name, n), Port: serverPort}
		if galera(c) {
			node.MemberPorts = server.MemberPorts{Group: groupPort, Transfer: transferPort, State: statePort}
		}
		c.Nodes = append(c.Nodes, node)
	}
	if c.Network, err = network.Plan(ctx, e.Places.State+" "+c.Name, taken, nodeNames(c)...); err != nil {
		return RequestError{err}
	}
	for i := range c.Nodes {
		c.Nodes[i].Host = c.Network.Host(i)
	}
	return nil
}

func nodeNames(c *cluster.Cluster) []string { return others(c, "") }

// endParted stops members that run in a network namespace whose name was removed: what is made anew under that name is
// another one, and takes their addresses.
func (e *Engine) endParted(ctx context.Context, c *cluster.Cluster) error {
	if c.Network == nil {
		return nil
	}
	for _, n := range c.Nodes {
		r, err := e.Registry.Get(n.Name)
		if errors.Is(err, instance.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		state, err := r.State()
		if err != nil {
			return err
		}
		if !state.Phase.Alive() || network.Exists(n.Name) {
			continue
		}
		e.note("member %s runs in a network namespace whose name was removed: stopping it", n.Name)
		if err := e.down(ctx, DownRequest{Name: n.Name}); err != nil {
			return err
		}
	}
	return nil
}

// openNetwork makes what is not there of the network of a cluster that has one of its own, as after a boot.
func openNetwork(ctx context.Context, c *cluster.Cluster) error {
	if c.Network == nil {
		return nil
	}
	return c.Network.Make(ctx, nodeNames(c)...)
}

// closeNetwork removes it.
func closeNetwork(ctx context.Context, c *cluster.Cluster) error {
	if c.Network == nil {
		return nil
	}
	return c.Network.Remove(ctx, nodeNames(c)...)
}
