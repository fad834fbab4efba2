package cli

import "github.com/spf13/cobra"

func newDemo(a *app) *cobra.Command { return &cobra.Command{Use: "demo", RunE: func(*cobra.Command, []string) error { return nil }} }
func newBench(a *app) *cobra.Command { return &cobra.Command{Use: "bench", RunE: func(*cobra.Command, []string) error { return nil }} }
