package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/bucket/s3"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type restoreOptions struct {
	specFlags
	at, position, as string
	acceptLoss       bool
}

func newRestore(a *app) *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore SOURCE [--at TIME | --at-position POSITION] --as NEW",
		Short: "Start a new instance with what a durable one had at some time",
		Long: `Start a new instance with the data that a durable one had at some time, or has now, and
print its DSN. SOURCE is the instance, which may run, be stopped or be removed, the
directory of an archive, which may be another machine's and not writable, or a bucket with
a copy of one, s3://BUCKET/PREFIX; what is needed of that is downloaded.

TIME is 14:03 (the last one), '2026-11-25 14:03:00', 2026-11-25T14:03:00+01:00, or -10m:
the new instance has all transactions up to then, those of that second included.
POSITION is EPOCH:FILE:OFFSET, as ramaria backup ls and error messages have it.

The new instance has its own accounts, port and server id, as a branch has. With --durable
it begins an archive of its own; but it is the old one again, with its accounts and its
port, and goes on with the same archive, if --archive names that, or if the archive is of
an instance of that name.`,
		Example: `  ramaria restore shop --at -10m --as before-the-mistake
  ramaria restore /backup/shop --at '2026-11-25 14:03:00' --as shop-then
  ramaria restore shop --as shop --durable
  ramaria restore s3://backups/shop --as shop --durable`,
		Args: exactArgs(1, "the name of an instance, the directory of an archive, or the URL of a bucket"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRestore(cmd.Context(), a, args[0], &o)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			names, directive := a.completeNames(cmd, args, word)
			if len(args) == 0 && directive == cobra.ShellCompDirectiveNoFileComp {
				directive = cobra.ShellCompDirectiveDefault // a directory
			}
			return names, directive
		},
	}
	o.addTo(cmd)
	return noLooseLevel(a.named(cmd))
}

func (o *restoreOptions) addTo(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "", "`TIME` that the data is to be of (default: the end of the archive)")
	f.StringVar(&o.position, "at-position", "", "`POSITION` in the log that the data is to be of, EPOCH:FILE:OFFSET")
	f.StringVar(&o.as, "as", "", "`NEW`, the name of the new instance")
	f.StringVar(&o.server, "server", "", "server `SOFTWARE` of the series that wrote the archive (default: found, or fetched)")
	f.BoolVar(&o.acceptLoss, "accept-loss", false, acceptLossUsage)
	o.addAround(cmd)
	for _, flag := range []string{"at", "at-position", "as"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions)
	}
}

func runRestore(ctx context.Context, a *app, source string, o *restoreOptions) error {
	if strings.TrimSpace(source) == "" {
		return usageError{fmt.Errorf("restore %q: it names no archive\nhint: ramaria restore NAME|DIR|s3://BUCKET/PREFIX --as NEW; . is the current directory", source)}
	}
	if o.as == "" {
		return usageError{fmt.Errorf("restore %s: the new instance has no name\nhint: --as NEW", source)}
	}
	until, err := o.until(source)
	if err != nil {
		return err
	}
	if instance.IsBucket(source) {
		at, err := s3.ParseURL(source)
		if err != nil {
			return usageError{err}
		}
		source = at.Pinned().String()
	}
	o.user = image.DefaultUser // the archive says which
	spec, err := o.spec()
	if err != nil {
		return err
	}
	if o.server == "" {
		spec.Server = "" // RAMARIA_SERVER is for what has no data yet
	}
	r, err := a.engine.Restore(ctx, engine.RestoreRequest{Source: source, Until: until, AcceptLoss: o.acceptLoss, New: o.as, Spec: spec})
	if err != nil {
		return err
	}
	a.say("restored %s from the archive of %s in %s: %s of a base and %s of the log, up to %s", o.as, r.Instance, short(r.Took),
		volume.FormatBytes(r.Restored), volume.FormatBytes(r.Replayed), reached(r))
	if !r.Behind.IsZero() {
		a.say("note: a transaction behind that has the time %s: it took long, or a clock was put back\nhint: --at-position restores up to another place", r.Behind.Local().Format(timeFormat))
	}
	fmt.Fprintln(a.stdout, r.URL)
	return nil
}

// reached says where a restore ended.
func reached(r engine.Restored) string {
	at := r.Time
	if at.IsZero() {
		at = r.Base.Time
	}
	text := fmt.Sprintf("%s, position %s", at.Local().Format(timeFormat), durable.FormatPosition(r.Epoch, r.End))
	if !r.More {
		text += ", which is the end of its log"
	}
	return text
}

// until is where the restore is to end.
func (o *restoreOptions) until(source string) (u durable.Until, err error) {
	switch at, position := o.given("at"), o.given("at-position"); {
	case at && position:
		err = errors.New("either --at or --at-position\nhint: ramaria restore --help")
	case at:
		u.Time, err = durable.ParseTime(o.at, time.Now())
	case position: // an empty one too: that of a variable that is not set is not the end
		if u.Epoch, u.At, err = durable.ParsePosition(o.position); err != nil {
			err = fmt.Errorf("%w\nhint: ramaria backup ls lists some; without --at-position it is the end of the archive", err)
		}
	}
	if err != nil {
		err = usageError{fmt.Errorf("restore %s: %w", source, err)}
	}
	return u, err
}
