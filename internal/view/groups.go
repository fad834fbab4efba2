package view

import (
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// What a Group is.
const (
	Cluster  = "cluster"
	Replicas = "replicas"
)

// Roles of an instance in a Group: those of a cluster's members as client.Membership has them, and of others.
const (
	RolePrimary = "primary"
	RoleSource  = "source"
	RoleReplica = "replica"
)

// Group is a cluster, or an instance with those that follow it.
type Group struct {
	// Name is that of the cluster, or of the instance that the others follow.
	Name string `json:"name"`
	// Kind is Cluster or Replicas.
	Kind string `json:"kind"`
	// Members are those of this home: what is written to first, the others by name.
	Members []string `json:"members"`
	// Online is how many work as they should, and Of how many there are: of a cluster as its members see it,
	// those of other machines too.
	Online int `json:"online"`
	Of     int `json:"of"`
	// Quorum says of a cluster that most of its members reach each other.
	Quorum bool `json:"quorum,omitempty"`
	// LagSeconds is how far the replica is behind that is the furthest behind; nil for not known.
	LagSeconds *float64 `json:"lag_seconds,omitempty"`
}

// role is what an instance is in its group, "" for one that tells none.
func (i *Instance) role(g *Group) string {
	switch {
	case i.Cluster != nil:
		return i.Cluster.Role
	case i.Replica != nil:
		return RoleReplica
	case g.Kind == Replicas && i.Name == g.Name:
		return RoleSource
	}
	return ""
}

// works says whether a member does what it is there for.
func (i *Instance) works() bool {
	switch {
	case i.Phase != instance.Running || i.Trouble != "":
		return false
	case i.Cluster != nil:
		return i.Cluster.Online
	case i.Replica != nil:
		return i.Replica.State == Following
	}
	return true
}

// Following is the state of a client.Replica that follows its source.
const Following = "following"

// group puts together what belongs together, and tells each instance its group and its role there.
func (o *Overview) group(records []*instance.Record) {
	follows, clusters := map[string]string{}, map[string]string{}
	for _, r := range records {
		if clusters[r.Name] = r.Spec.Cluster; r.Spec.Replica != nil && !r.Spec.Replica.IsRemote() {
			follows[r.Name] = r.Spec.Replica.Of
		}
	}
	exists := func(name string) bool { _, ok := clusters[name]; return ok }
	of := map[[2]string]*Group{}
	var order []*Group
	join := func(i *Instance, kind, name string) {
		g := of[[2]string{kind, name}]
		if g == nil {
			g = &Group{Name: name, Kind: kind}
			of[[2]string{kind, name}] = g
			order = append(order, g)
		}
		g.Members = append(g.Members, i.Name)
		i.Group = name
	}
	for n := range o.Instances {
		i := &o.Instances[n]
		root := i.Name
		for range records { // a replica of a replica; nobody follows himself, and if so, not for ever
			if up := follows[root]; up != "" && exists(up) {
				root = up
			}
		}
		switch {
		case clusters[root] != "": // with the replicas of its members
			join(i, Cluster, clusters[root])
		case root != i.Name, hasFollower(follows, i.Name):
			join(i, Replicas, root)
		}
	}
	for _, g := range order {
		o.sum(g)
		o.Groups = append(o.Groups, *g)
	}
	slices.SortFunc(o.Groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
}

func hasFollower(follows map[string]string, name string) bool {
	for _, of := range follows {
		if of == name {
			return true
		}
	}
	return false
}

// sum says how a group is, and puts its members in order.
func (o *Overview) sum(g *Group) {
	at := map[string]*Instance{}
	for n := range o.Instances {
		at[o.Instances[n].Name] = &o.Instances[n]
	}
	for _, name := range g.Members {
		i := at[name]
		i.Role = i.role(g)
		if g.Kind == Cluster && i.Replica != nil { // it is none of the members
			continue
		}
		g.Of++
		if i.works() {
			g.Online++
		}
	}
	if g.Kind == Cluster {
		for _, name := range g.Members {
			m := at[name].Cluster
			if m == nil {
				continue
			}
			if g.Of = max(g.Of, m.Of); at[name].works() {
				g.Quorum, g.Online = true, max(g.Online, m.Sees)
			}
		}
	}
	for _, name := range g.Members {
		if r := at[name].Replica; r != nil && r.LagSeconds != nil && (g.LagSeconds == nil || *r.LagSeconds > *g.LagSeconds) {
			g.LagSeconds = r.LagSeconds
		}
	}
	rank := func(name string) int { return slices.Index([]string{RolePrimary, RoleSource}, at[name].Role) }
	slices.SortStableFunc(g.Members, func(a, b string) int { return rank(b) - rank(a) })
}

// unify has the instances of a volume say the same of it, which is what was measured last: each looks at it
// at times of its own.
func unify(all []Instance) {
	last := map[string]Volume{}
	for _, i := range all {
		if v := i.Volume; v.Dir != "" && v.at.After(last[v.Dir].at) {
			last[v.Dir] = v
		}
	}
	for n := range all {
		if v, ok := last[all[n].Volume.Dir]; ok {
			all[n].Volume = v
		}
	}
}

// replicaOf is what is known of a replica that does not run.
func replicaOf(r *instance.Record) *client.Replica {
	if r.Spec.Replica == nil {
		return nil
	}
	return &client.Replica{Of: r.Spec.Replica.Of, Sync: r.Spec.Replica.Sync, State: string(instance.Stopped)}
}
