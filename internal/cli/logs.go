package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/progress"
)

// followPoll is how often `logs -f` looks for more.
const followPoll = 200 * time.Millisecond

func newLogs(a *app) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs [NAME]",
		Short: "Print the server's log of the current or last run",
		Long: "Print the server's log of the current or last run. server.log.old in the instance's directory\n" +
			"is the log of the run before, or, once this run's log has passed 16 MB, its earlier part.\n\n" + whichOne,
		Args:              maxArgs(1),
		ValidArgsFunction: a.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLogs(cmd.Context(), a, args[0], follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing as the log grows, also across restarts")
	return a.optional(cmd)
}

func runLogs(ctx context.Context, a *app, name string, follow bool) error {
	r, err := a.engine.Registry.Get(name)
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
	old, _ := os.Stat(r.OldLogPath())
	out := io.Writer(a.stdout)
	if a.shown {
		out = progress.PlainWriter(out)
	}
	t := &tail{path: r.LogPath(), oldPath: r.OldLogPath(), out: out, f: f, old: old}
	defer func() { t.f.Close() }()
	for {
		if err := t.print(); err != nil {
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
		if _, err := os.Stat(t.path); err != nil {
			if _, err := a.engine.Registry.Get(name); err != nil {
				return nil // it was removed
			}
		}
	}
}

// tail prints a log as it grows.
type tail struct {
	path, oldPath string
	out           io.Writer
	// f is the log, printed up to its offset, and old what was aside then, nil for nothing.
	f   *os.File
	old os.FileInfo
}

// print prints what is new. A start puts the log aside, and begins another file under its name; one
// that has become large is copied aside, and cut to nothing. What is left of either comes first.
func (t *tail) print() error {
	mine, err := t.f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(t.path)
	old, _ := os.Stat(t.oldPath) // in this order: the one that a start has renamed is not taken for a copy
	switch {
	case err != nil: // a start is between the two
	case !os.SameFile(mine, now):
		next, err := os.Open(t.path)
		if err != nil {
			break
		}
		if _, err := io.Copy(t.out, t.f); err != nil {
			return errors.Join(err, next.Close())
		}
		t.f.Close()
		t.f, t.old = next, old
	case old != nil && !os.SameFile(mine, old) && (t.old == nil || !os.SameFile(t.old, old) || !t.old.ModTime().Equal(old.ModTime())):
		if err := t.rest(); err != nil {
			return err
		}
		t.old = old
	}
	_, err = io.Copy(t.out, t.f)
	return err
}

// rest prints what the copy of the log has beyond what was printed, and starts over.
func (t *tail) rest() error {
	at, err := t.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	f, err := os.Open(t.oldPath)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if at > fi.Size() {
		at = 0 // the copy has the end alone: rather some lines twice than none
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(t.out, f); err != nil {
		return err
	}
	_, err = t.f.Seek(0, io.SeekStart)
	return err
}
