package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newReplica(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replica",
		Short: "Make instances that follow another one",
		Long: `Make instances that follow another one: a copy on disk of what lies in RAM, or one to read
from. A replica has what its source commits a moment later, and is read-only.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newReplicaAdd(a), newReplicaPromote(a), newReplicaRm(a))
	return cmd
}

func newReplicaAdd(a *app) *cobra.Command {
	var q engine.ReplicaRequest
	var far engine.RemoteReplicaRequest
	cmd := a.named(&cobra.Command{
		Use:   "add NAME|HOST:PORT NEW",
		Short: "Make an instance that follows another one, and print its DSN",
		Long: `Make an instance NEW that follows the instance NAME, and print its DSN. It gets a copy of the
data, as a branch does, and from then on what NAME logs. ramaria status NEW says how far it is
behind; ramaria replica rm NEW ends it.

HOST:PORT is a server on another machine, or one that is none of Ramaria's. NEW gets what its
dumper writes, and an account there of its own, which the administrator of --login makes.

With --volume disk its data is on the disk, and is written there by the rules: it is there
after a power cut, but for the last second.`,
		Example: `  ramaria replica add shop shop-on-disk --volume disk
  ramaria replica add db1.example.com:3306 near --login admin.cnf --tls-ca ca.pem`,
		Args: exactArgs(2, "the name of an instance, or HOST:PORT, and a new name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Of, q.New = args[0], args[1]
			remote := (&instance.Replica{Of: q.Of}).IsRemote()
			for _, name := range []string{"login", "tls-ca", "no-tls", "server"} {
				if cmd.Flags().Changed(name) && !remote {
					return usageError{fmt.Errorf("replica add %s: --%s is for a source on another machine, HOST:PORT", q.Of, name)}
				}
			}
			switch {
			case !remote:
				return runReplicaAdd(cmd.Context(), a, q)
			case q.Sync:
				return usageError{errors.New("replica add: --sync is for a source that is an instance of this machine")}
			}
			far.Address, far.New = q.Of, q.New
			far.Spec.User, far.Spec.Volume = image.DefaultUser, cmp.Or(q.Volume, os.Getenv(envVolume), "auto")
			return runRemoteReplicaAdd(cmd.Context(), a, far)
		},
		ValidArgsFunction: a.completeNames,
	})
	cmd.Flags().StringVar(&q.Volume, "volume", "", "where its data lies, as for up: `KIND[:SIZE]` (default: where that of its source lies)")
	cmd.Flags().StringVar(&far.Login, "login", "", "`FILE` with [client], user and password of the administrator of HOST:PORT; used once")
	cmd.Flags().StringVar(&far.TLS.CA, "tls-ca", "", "check the certificate of HOST:PORT by those in `FILE`")
	cmd.Flags().BoolVar(&far.TLS.Off, "no-tls", false, "speak to HOST:PORT without TLS, where the way is safe")
	cmd.Flags().StringVar(&far.Spec.Server, "server", "", "`FLAVOUR:VERSION` for HOST:PORT's replica (default: its own)")
	cmd.MarkFlagsMutuallyExclusive("tls-ca", "no-tls")
	cmd.Flags().BoolVar(&q.Sync, "sync", false, "have NAME answer a commit when NEW has received it: while NEW is away, commits wait")
	return cmd
}

func runReplicaAdd(ctx context.Context, a *app, q engine.ReplicaRequest) error {
	b, err := a.engine.AddReplica(ctx, q)
	if err != nil {
		return err
	}
	a.say("instance %s follows %s, from a copy made in %s; %s was paused for %s", q.New, q.Of, micros(b.ReadyMicros), q.Of, micros(b.Snapshot.PauseMicros))
	fmt.Fprintln(a.stdout, b.Endpoint.URL)
	return nil
}

func runRemoteReplicaAdd(ctx context.Context, a *app, q engine.RemoteReplicaRequest) error {
	began := time.Now()
	i, err := a.engine.AddRemoteReplica(ctx, q)
	if err != nil {
		return err
	}
	a.say("instance %s follows %s, from a copy made in %.1f s", q.New, q.Address, time.Since(began).Seconds())
	fmt.Fprintln(a.stdout, i.Endpoint.URL())
	return nil
}

func newReplicaPromote(a *app) *cobra.Command {
	var q engine.PromotionRequest
	cmd := a.named(&cobra.Command{
		Use:   "promote NAME",
		Short: "Make a replica an instance of its own, which is written to",
		Long: `Make a replica an instance of its own, which is written to, once it has applied what it has
received. Stop its source first, if that still runs: what is committed there from then on is
not here. One that may differ from its source is refused: see ramaria status.`,
		Args: exactArgs(1, "the name of a replica"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Name = args[0]
			return runReplicaPromote(cmd.Context(), a, q)
		},
		ValidArgsFunction: a.completeNames,
	})
	cmd.Flags().BoolVar(&q.AcceptDivergence, "accept-divergence", false, "promote a replica that may differ from its source, too")
	return cmd
}

func runReplicaPromote(ctx context.Context, a *app, q engine.PromotionRequest) error {
	name := q.Name
	p, err := a.engine.PromoteReplica(ctx, q)
	if err != nil {
		return err
	}
	has := "that it had received"
	if p.Position != "" {
		has = "up to " + p.Position + " of its log"
	}
	a.say("instance %s follows %s no more, and is written to: it has all %s", name, p.Of, has)
	if p.Stopped != "" {
		a.say("warning: it had stopped following %s before, and lacks what was committed there since: %s", p.Of, p.Stopped)
	}
	if len(p.Events) > 0 {
		a.say("warning: events that came from %s stay disabled, since it is not known whether they were there: %s\nhint: ALTER EVENT NAME ENABLE", p.Of, strings.Join(p.Events, ", "))
	}
	if p.SourceRuns {
		a.say("warning: instance %s runs, and what is committed there is not in %s\nhint: ramaria down %[1]s, or point its applications to %[2]s", p.Of, name)
	}
	return nil
}

func newReplicaRm(a *app) *cobra.Command {
	return a.named(&cobra.Command{
		Use:   "rm NAME",
		Short: "Remove a replica, and its account at the source",
		Args:  exactArgs(1, "the name of a replica"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReplicaRm(cmd.Context(), a, args[0])
		},
		ValidArgsFunction: a.completeNames,
	})
}

func runReplicaRm(ctx context.Context, a *app, name string) error {
	if err := a.engine.RemoveReplica(ctx, name); err != nil {
		return err
	}
	a.say("removed replica %s", name)
	return nil
}

// printReplicas says what an instance follows, or what follows it.
func printReplicas(line func(string, string, ...any), l engine.InstanceListing) {
	if l.Replica != nil {
		line("replica", "%s", replicaWords(*l.Replica))
	}
	if len(l.Replicas) == 0 {
		return
	}
	text := strings.Join(l.Replicas, ", ")
	if l.WaitsFor != "" {
		text += "; commits wait for " + l.WaitsFor
	}
	line("replicas", "%s", text)
}

// replicaWords is how a replica follows.
func replicaWords(r client.Replica) string {
	text := "of " + r.Of + ", " + r.State
	if r.Sync {
		text += ", commits wait for it"
	}
	if r.LagSeconds != nil {
		text += fmt.Sprintf(", %.0f s behind", *r.LagSeconds)
	}
	if r.LagBytes != nil {
		text += fmt.Sprintf(", %s of the log to apply", volume.FormatBytes(*r.LagBytes))
	}
	if r.Error != "" {
		text += ": " + r.Error
	}
	return text
}
