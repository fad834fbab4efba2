// Pictures draws the pictures of the documentation from real runs, each in a home of its own
// on a generated dump:
//
//   - docs/terminal-*.svg: the commands of README.md's second block, what they print, and
//     how long each took. Passwords and the path of the volume are cut short.
//   - docs/ui-*.png: the page of ramaria ui, with servers that have something to do.
//   - docs/report-*.png: the head of a report of ramaria bench.
//
// The latter two need Chromium and pngquant.
//
//	go run ./packaging/pictures [-only terminal] [-servers DIR] bin/ramaria
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// options are the flags.
type options struct {
	ramaria string        // path of the program
	readme  string        // page with the commands
	out     string        // directory of the pictures
	servers string        // directory of fetched servers to use; "" has each home fetch one
	only    string        // picture to draw; "" is all
	runs    int           // sessions of the terminal
	times   bool          // draw how long the commands took
	watch   time.Duration // how long the page of ramaria ui watches the servers
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 5, "sessions of the terminal to run; the fastest is drawn")
	flag.StringVar(&o.readme, "readme", "README.md", "page with the commands of the terminal")
	flag.StringVar(&o.out, "out", "docs", "directory of the pictures")
	flag.StringVar(&o.only, "only", "", "draw only this: terminal, ui or report")
	flag.StringVar(&o.servers, "servers", "", "directory of fetched servers, so that none is fetched")
	flag.BoolVar(&o.times, "times", true, "draw how long the commands took; a busy machine shows nothing by it")
	flag.DurationVar(&o.watch, "watch", 5*time.Minute, "how long the page watches the servers: its plots are five minutes wide")
	flag.Parse()
	o.ramaria = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	if o.ramaria == "" || o.runs < 1 {
		return errors.New("invalid arguments: want the path of ramaria, and at least one run")
	}
	if o.ramaria, err = filepath.Abs(o.ramaria); err != nil {
		return fmt.Errorf("find ramaria: %w", err)
	}
	pictures := []struct {
		name string
		draw func(context.Context, options) error
	}{{"terminal", drawTerminal}, {"ui", drawUI}, {"report", drawReport}}
	drawn := 0
	for _, p := range pictures {
		if o.only != "" && o.only != p.name {
			continue
		}
		if err := p.draw(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		drawn++
	}
	if drawn == 0 {
		return fmt.Errorf("there is no picture %q", o.only)
	}
	return nil
}
