package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/front"
	"github.com/ramaria-db/ramaria/internal/image"
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

Where RAMARIA_API and RAMARIA_TOKEN lead to an instance on another machine, the door is one to its
pool: clients log in here with the token as their password, and get clones only.

A client that is in a clone can ask the door: CALL ramaria.reset() puts the clone back, and the
client's session; CALL ramaria.savepoint() keeps its rows, and CALL ramaria.rollback() puts it back
to those.

` + whichOne,
		Example: `  ramaria front --listen 127.0.0.1:3307
  mysql -h 127.0.0.1 -P 3307 -u app -p shop@1      # account and password: ramaria env`,
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeOneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			if where := os.Getenv(client.EnvVar); len(args) == 0 && strings.Contains(where, "://") {
				return runFarFront(cmd.Context(), a, where, o)
			}
			name, err := a.meant(args)
			if err != nil {
				return err
			}
			return runFront(cmd.Context(), a, name, o)
		},
	}
	cmd.Flags().StringVar(&o.listen, "listen", anyFront, "listen at `HOST:PORT`; port 0 is any free one")
	cmd.Flags().DurationVar(&o.linger, "linger", front.DefaultLinger, "put a clone back when its last connection has been gone for this long")
	return a.named(cmd)
}

// listenAt checks the options, and listens.
func (o frontOptions) listenAt(ctx context.Context, a *app) (net.Listener, error) {
	if o.linger < 0 {
		return nil, usageError{fmt.Errorf("use --linger %s: it must not be negative\nhint: --linger 500ms", o.linger)}
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, usageError{fmt.Errorf("use --listen %s: %w\nhint: --listen 127.0.0.1:3307", sayable(o.listen), err)}
	}
	ip := net.ParseIP(host)
	network := "tcp"
	if ip.To4() != nil {
		network = "tcp4" // else 0.0.0.0 would be all addresses of IPv6 as well
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, o.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w\nhint: --listen 127.0.0.1:0 takes any free port; ss -ltnp shows who has this one", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nhint: --listen 127.0.0.1:0", err)
	}
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		a.say("warning: others on the network can reach the door, and guess at its password")
	}
	return l, nil
}

func runFront(ctx context.Context, a *app, name string, o frontOptions) error {
	l, err := o.listenAt(ctx, a)
	if err != nil {
		return err
	}
	i, err := a.engine.Running(name)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	c := client.New(i.APISocket())
	defer c.Close()
	return serveFront(ctx, a, l, front.Config{Pool: c, Name: name, Linger: o.linger}, front.Login{User: i.Endpoint.User, Password: i.Endpoint.Password})
}

// runFarFront opens a door to the pool of an instance on another machine.
func runFarFront(ctx context.Context, a *app, where string, o frontOptions) error {
	token, err := client.Token()
	if err != nil {
		return err
	}
	c := client.NewRemote(where, token)
	defer c.Close()
	st, err := c.Status(ctx) // what is wrong with the address, or the token, is to be known now
	if err != nil {
		return err
	}
	l, err := o.listenAt(ctx, a)
	if err != nil {
		return err
	}
	login := front.Login{User: image.DefaultUser, Password: token}
	return serveFront(ctx, a, l, front.Config{Pool: c, Name: st.Name, Login: login, Linger: o.linger}, login)
}

func serveFront(ctx context.Context, a *app, l net.Listener, c front.Config, login front.Login) error {
	c.Log = slog.New(slog.NewTextHandler(a.stderr, nil))
	d, err := front.New(c)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	u := url.URL{Scheme: "mysql", User: url.UserPassword(login.User, login.Password), Host: l.Addr().String(), Path: "/"}
	if c.Login != (front.Login{}) { // who started it has the token, which opens more than this door
		u.User = url.User(login.User)
		a.say("the password is the token")
	}
	fmt.Fprintln(a.stdout, u.String())
	a.say("the door is open; connect to the database TEMPLATE@NAME. Ctrl-C closes it")
	return d.Serve(ctx, l)
}
