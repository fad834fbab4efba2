package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
)

// newBenchSwap is what `bench` starts to swap to a file as long as it runs itself.
func newBenchSwap(a *app) *cobra.Command {
	parent := os.Getppid()
	return &cobra.Command{
		Use:    "swap FILE",
		Short:  "Swap to a file until stdin ends",
		Hidden: true,
		Args:   exactArgs(1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error {
			return lab.SwapChild(a.engine.Host, args[0], parent, a.stdin, a.stdout)
		},
	}
}
