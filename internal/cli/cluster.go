package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
)

func newCluster(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Make clusters of instances: Galera of MariaDB, Group Replication of MySQL",
		Long: `Make clusters of instances: Galera of MariaDB, Group Replication of MySQL. Each member has the
data in RAM, and its own log on a disk: a cluster of which all members lose power at once comes
back with every commit that was answered.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newClusterCreate(a), newClusterUp(a), newClusterStatus(a), newClusterDown(a), newClusterRestart(a), newClusterReplace(a), newClusterRm(a), newClusterInvite(a), newClusterJoin(a))
	return cmd
}

// ofEachMember are flags of an instance that members of a cluster cannot share.
var ofEachMember = []string{"port", "socket", "front", "api-listen", "log", "archive", "tmpdir", "device-atomic"}

func newClusterCreate(a *app) *cobra.Command {
	var o specFlags
	nodes, own, here := cluster.LeastNodes, false, ""
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a cluster and start it, and print the DSNs of its members",
		Long: `Make a cluster and start it, and print the DSNs of its members, one a line. These are the
instances NAME-1, NAME-2, ...; the first is made as by ramaria up, the others are copies of it.

Of MariaDB each member can be written to. Of MySQL one can, the primary, which is printed first;
when it dies another takes its place.

Members are durable: a commit is answered when the log of its member is on the disk. With
--durable=1s a second of it may be lost when all members lose power, with --durable=off all.`,
		Example: `  ramaria cluster create shop --from shop.sql
  ramaria cluster create c --server mysql --nodes 5
  ramaria cluster create shop --address 10.0.0.1`,
		Args: exactArgs(1, "the name of a new cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := o.spec()
			if err != nil {
				return err
			}
			switch {
			case !cmd.Flags().Changed("durable"):
				spec.Durable = instance.DurableCommit
			case spec.Durable == instance.DurableOff:
				spec.Durable = ""
			}
			if here == "" && cmd.Flags().Changed("address") {
				return usageError{errors.New("use --address: it is empty\nhint: ip -brief address shows the addresses of this machine")}
			}
			if here != "" && !cmd.Flags().Changed("nodes") {
				nodes = 1
			}
			return runClusterCreate(cmd.Context(), a, engine.ClusterRequest{Name: args[0], Nodes: nodes, Spec: spec, OwnAddresses: own, Here: here, Stdin: a.stdin})
		},
	}
	o.add(cmd)
	for _, name := range ofEachMember {
		_ = cmd.Flags().MarkHidden(name) // fails only for flags that are not there
	}
	cmd.Flags().StringVar(&here, "address", "", "the `ADDRESS` at which other machines reach this one: the cluster begins with one member here, and ramaria cluster invite lets others join")
	cmd.Flags().IntVar(&nodes, "nodes", nodes, "how many members: `N`, 3 to 9; with 3 one may be lost, with 5 two")
	cmd.Flags().BoolVar(&own, "netns", false, "give each member an address of its own, in a network namespace of this machine; only for root")
	return cmd
}

func runClusterCreate(ctx context.Context, a *app, q engine.ClusterRequest) error {
	if _, err := a.engine.CreateCluster(ctx, q); err != nil {
		return err
	}
	l, err := a.engine.ClusterStatus(ctx, q.Name)
	if err != nil {
		return err
	}
	return printMembers(a, l)
}

// printMembers prints the DSNs of the members that applications can use, that which is written to first.
func printMembers(a *app, l engine.ClusterListing) error {
	a.say("%s", clusterWords(l))
	for _, url := range l.URLs() {
		fmt.Fprintln(a.stdout, url)
	}
	return nil
}

func newClusterUp(a *app) *cobra.Command {
	var q engine.ClusterUpRequest
	cmd := &cobra.Command{
		Use:   "up NAME",
		Short: "Start the members of a cluster that do not run",
		Long: `Start the members of a cluster that do not run, or have left it. Where no member is whole, as
after a power cut, all of them are recovered and looked at, and the one that has the most begins
the cluster: no commit that was answered is lost.

A member whose data and archive are lost for good keeps the cluster from starting, since it may
have had what the others lack; --without NAME goes on without that. One whose archive lacks its
end, or cannot be used from some place on, goes on with what comes before with --accept-loss.`,
		Args: exactArgs(1, "the name of a cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Name = args[0]
			l, err := a.engine.UpCluster(cmd.Context(), q)
			if err != nil {
				return err
			}
			return printMembers(a, l)
		},
		ValidArgsFunction: a.completeClusters,
	}
	cmd.Flags().StringArrayVar(&q.Without, "without", nil, "start without what the member `NAME` alone has: it becomes a copy of another, or, of a cluster on several machines, is taken out of it; repeatable")
	cmd.Flags().BoolVar(&q.AcceptLoss, "accept-loss", false, acceptLossUsage)
	cmd.Flags().BoolVar(&q.Minority, "minority", false, "with --without, of a cluster on several machines: go on with less than most members, where the others will never run again")
	return cmd
}

func newClusterStatus(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Say how clusters and their members are",
		Args:  maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runClusterStatus(cmd.Context(), a, args, asJSON)
		},
		ValidArgsFunction: a.completeClusters,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return cmd
}

func runClusterStatus(ctx context.Context, a *app, args []string, asJSON bool) error {
	var all []engine.ClusterListing
	var err error
	if len(args) == 1 {
		var l engine.ClusterListing
		if l, err = a.engine.ClusterStatus(ctx, args[0]); err == nil && asJSON {
			return a.printJSON(l)
		}
		all = append(all, l)
	} else {
		all, err = a.engine.ListClusters(ctx)
	}
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no clusters; ramaria cluster create makes one")
		return nil
	}
	t := newTable("CLUSTER", "MEMBER", "STATE", "IN CLUSTER", "ROLE", "SEES", "ADDRESS")
	for _, l := range all {
		for i, m := range l.Members {
			name, sees := "", ""
			if i == 0 {
				name = l.Name
			}
			if m.Sees > 0 {
				sees = strconv.Itoa(m.Sees) + " of " + strconv.Itoa(len(l.Members))
			}
			state := m.State
			if m.Joining {
				state = "joining"
			}
			t.row(name, m.Name, string(m.Phase), state, m.Role, sees, m.Address)
		}
	}
	t.print(a.stdout)
	for _, l := range all {
		a.say("%s", clusterWords(l))
	}
	return nil
}

// clusterWords say what state a cluster is in, and what there is to do about it.
func clusterWords(l engine.ClusterListing) string {
	up := "ramaria cluster up " + l.Name
	if l.Here != "" {
		up += ", at each machine whose member is not in it,"
	}
	switch l.State {
	case engine.ClusterDegraded:
		if l.Doubt != "" {
			return fmt.Sprintf("cluster %s is degraded: %s\nhint: %s has the others join again", l.Name, l.Doubt, up)
		}
		return fmt.Sprintf("cluster %s is degraded: it is written to, and needs %d members for that\nhint: %s has the others join again", l.Name, l.Quorum, up)
	case engine.ClusterNoPrimary:
		return fmt.Sprintf("cluster %s has no primary: writes wait until the others have chosen one, which takes them about 10 s\nhint: ramaria cluster status %[1]s shows which; %s has the others join again", l.Name, up)
	case engine.ClusterNoQuorum:
		return fmt.Sprintf("cluster %s has no quorum: it takes no writes, which need %d members\nhint: %s has them join, or begins it again with the member that has the most", l.Name, l.Quorum, up)
	case engine.ClusterUnfinished:
		return fmt.Sprintf("cluster %s is unfinished: a command was interrupted that made it, or removed it\nhint: ramaria cluster rm %[1]s", l.Name)
	case engine.ClusterStopped:
		unreached := 0
		for _, m := range l.Members {
			if m.Phase == engine.PhaseUnreached {
				unreached++
			}
		}
		if unreached > 0 {
			return fmt.Sprintf("cluster %s is stopped here, and may run where %d other machines are not reached\nhint: %s", l.Name, unreached, strings.TrimSuffix(up, ","))
		}
		return fmt.Sprintf("cluster %s is stopped\nhint: %s", l.Name, strings.TrimSuffix(up, ","))
	}
	for _, m := range l.Members {
		if m.Joining {
			return fmt.Sprintf("cluster %s is %s, and %s joins it\nhint: where its command was killed, ramaria cluster join again there", l.Name, l.State, m.Name)
		}
	}
	return fmt.Sprintf("cluster %s is %s", l.Name, l.State)
}

func newClusterDown(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "down NAME",
		Short: "Stop the members of a cluster",
		Args:  exactArgs(1, "the name of a cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.engine.StopCluster(cmd.Context(), args[0]); err != nil {
				return err
			}
			a.say("stopped cluster %s", args[0])
			return nil
		},
		ValidArgsFunction: a.completeClusters,
	}
}

func newClusterRestart(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "restart NAME",
		Short: "Restart the members of a cluster one by one",
		Long: `Restart the members of a cluster one by one, so that it is written to all the while. The primary
of MySQL comes last, and another takes its place.`,
		Args: exactArgs(1, "the name of a cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.engine.RestartCluster(cmd.Context(), args[0])
		},
		ValidArgsFunction: a.completeClusters,
	}
}

func newClusterReplace(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "replace NAME MEMBER",
		Short: "Make a member of a cluster again, from another one",
		Args:  exactArgs(2, "the name of a cluster, and that of a member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.engine.ReplaceMember(cmd.Context(), args[0], args[1])
		},
		ValidArgsFunction: a.completeClusters,
	}
}

func newClusterRm(a *app) *cobra.Command {
	var archives bool
	cmd := &cobra.Command{
		Use:   "rm NAME",
		Short: "Stop a cluster and remove it, with the data of its members",
		Args:  exactArgs(1, "the name of a cluster"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.engine.RemoveCluster(cmd.Context(), args[0], archives); err != nil {
				return err
			}
			a.say("removed cluster %s", args[0])
			return nil
		},
		ValidArgsFunction: a.completeClusters,
	}
	cmd.Flags().BoolVar(&archives, "with-archive", false, "remove the archives of its members as well, which stay otherwise")
	return cmd
}

// completeClusters completes the name of a cluster, the first argument, in a shell.
func (a *app) completeClusters(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || a.open(cmd) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := a.engine.ClusterNames()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// membershipWords is what a member is in its cluster.
func membershipWords(m client.Membership) string {
	text := m.Cluster + ", " + m.State
	if m.Role != "" && m.Role != dbconn.RoleAny {
		text += ", " + m.Role
	}
	return text + fmt.Sprintf(", reaches %d of %d members", m.Sees, m.Of)
}
