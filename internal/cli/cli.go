// Package cli is the command line: one file per command, each an options struct,
// its flags, and a function that does it. Answers go to stdout, talk to stderr;
// what an error means is in its text, its hint, and the exit status.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

// Set by the linker; see Makefile.
var (
	version = "dev"
	commit  = "unknown"
)

// app is what every command works with.
type app struct {
	home     string
	host     host.Host
	places   host.Places
	uid      int
	account  server.Account
	memo     memo.Store
	registry instance.Registry

	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
	terminal bool // stderr is one
}

// Main runs one command line and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	a := &app{uid: os.Geteuid(), stdin: stdin, stdout: stdout, stderr: stderr}
	if f, ok := stderr.(*os.File); ok {
		a.terminal = term.IsTerminal(int(f.Fd()))
	}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var status statusError
	if errors.As(err, &status) {
		return int(status) // the command has said what there is to say
	}
	fmt.Fprintf(stderr, "ramaria: %s\n", strings.TrimSpace(err.Error()))
	return exitCode(ctx, err)
}

// Root returns the command tree, for what is generated from it.
func Root() *cobra.Command { return newRoot(&app{}) }

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "ramaria",
		Short: "Run real MySQL and MariaDB servers in RAM",
		Long: `Ramaria runs real MySQL and MariaDB servers in RAM: a server with your data in it,
up in a blink, gone without a trace.

  ramaria up --from dump.sql       a server with a dump loaded; prints its DSN
  ramaria run -- pytest            a private server around a command
  ramaria demo                     see what it does on this machine`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version + " (commit " + commit + ")",
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.HasSubCommands() {
				return nil // it prints its help
			}
			return a.open(cmd)
		},
	}
	root.SetVersionTemplate("ramaria {{.Version}}\n")
	onlyOthers(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w\nhint: %s --help", err, cmd.CommandPath())}
	})
	root.PersistentFlags().StringVar(&a.home, "home", os.Getenv("RAMARIA_HOME"), "keep everything below `DIR` instead of the usual places (RAMARIA_HOME)")
	root.AddGroup(&cobra.Group{ID: "main", Title: "Instances:"}, &cobra.Group{ID: "parts", Title: "What they are made of:"}, &cobra.Group{ID: "more", Title: "More:"})
	group := func(id string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("main", newUp(a), newRun(a), newDown(a), newLs(a), newStatus(a), newEnv(a), newSQL(a), newLogs(a))
	group("parts", newImage(a), newServer(a))
	group("more", newDemo(a), newDoctor(a), newBench(a))
	root.AddCommand(newSupervise(a))
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	return root
}

// open finds the user's places, and cleans up after what was killed.
func (a *app) open(cmd *cobra.Command) error {
	var err error
	if a.places, err = host.FindPlaces(a.home, a.uid, os.Getenv); err != nil {
		return err
	}
	if a.uid == 0 {
		a.account.UID, a.account.GID = a.host.ServerAccount()
		// The account that servers run under passes through these to the software and
		// the data that are its own.
		for _, dir := range []string{a.places.Cache, filepath.Dir(a.places.Disk)} {
			if err := os.MkdirAll(dir, 0o711); err != nil {
				return fmt.Errorf("make directory: %w", err)
			}
		}
	}
	a.memo = memo.Store{Dir: a.places.State + "/memo"}
	a.registry = instance.Registry{Dir: a.places.State + "/instances"}
	return a.reap(cmd.Context())
}

// say writes a line of talk.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
