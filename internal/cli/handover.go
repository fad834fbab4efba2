package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/handover"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type handOverFlags struct {
	make engine.HandOverRequest
	cut  engine.CutOverRequest
	end  engine.HandOverEnd
	ends bool
}

func newHandOver(a *app) *cobra.Command {
	var o handOverFlags
	cmd := &cobra.Command{
		Use:   "hand-over NAME",
		Short: "Have another server, or a cluster, take over an instance",
		Long: `Have another server, or a cluster, take over an instance, while applications go on.

--to writes a directory with what the target wants: the data as of one moment, the accounts,
the position in the log, an account for replication, settings or manifests, and a README.md
that says what to type there. From then on the target follows the instance, for as long as
you like: it is an ordinary server that has a copy.

--cut-over ends it: the instance becomes read-only, the target gets the last of it, and is
written to. It takes at most 5 s, or all is as it was before. The pause is printed. The
instance stays, read-only.

--end forgets a hand-over, and removes its account.`,
		Example: `  ramaria hand-over shop --to mariadb-cluster --out shop-to-galera
  ramaria hand-over shop --cut-over db1.example.com:3306 --login admin.cnf
  ramaria hand-over shop --end`,
		Args: exactArgs(1, "the name of an instance"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, a, args[0])
		},
		ValidArgsFunction: a.completeNames,
	}
	f := cmd.Flags()
	f.StringVar(&o.make.To, "to", "", "the `TARGET`: "+strings.Join(handover.Names(), ", "))
	f.StringVar(&o.make.Dir, "out", "", "the `DIR` to make, new or empty (default: NAME-hand-over)")
	f.StringVar(&o.make.Host, "host", "", "the `ADDRESS` of this machine as the target reaches it (default: what the server listens at)")
	f.StringVar(&o.make.Network, "network", "", "where the target's account logs in from, `HOST` as in CREATE USER: '10.0.0.%' (default: anywhere)")
	f.StringVar(&o.cut.Address, "cut-over", "", "have the target at `HOST:PORT`, which follows, take the place of the instance")
	f.StringVar(&o.cut.Login, "login", "", "for --cut-over: `FILE` with [client], user and password of the target's administrator")
	f.StringVar(&o.cut.TLS.CA, "tls-ca", "", "for --cut-over: check the target's certificate by those in `FILE`")
	f.BoolVar(&o.cut.TLS.Off, "no-tls", false, "for --cut-over: speak to the target without TLS, where the way is safe")
	f.BoolVar(&o.cut.AcceptDivergence, "accept-divergence", false, "for --cut-over: take a target that may differ from the instance, too")
	f.BoolVar(&o.ends, "end", false, "forget the hand-over, and remove its account")
	f.BoolVar(&o.end.Writable, "writable", false, "for --end: have an instance that was handed over be written to again")
	cmd.MarkFlagsMutuallyExclusive("to", "cut-over", "end")
	cmd.MarkFlagsMutuallyExclusive("tls-ca", "no-tls")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(handover.Names(), cobra.ShellCompDirectiveNoFileComp))
	return a.named(cmd)
}

// belongTo are the flags that belong to another.
var belongTo = map[string]string{"out": "to", "host": "to", "network": "to", "login": "cut-over", "tls-ca": "cut-over", "no-tls": "cut-over", "accept-divergence": "cut-over", "writable": "end"}

func (o *handOverFlags) run(cmd *cobra.Command, a *app, name string) error {
	for flag, of := range belongTo {
		if cmd.Flags().Changed(flag) && !cmd.Flags().Changed(of) {
			return usageError{fmt.Errorf("hand-over %s: --%s goes with --%s", name, flag, of)}
		}
	}
	o.make.Name, o.cut.Name, o.end.Name = name, name, name
	switch ctx := cmd.Context(); {
	case o.make.To != "":
		return runHandOver(ctx, a, o.make)
	case o.cut.Address != "":
		return runCutOver(ctx, a, o.cut)
	case o.ends:
		return runHandOverEnd(ctx, a, o.end)
	}
	return usageError{errors.New("hand-over: what is to be done?\nhint: --to TARGET, --cut-over HOST:PORT or --end")}
}

func runHandOver(ctx context.Context, a *app, q engine.HandOverRequest) error {
	m, err := a.engine.HandOver(ctx, q)
	if err != nil {
		return err
	}
	dir := m.Dir
	if here, err := os.Getwd(); err == nil && filepath.Dir(dir) == here {
		dir = filepath.Base(dir)
	}
	a.say("wrote what a target (%s) wants of instance %s, %s, to %s in %s; it is to reach %s", q.To, q.Name, volume.FormatBytes(m.Bytes), dir, short(m.Took), m.Address)
	for _, note := range m.Notes {
		a.say("note: %s", note)
	}
	a.say("hint: %s says what to type there", server.ShellWord(filepath.Join(dir, handover.ReadMe)))
	fmt.Fprintln(a.stdout, m.Dir)
	return nil
}

func runCutOver(ctx context.Context, a *app, q engine.CutOverRequest) error {
	m, err := a.engine.CutOver(ctx, q)
	if err != nil {
		return err
	}
	what := "all of " + q.Name
	if m.Position != "" {
		what += ", up to " + m.Position + " of its log"
	}
	a.say("%s has %s, and is written to; nothing could be written for %d ms", q.Address, what, m.Pause.Milliseconds())
	for _, name := range m.Asleep {
		a.say("warning: event %s runs at %s and is not enabled at %s\nhint: ALTER EVENT ... ENABLE", name, q.Name, q.Address)
	}
	a.say("applications connect to %s from now on, with the accounts that they have", q.Address)
	a.say("instance %s is read-only, and stays so; ramaria rm %[1]s removes it", q.Name)
	return nil
}

func runHandOverEnd(ctx context.Context, a *app, q engine.HandOverEnd) error {
	dir, err := a.engine.EndHandOver(ctx, q)
	if err != nil {
		return err
	}
	a.say("the hand-over of %s is over; %s, which has passwords, is yours to remove", q.Name, dir)
	return nil
}

// printHandOver says where a hand-over stands.
func printHandOver(line func(string, string, ...any), h *engine.HandOverListing) {
	switch {
	case h == nil:
		return
	case h.HandedOverTo != "":
		line("hand-over", "done: %s has its data since %s; read-only", h.HandedOverTo, h.At.Local().Format(time.DateTime))
		return
	}
	text := "to " + h.To + ", " + h.Dir
	if h.Target != "" {
		text += "; target " + h.Target
	}
	if !h.Since.IsZero() {
		text += ", since " + h.Since.Local().Format("15:04:05")
	}
	line("hand-over", "%s", text)
}
