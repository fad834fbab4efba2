package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

type upOptions struct {
	specFlags
	fresh      bool
	foreground bool
	acceptLoss bool
}

func newUp(a *app) *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up [NAME]",
		Short: "Create an instance if it is new, start it, print its DSN",
		Long: `Create an instance if it is new, start it, and print its DSN, alone on a line:
mysql://USER:PASSWORD@127.0.0.1:PORT/DATABASE

A running instance is left as it is; a stopped one starts with its data. Flags that
differ from those it was made with are an error, unless --fresh makes it again, which
loses its data and its marks. Data in RAM lives until ` + "`ramaria rm`" + ` or a reboot, and
that of a durable instance outlives both.

--when-full, --recover-within and --history can be changed at any time, and --durable while the
instance does not run: its data stays. --durable=off leaves its archive where it is.

--foreground is for containers and process managers: Ctrl-C or SIGTERM then stops the instance.

` + whichOne,
		Example: `  ramaria up
  ramaria up shop --from shop.sql.gz
  zcat huge.sql.gz | ramaria up --from -
  ramaria up ci --from 'exec:./manage.py migrate' --key "$(git rev-parse HEAD)"`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runUp(cmd.Context(), a, cmd, args[0], &o)
		},
		ValidArgsFunction: a.completeNames,
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.fresh, "fresh", false, "start again from the clean image; what the instance holds is lost, and its marks")
	cmd.Flags().BoolVar(&o.foreground, "foreground", false, "stay for as long as the instance runs, and stop it when told to end")
	cmd.Flags().BoolVar(&o.acceptLoss, "accept-loss", false, acceptLossUsage)
	return noLooseLevel(a.optional(cmd))
}

// acceptLossUsage is the help of --accept-loss.
const acceptLossUsage = "where the archive lacks the end of its log, or that cannot be used, go on with what comes before"

func runUp(ctx context.Context, a *app, cmd *cobra.Command, name string, o *upOptions) error {
	if err := instance.CheckNew(name); err != nil {
		return usageError{err}
	}
	spec, err := o.spec()
	if err != nil {
		return err
	}
	if o.foreground {
		surviveReaders()
	}
	i, err := a.engine.Up(ctx, engine.UpRequest{Name: name, Spec: spec, Options: givenOptions(cmd), Fresh: o.fresh, AcceptLoss: o.acceptLoss, Again: freshCommand(cmd, name), Stdin: a.stdin})
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stdout, i.Endpoint.URL())
	if !o.foreground {
		return nil
	}
	return stayUp(ctx, a, name)
}

// surviveReaders has this process live on when nobody reads what it says, as behind `| head -1`: the end of the
// command would leave the instance running. Caught and not ignored, as what is ignored is so in processes that
// it starts.
func surviveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// stayUp waits until an instance ends, and stops it when ctx ends.
func stayUp(ctx context.Context, a *app, name string) error {
	a.say("instance %s runs; Ctrl-C stops it", name)
	err := a.engine.Await(ctx, name)
	if ctx.Err() == nil {
		return err
	}
	if err := a.engine.Down(context.WithoutCancel(ctx), engine.DownRequest{Name: name}); err != nil {
		return err
	}
	a.say("stopped instance %s", name)
	return nil
}

// freshCommand is the command line of ramaria up with the flags that cmd was given, and --fresh,
// for a shell.
func freshCommand(cmd *cobra.Command, name string) string {
	words := []string{cmd.CommandPath(), server.ShellWord(name)}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name == "fresh" || f.Name == "instance" || f.Name == "foreground" || f.Name == "accept-loss" {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch {
			case f.NoOptDefVal == "":
				words = append(words, "--"+f.Name, server.ShellWord(v))
			case v == f.NoOptDefVal:
				words = append(words, "--"+f.Name)
			default: // behind a space it would be an argument
				words = append(words, "--"+f.Name+"="+server.ShellWord(v))
			}
		}
	})
	return strings.Join(append(words, "--fresh"), " ")
}
