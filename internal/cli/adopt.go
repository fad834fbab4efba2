package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/adopt"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type adoptOptions struct {
	specFlags
	as, login                    string
	apply, undo, asItWas, asJSON bool
}

func newAdopt(a *app) *cobra.Command {
	var o adoptOptions
	cmd := &cobra.Command{
		Use:   "adopt SERVICE|DIRECTORY [--apply] | adopt --undo NAME",
		Short: "Run the server of a service in RAM, in its place; and give it back",
		Long: `Run the server of a service (mysql, mariadb) in RAM, in its place: with its data, socket, port,
accounts and settings, so that its clients notice nothing. Without --apply it shows the plan, and
changes nothing.

The data is copied in rounds while the service works; it is stopped for the last one. The instance
is durable unless --durable=off is given: each commit is on the disk before it is answered, and a
power cut takes none. The old data directory stays as it is, and the unit keeps its name:
systemctl start, stop and restart act on the instance.

--undo ends that. The service gets the data as it is now, and the old directory stays beside it;
with --as-it-was it gets the old directory, untouched.

A data directory that no server uses is adopted by its path.`,
		Example: `  ramaria adopt mariadb                  # shows the plan
  ramaria adopt mariadb --apply
  ramaria adopt --undo mariadb
  ramaria adopt /srv/old/mysql --as old --apply`,
		Args: exactArgs(1, "the name of a service, or a data directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAdopt(cmd.Context(), a, args[0], &o)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"mariadb", "mysql"}, cobra.ShellCompDirectiveDefault
		},
	}
	o.addTo(cmd)
	return noLooseLevel(cmd)
}

func (o *adoptOptions) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.apply, "apply", false, "do it")
	f.BoolVar(&o.undo, "undo", false, "give back what was adopted, with the data as it is now")
	f.BoolVar(&o.asItWas, "as-it-was", false, "with --undo: with the data as it was before the adoption")
	f.StringVar(&o.as, "as", "", "`NAME` of the instance (default: that of the service)")
	f.StringVar(&o.login, "login", "", "option `FILE` with [client], user and password of the server's administrator (default: root over the socket)")
	f.BoolVar(&o.asJSON, "json", false, printJSONFlag)
	f.StringVar(&o.server, "server", "", "server `SOFTWARE` (default: one of the series that runs now)")
	o.addAround(cmd)
	cmd.MarkFlagsMutuallyExclusive("apply", "undo")
	_ = cmd.RegisterFlagCompletionFunc("as", cobra.NoFileCompletions)
	_ = cmd.MarkFlagFilename("login")
	for _, name := range []string{"socket", "port", "front", "log", "password-file"} { // of the service; and it has accounts of its own
		_ = f.MarkHidden(name)
	}
}

func runAdopt(ctx context.Context, a *app, what string, o *adoptOptions) error {
	if o.asItWas && !o.undo {
		return usageError{errors.New("use --as-it-was without --undo\nhint: ramaria adopt --undo NAME --as-it-was")}
	}
	if o.undo {
		return runAdoptUndo(ctx, a, what, o)
	}
	o.user = image.DefaultUser // one that the service has not is chosen
	if !o.given("durable") {
		o.durable = instance.DurableCommit
	}
	spec, err := o.spec()
	if err != nil {
		return err
	}
	if o.server == "" {
		spec.Server = "" // RAMARIA_SERVER is for what has no data yet
	}
	p, err := a.engine.PlanAdopt(ctx, engine.AdoptRequest{What: what, Name: o.as, Spec: spec, Login: o.login})
	if err != nil {
		return err
	}
	if !o.apply {
		if o.asJSON {
			return a.printJSON(p)
		}
		printPlan(a.stdout, p)
		if len(p.Against) == 0 {
			a.say("nothing was changed\nhint: the same command with --apply does it")
		}
		return nil
	}
	done, err := a.engine.Adopt(ctx, p)
	if err != nil {
		return err
	}
	if p.Service == "" {
		a.say("adopted %s as instance %s; the directory is as it was", p.DataDir, p.Instance)
	} else {
		a.say("adopted %s as instance %s in %s; nothing answered for %s\nhint: ramaria status %[2]s; ramaria adopt --undo %[2]s gives it back", p.Service, p.Instance, short(done.Took), short(done.Down))
	}
	fmt.Fprintln(a.stdout, done.URL)
	return nil
}

func runAdoptUndo(ctx context.Context, a *app, name string, o *adoptOptions) error {
	u, err := a.engine.Unadopt(ctx, engine.UnadoptRequest{Name: name, AsItWas: o.asItWas, Login: o.login})
	if err != nil {
		return err
	}
	what := u.Service
	if what == "" {
		what = u.DataDir
	}
	if u.Before == "" {
		lost := "what was written since is lost"
		if u.Archive != "" {
			lost = "what was written since is in " + u.Archive
		}
		a.say("gave %s back as it was; %s", what, lost)
		return nil
	}
	a.say("gave %s back with the data as it is now; nothing answered for %s\nhint: the data as it was before is in %s: rm -r %[3]s once it is not wanted", what, short(u.Down), server.ShellWord(u.Before))
	return nil
}

// printPlan prints a plan for people.
func printPlan(w io.Writer, p *engine.AdoptPlan) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-11s%s\n", name, fmt.Sprintf(format, args...))
	}
	from := p.Service
	if from == "" {
		from = "no service"
	}
	line("now", "%s: %s on %s", from, p.From, p.DataDir)
	line("then", "instance %s: %s in volume %s", p.Instance, p.To, p.Volume)
	switch {
	case p.Service != "" && p.Port == 0:
		line("reached", "as before, at %s", p.Socket)
	case p.Service != "":
		line("reached", "as before, at %s and port %d of %s", p.Socket, p.Port, addresses(p.Bind))
	}
	line("memory", "%s are needed, %s are there", volume.FormatBytes(p.NeedBytes), volume.FormatBytes(p.FreeBytes))
	if p.Archive == "" {
		line("power cut", "takes what was written since the adoption")
	} else {
		line("power cut", "takes nothing: archive in %s", p.Archive)
	}
	switch {
	case p.Service == "":
		line("time", "about %.0f s", p.DownSeconds)
	case p.HotBytes > 1<<30:
		line("downtime", "about %.0f s: %s of the files were changed in the last minutes, and are read again", p.DownSeconds, volume.FormatBytes(p.HotBytes))
	default:
		line("downtime", "about %.0f s; the data is copied before, while the service works", p.DownSeconds)
	}
	if p.Service != "" {
		line("old data", "stays in %s", p.DataDir)
	}
	printSettings(w, "taken over from its options:", p.Kept)
	printSettings(w, "not taken over:", p.Left)
	for _, n := range p.Notes {
		fmt.Fprintf(w, "\nnote: %s", indent(n, 2))
	}
	if len(p.Notes) > 0 {
		fmt.Fprintln(w)
	}
	for _, against := range p.Against {
		fmt.Fprintf(w, "\nIt cannot be done: %s\n", indent(against, 2))
	}
}

func addresses(bind string) string {
	if bind == "" || bind == "*" {
		return "all addresses"
	}
	return bind
}

func printSettings(w io.Writer, head string, list []adopt.Setting) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", head)
	width := 0
	for _, s := range list {
		width = max(width, len(settingText(s)))
	}
	for _, s := range list {
		fmt.Fprintln(w, "  "+strings.TrimRight(fmt.Sprintf("%-*s  %s", min(width, 44), settingText(s), s.Why), " "))
	}
}

func settingText(s adopt.Setting) string { return s.Name + "=" + sayable(s.Value) }
