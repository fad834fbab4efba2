package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/front"
)

// anyFront is where the front door listens unless it is told: on this machine only, at any free port.
const anyFront = "127.0.0.1:0"

type frontOptions struct {
	listen string
	linger time.Duration
}

func newFront(a *app) *cobra.Command {
	var o frontOptions
	cmd := &cobra.Command{
		Use:   "front [NAME]",
		Short: "Open a door through which any client leases clones of templates",
		Long: `Open a door through which any client leases clones of templates, without any code for that:
who connects to the database TEMPLATE@ANYTHING is in a clone of the template that belongs to that
name. Connections with the same name share the clone. When the last one has been gone for a moment,
the clone is put back, and the name's next connection finds it as the template is. TEMPLATE@@
gives each connection a clone of its own. Other names are databases of the instance.

A client that is in a clone can ask the door: CALL ramaria.reset() puts the clone back,
CALL ramaria.savepoint() keeps its rows, and CALL ramaria.rollback() puts it back to those.

` + whichOne,
		Example: `  ramaria front --listen 127.0.0.1:3307
  mysql -h 127.0.0.1 -P 3307 -u app -p shop@1      # account and password: ramaria env`,
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeOneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runFront(cmd.Context(), a, a.meant(args), o)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", anyFront, "listen at `HOST:PORT`; port 0 is any free one")
	cmd.Flags().DurationVar(&o.linger, "linger", front.DefaultLinger, "put a clone back when its last connection has been gone for this long")
	return a.named(cmd)
}

func runFront(ctx context.Context, a *app, name string, o frontOptions) error {
	if o.linger < 0 {
		return usageError{fmt.Errorf("use --linger %s: it must not be negative\nhint: --linger 500ms", o.linger)}
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return usageError{fmt.Errorf("use --listen %s: %w\nhint: --listen 127.0.0.1:3307", sayable(o.listen), err)}
	}
	i, err := a.engine.Running(name)
	if err != nil {
		return err
	}
	c := client.New(i.APISocket())
	defer c.Close()
	d, err := front.New(front.Config{Pool: c, Name: name, Linger: o.linger, Log: slog.New(slog.NewTextHandler(a.stderr, nil))})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w\nhint: --listen 127.0.0.1:0 takes any free port; ss -ltnp shows who has this one", err)
	}
	if err != nil {
		return fmt.Errorf("%w\nhint: --listen 127.0.0.1:0", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		a.say("warning: others on the network can reach the door, and guess at the password of ramaria env")
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(i.Endpoint.User, i.Endpoint.Password), Host: l.Addr().String(), Path: "/"}
	fmt.Fprintln(a.stdout, u.String())
	a.say("the door is open; connect to the database TEMPLATE@NAME. Ctrl-C closes it")
	return d.Serve(ctx, l)
}
