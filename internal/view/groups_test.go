package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// TestGroups puts clusters and replicas together, with what stands still among them, and leaves others alone.
func TestGroups(t *testing.T) {
	lag, more := 0.5, 7.0
	var o Overview
	var records []*instance.Record
	add := func(name string, spec instance.Spec, phase instance.Phase, m *client.Membership, r *client.Replica) {
		records = append(records, &instance.Record{Name: name, Spec: spec})
		o.Instances = append(o.Instances, Instance{Name: name, Phase: phase, Cluster: m, Replica: r})
	}
	follows := func(of string) instance.Spec { return instance.Spec{Replica: &instance.Replica{Of: of}} }
	member := func(role string, sees int) *client.Membership {
		return &client.Membership{Cluster: "pay", Online: role != "", Role: role, Sees: sees, Of: 5}
	}
	pay := instance.Spec{Cluster: "pay"}
	add("alone", instance.Spec{}, instance.Running, nil, nil)
	add("copy", follows("shop"), instance.Running, nil, &client.Replica{Of: "shop", State: Following, LagSeconds: &lag})
	add("copy-of-copy", follows("copy"), instance.Running, nil, &client.Replica{Of: "copy", State: "connecting", LagSeconds: &more})
	add("far", follows("10.0.0.1:3306"), instance.Running, nil, &client.Replica{Of: "10.0.0.1:3306", State: Following})
	add("orphan", follows("gone"), instance.Stopped, nil, &client.Replica{Of: "gone"})
	add("pay-1", pay, instance.Running, member("secondary", 4), nil)
	add("pay-2", pay, instance.Running, member("primary", 4), nil)
	add("pay-3", pay, instance.Stopped, nil, nil)
	add("pay-copy", follows("pay-2"), instance.Running, nil, &client.Replica{Of: "pay-2", State: Following, LagSeconds: &lag})
	add("shop", instance.Spec{}, instance.Running, nil, nil)
	add("still-1", instance.Spec{Cluster: "still"}, instance.Stopped, nil, nil)
	add("still-2", instance.Spec{Cluster: "still"}, instance.Running, &client.Membership{Cluster: "still", Sees: 1, Of: 3}, nil)
	o.group(records)
	want := []Group{
		{Name: "pay", Kind: Cluster, Members: []string{"pay-2", "pay-1", "pay-3", "pay-copy"}, Online: 4, Of: 5, Quorum: true, LagSeconds: &lag},
		{Name: "shop", Kind: Replicas, Members: []string{"shop", "copy", "copy-of-copy"}, Online: 2, Of: 3, LagSeconds: &more},
		{Name: "still", Kind: Cluster, Members: []string{"still-1", "still-2"}, Online: 0, Of: 3},
	}
	if d := cmp.Diff(want, o.Groups); d != "" {
		t.Error(d)
	}
	roles := map[string]string{}
	for _, i := range o.Instances {
		if i.Role != "" {
			roles[i.Name] = i.Role
		}
	}
	if d := cmp.Diff(map[string]string{"shop": RoleSource, "copy": RoleReplica, "copy-of-copy": RoleReplica, "pay-1": "secondary", "pay-2": RolePrimary, "pay-copy": RoleReplica}, roles); d != "" {
		t.Error(d)
	}
}

// TestUnify: instances of a volume say the same of it, and those of another what they know.
func TestUnify(t *testing.T) {
	now := time.Now()
	soon, late := 2400.0, 172800.0
	all := []Instance{
		{Name: "a", Volume: Volume{Dir: "/one", FullSeconds: &late, at: now.Add(-9 * time.Second)}}, {Name: "b", Volume: Volume{Dir: "/one", FullSeconds: &soon, UsedPercent: 7, at: now}},
		{Name: "c", Volume: Volume{Dir: "/one"}}, {Name: "d", Volume: Volume{Dir: "/two", at: now}}, {Name: "stopped"},
	}
	unify(all)
	for _, i := range all {
		if one := i.Volume.Dir == "/one"; one != (i.Volume.FullSeconds == &soon) || one != (i.Volume.UsedPercent == 7) {
			t.Errorf("%s says %+v", i.Name, i.Volume)
		}
	}
}
