// Man writes Ramaria's man pages into a directory. It is a program of its own, so
// that the library for it is no part of the binary that everybody starts.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"

	"github.com/ramaria-db/ramaria/internal/cli"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("it takes a directory, got %d arguments", len(args))
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	root := cli.Root()
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: "RAMARIA", Section: "1", Source: root.Version, Manual: "Ramaria"}
	if err := doc.GenManTree(root, header, args[0]); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	return nil
}
