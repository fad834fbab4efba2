package cli

import (
	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
)

// newBenchFsync is what `bench` starts to measure a place whose I/O is held back.
func newBenchFsync(a *app) *cobra.Command {
	writes := false
	cmd := &cobra.Command{
		Use:    "fsync DIR",
		Short:  "Measure what an fsync takes in a directory, from the first line of stdin on",
		Hidden: true,
		Args:   exactArgs(1, "a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return lab.FsyncChild(cmd.Context(), args[0], writes, a.stdin, a.stdout)
		},
	}
	cmd.Flags().BoolVar(&writes, "writes", false, "how many writes a second are made, instead")
	return cmd
}
