package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// drawTerminal draws the terminal at the head of README.md.
func drawTerminal(ctx context.Context, o options) error {
	page, err := os.ReadFile(o.readme)
	if err != nil {
		return fmt.Errorf("read commands: %w", err)
	}
	commands, err := readCommands(string(page))
	if err != nil {
		return fmt.Errorf("read commands of %s: %w", o.readme, err)
	}
	s, err := fastest(ctx, o, commands)
	if err != nil {
		return err
	}
	if !o.times {
		s = s.hideTimes()
	}
	for name, t := range map[string]theme{"terminal-light.svg": light, "terminal-dark.svg": dark} {
		if err := os.WriteFile(filepath.Join(o.out, name), draw(s, t), 0o644); err != nil {
			return fmt.Errorf("write picture: %w", err)
		}
	}
	return nil
}
