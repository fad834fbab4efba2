// Terminal draws the picture at the head of README.md: it runs the commands of the
// README's second block, in a home of its own, on a generated dump, and draws what
// they print and how long each took as docs/terminal-light.svg and
// docs/terminal-dark.svg. Passwords and the path of the volume are cut short.
//
//	go run ./packaging/terminal [-runs 5] [-servers DIR] bin/ramaria
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

// options are the flags.
type options struct {
	ramaria string // path of the program
	readme  string // page with the commands
	out     string // directory of the pictures
	servers string // directory of fetched servers to use; "" has a home of its own fetch one
	runs    int    // sessions to run
	times   bool   // draw how long the commands took
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "sessions to run; the fastest is drawn")
	flag.StringVar(&o.readme, "readme", "README.md", "page with the commands")
	flag.StringVar(&o.out, "out", "docs", "directory of the pictures")
	flag.StringVar(&o.servers, "servers", "", "directory of fetched servers, so that none is fetched")
	flag.BoolVar(&o.times, "times", true, "draw how long the commands took; a busy machine shows nothing by it")
	flag.Parse()
	o.ramaria = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.ramaria == "" || o.runs < 1 {
		return errors.New("invalid arguments: want the path of ramaria, and at least one run")
	}
	page, err := os.ReadFile(o.readme)
	if err != nil {
		return fmt.Errorf("read commands: %w", err)
	}
	commands, err := readCommands(string(page))
	if err != nil {
		return fmt.Errorf("read commands of %s: %w", o.readme, err)
	}
	if o.ramaria, err = filepath.Abs(o.ramaria); err != nil {
		return fmt.Errorf("find ramaria: %w", err)
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
