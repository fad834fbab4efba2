package dumper

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/ramaria-db/ramaria/internal/server"
)

// Run is a run of a dumper.
type Run struct {
	Of *server.Server
	// What is dumped, for errors, and Config an option file with a password.
	What, Config string
	Args         []string
	// Step is told what the dumper says on stderr, line by line, if it is to say what it does.
	Step func(line string)
}

// Do has the dumper write, and take read it to its end.
func (d Run) Do(ctx context.Context, take func(io.Reader) error) error {
	if len(d.Of.Dumper.Argv) == 0 {
		return fmt.Errorf("dump %s: %s comes without its dumper\nhint: ramaria server fetch %s:%s", d.What, d.Of.Name(), d.Of.Flavour, d.Of.Version.Series())
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	running, stop := context.WithCancel(ctx)
	defer stop()
	dumped := make(chan error, 1)
	go func() {
		dumped <- server.Tool{Program: d.Of.Dumper, Args: d.Args, Config: d.Config, Out: w, Fault: saidError, Step: d.Step}.Run(running)
		w.Close() // which take sees
	}()
	terr := take(r)
	ended := len(dumped) > 0 // if it failed, that is why take did
	if terr != nil {
		stop()
	}
	err = <-dumped
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case terr != nil && !ended:
		return terr
	case err != nil:
		return fmt.Errorf("dump %s: %w", d.What, err)
	}
	return terr
}

// saidError is of what a dumper says is wrong. That of MariaDB leaves out a table that was dropped meanwhile, says so, and
// succeeds, where it writes rows alone.
var saidError = regexp.MustCompile(`(?m)^(mysqldump: |mariadb-dump: )?(Error|Got error|Couldn't)\b`)
