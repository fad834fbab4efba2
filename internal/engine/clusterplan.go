package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/selfsigned"
	"github.com/ramaria-db/ramaria/internal/server"
)

// checkCluster refuses what members cannot be.
func checkCluster(q ClusterRequest) error {
	if q.Here != "" && q.Nodes != 1 {
		return fmt.Errorf("make a cluster of %d members with --address: it begins with one, and other machines join it\nhint: leave --nodes out; ramaria cluster invite %s, then ramaria cluster join there", q.Nodes, q.Name)
	}
	if q.Here == "" && (q.Nodes < cluster.LeastNodes || q.Nodes > cluster.MostNodes) {
		return fmt.Errorf("make a cluster of %d members: it has %d to %d\nhint: --nodes 3 goes on when one is lost; of two, neither could", q.Nodes, cluster.LeastNodes, cluster.MostNodes)
	}
	if len(q.Name) > instance.MaxName-len("-1") {
		return fmt.Errorf("use cluster name %q: it has at most %d characters\nhint: ramaria cluster create shop", q.Name, instance.MaxName-len("-1"))
	}
	if err := networkable(q); err != nil {
		return err
	}
	s := q.Spec
	if _, given := server.Setting(s.Set, "bind_address"); given {
		return fmt.Errorf("make cluster %s with --set bind_address: where members listen is the cluster's to say\nhint: --address ADDRESS makes one that other machines reach", q.Name)
	}
	for flag, given := range map[string]bool{
		"port": s.Port != 0, "socket": s.Socket != "", "front": s.Front != 0, "api-listen": s.APIListen != "" && s.APIListen != instance.APIListenOff,
		"log off": s.Log == instance.LogOff, "archive": len(s.Archive) > 0, "when-full move": s.WhenFull == instance.WhenFullMove, "tmpdir": s.TmpDir != "" && !instance.IsOwnTmpDir(s.TmpDir),
	} {
		if given {
			return fmt.Errorf("make cluster %s with --%s: each member has its own\nhint: leave it out", q.Name, flag)
		}
	}
	return nil
}

// planCluster says what a cluster is to be. Nothing is made yet.
func (e *Engine) planCluster(ctx context.Context, q ClusterRequest) (*cluster.Cluster, error) {
	if q.Here != "" {
		if err := checkHere(ctx, q.Name, q.Here); err != nil {
			return nil, err
		}
	}
	for n := 1; n <= q.Nodes; n++ {
		if err := e.checkNewMember(q.Name, cluster.NodeName(q.Name, n), q.Spec); err != nil {
			return nil, err
		}
	}
	software, err := e.software(q.Spec)
	if err != nil {
		return nil, err
	}
	srv, err := e.Finder().Find(ctx, software)
	if err != nil {
		return nil, err
	}
	if _, err := srv.Provider(); err != nil {
		return nil, err
	}
	if err := srv.CheckMemberSet(q.Spec.Set); err != nil {
		return nil, RequestError{err}
	}
	c := &cluster.Cluster{Name: q.Name, Flavour: srv.Flavour, Group: cluster.NewGroup(), Created: time.Now().Truncate(time.Second), Spec: q.Spec}
	c.Spec.Server, c.Spec.Cluster = software, q.Name
	c.Login = dbconn.Login{User: dbconn.ClusterUser, Password: dbconn.NewPassword()}
	if c.App, err = login(q.Spec); err != nil {
		return nil, err
	}
	cert, err := selfsigned.New("ramaria cluster " + q.Name)
	if err != nil {
		return nil, err
	}
	if c.Cert, c.Key, err = selfsigned.Text(cert); err != nil {
		return nil, err
	}
	if q.OwnAddresses {
		return c, e.planNetwork(ctx, c, q.Nodes)
	}
	if q.Here == "" {
		c.Nodes, err = planNodes(ctx, q, srv.Flavour)
		return c, err
	}
	c.Here, c.Revision = q.Here, 1
	n, err := planFarNode(ctx, q.Name, 1, srv.Flavour, q.Here)
	c.Nodes = []cluster.Node{n}
	return c, err
}

// checkNewMember refuses the name of a member that something has already.
func (e *Engine) checkNewMember(clusterName, name string, spec instance.Spec) error {
	if err := instance.CheckNew(name); err != nil {
		return RequestError{err}
	}
	if _, err := e.Registry.Get(name); !errors.Is(err, instance.ErrNotFound) {
		return errors.Join(instance.TakenError(name), err)
	}
	if dir := e.defaultArchive(name); levelOf(spec).Durable() && durable.Exists(dir) {
		return RequestError{fmt.Errorf("make cluster %s: %s holds the archive of an earlier instance %s\nhint: ramaria restore %[2]s --as NAME brings that back; rm -r %[2]s loses it, and makes room", clusterName, dir, name)}
	}
	return nil
}

// planNodes gives members their names and ports.
func planNodes(ctx context.Context, q ClusterRequest, flavour server.Flavour) (nodes []cluster.Node, err error) {
	var taken []int
	port := func() int {
		for {
			p, perr := server.FreeMemberPort(ctx, server.Loopback)
			if err = errors.Join(err, perr); err != nil || !slices.Contains(taken, p) {
				taken = append(taken, p)
				return p
			}
		}
	}
	for n := 1; n <= q.Nodes; n++ {
		node := cluster.Node{Name: cluster.NodeName(q.Name, n), Host: server.Loopback, Port: port()}
		if flavour == server.MariaDB {
			node.MemberPorts = server.MemberPorts{Group: port(), Transfer: port(), State: port()}
		}
		nodes = append(nodes, node)
	}
	return nodes, err
}

// memberSpec is what a member is made of.
func memberSpec(c *cluster.Cluster, n cluster.Node) instance.Spec {
	spec := c.Spec
	spec.Cluster, spec.Port = c.Name, n.Port
	if n.Host != server.Loopback {
		spec.Set = withBind(spec.Set, n.Host)
	}
	return spec
}

// withBind returns settings with which a server listens at an address.
func withBind(set map[string]string, host string) map[string]string {
	set = maps.Clone(set)
	if set == nil {
		set = map[string]string{}
	}
	set["bind_address"] = host
	return set
}
