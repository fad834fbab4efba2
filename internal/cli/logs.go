package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// followPoll is how often `logs -f` looks for more.
const followPoll = 200 * time.Millisecond

func newLogs(a *app) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:               "logs [NAME]",
		Short:             "Print the server's log of the present or last run",
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLogs(cmd.Context(), a, nameArg(args), follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as the log grows, also across restarts")
	return cmd
}

func runLogs(ctx context.Context, a *app, name string, follow bool) error {
	r, err := a.registry.Get(name)
	if err != nil {
		return err
	}
	f, err := os.Open(r.LogPath())
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read log of instance %s: it has none yet\nhint: ramaria up %s", name, name)
	}
	if err != nil {
		return fmt.Errorf("read log of instance %s: %w", name, err)
	}
	defer func() { f.Close() }()
	for {
		if _, err := io.Copy(a.stdout, f); err != nil {
			return fmt.Errorf("read log of instance %s: %w", name, err)
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPoll):
		}
		// A start begins a new file under the same name; a log that has become large is cut to
		// nothing.
		mine, err := f.Stat()
		if err != nil {
			return fmt.Errorf("read log of instance %s: %w", name, err)
		}
		now, err := os.Stat(r.LogPath())
		if err != nil {
			if _, err := a.registry.Get(name); err != nil {
				return nil // it was removed
			}
			continue
		}
		if os.SameFile(mine, now) {
			if at, err := f.Seek(0, io.SeekCurrent); err == nil && now.Size() < at {
				_, _ = f.Seek(0, io.SeekStart)
			}
			continue
		}
		next, err := os.Open(r.LogPath())
		if err != nil {
			continue
		}
		f.Close()
		f = next
	}
}
