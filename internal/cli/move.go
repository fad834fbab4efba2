package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newMove(a *app) *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "move NAME --volume KIND",
		Short: "Move an instance to another volume while it runs",
		Long: `Move an instance to another volume: from RAM to disk when its data outgrows the memory, or
back. Its files are copied while the server works; then writes wait for the last changes,
and the server restarts on the copy. Connections are closed; the DSN stays, with port and
socket, and so do accounts, marks, templates, leases and the archive of a durable instance.

Until the server restarts, an error, Ctrl-C or a kill leaves the instance where it is. An
instance that does not run is moved as well. One that lies there already is left alone.`,
		Example: `  ramaria move shop --volume disk
  ramaria move shop --volume xfs:8G`,
		Args: exactArgs(1, "the name of an instance"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMove(cmd.Context(), a, args[0], to)
		},
		ValidArgsFunction: a.completeOneName,
	}
	cmd.Flags().StringVar(&to, "volume", "", "where to: `KIND[:SIZE]`, KIND one of xfs, shm, tmpfs, zram, ramfs, disk")
	_ = cmd.RegisterFlagCompletionFunc("volume", cobra.FixedCompletions(kindNames(), cobra.ShellCompDirectiveNoFileComp))
	return a.named(cmd)
}

// kindNames are the kinds of volumes.
func kindNames() []string {
	var names []string
	for _, k := range volume.Kinds {
		names = append(names, string(k))
	}
	return names
}

func runMove(ctx context.Context, a *app, name, to string) error {
	if to == "" {
		return usageError{errors.New("move: to which volume is missing\nhint: ramaria move NAME --volume disk")}
	}
	m, err := a.engine.Move(ctx, engine.MoveRequest{Name: name, Volume: to})
	if err != nil {
		return err
	}
	switch {
	case m.There:
		a.say("instance %s lies in volume %s already", name, m.Instance.Volume)
	case m.Ran:
		a.say("moved %s (%s) to volume %s in %s; it was unreachable for %s, and writes waited for %s before; the DSN stays", name, volume.FormatBytes(m.Bytes), m.Instance.Volume, short(m.Took), short(m.Pause), short(m.Held))
	default:
		a.say("moved %s (%s), which does not run, to volume %s in %s; the DSN stays", name, volume.FormatBytes(m.Bytes), m.Instance.Volume, short(m.Took))
	}
	fmt.Fprintln(a.stdout, m.Instance.Endpoint.URL())
	return nil
}
