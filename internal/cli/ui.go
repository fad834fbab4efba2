package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/ui"
)

// mostPort is the greatest number of a TCP port.
const mostPort = 65535

func newUI(a *app) *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show all instances on a page in a browser, live",
		Long: `Show all instances on a page in a browser, live: volumes and memory, leases, queries, durable
state, warnings and logs, with buttons for branch, mark, rewind, reset, backup and down.

It prints a link that lets one browser in, once, and another link when that one was used. The
page is served on 127.0.0.1 until Ctrl-C, and looks at the instances while a browser shows it.`,
		Example: `  ramaria ui
  ramaria ui --port 8765      # for ssh -L 8765:127.0.0.1:8765`,
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runUI(cmd.Context(), a, port)
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "listen on this port of 127.0.0.1 (default: any free one)")
	return cmd
}

func runUI(ctx context.Context, a *app, port int) error {
	if port < 0 || port > mostPort {
		return usageError{fmt.Errorf("serve the page on port %d: ports are 1 to %d\nhint: ramaria ui takes any free one", port, mostPort)}
	}
	said := false
	s, err := ui.Start(ctx, ui.Config{
		Engine: a.engine, Port: port, Version: version,
		Link: func(url string) {
			fmt.Fprintln(a.stdout, url)
			if !said {
				said = true
				a.say("open that link; it lets one browser in, once, and the next link is printed then. Ctrl-C ends")
			}
		},
	})
	if err != nil {
		return err
	}
	return s.Serve(ctx)
}
