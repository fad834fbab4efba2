package cli

import (
	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/bench/scenario/tier"
)

// newBenchWrite is what `bench tier` starts to write and to read: a process of its own, which can be held back.
func newBenchWrite(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "write DIR",
		Short:  "Write to a directory and read it back, as the lines of stdin say",
		Hidden: true,
		Args:   exactArgs(1, "a directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			return tier.Writer(args[0], a.stdin, a.stdout)
		},
	}
}
