package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/supervisor"
)

// newMakeBase is what a supervisor starts to make a base backup of a snapshot.
func newMakeBase(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "make-base NAME",
		Short:  "Make a base backup of a snapshot, as a supervisor's order on standard input says",
		Hidden: true,
		Args:   exactArgs(1, "the name of an instance"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runMakeBase(cmd.Context(), a)
		},
	}
}

func runMakeBase(ctx context.Context, a *app) error {
	var o supervisor.BaseOrder
	if err := json.NewDecoder(a.stdin).Decode(&o); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	b, err := a.engine.MakeBase(ctx, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(a.stdout).Encode(b)
}
