package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/sys"
)

func newRun(a *app) *cobra.Command {
	var o specFlags
	var acceptLoss bool
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run a command with a private instance, removed afterwards",
		Long: `Run a command with a private instance, and remove the instance afterwards, also on
Ctrl-C. The command finds it by the usual variables (DATABASE_URL, MYSQL_HOST,
MYSQL_TCP_PORT, MYSQL_UNIX_PORT, MYSQL_USER, MYSQL_PWD, MYSQL_DATABASE, ...); mysql,
mariadb and their tools connect to it as well.

With --durable --archive DIR the data outlives the run: the next run with that archive goes
on with it.

The exit status is the command's; 125 if ramaria itself failed, 126 if the command
cannot be executed, 127 if it is not found, 128+N after signal N.`,
		Example: `  ramaria run -- pytest
  ramaria run --from schema.sql --from fixtures.sql -- npm test`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				a.say("ramaria: run: no command is given\nhint: ramaria run -- COMMAND")
				return statusError(exitRunFailed)
			}
			if err := refuseLooseLevel(cmd, args[:1], "-- %[2]s is a program of that name"); err != nil && cmd.ArgsLenAtDash() < 0 {
				a.say("ramaria: %s", err)
				return statusError(exitRunFailed)
			}
			return runRun(cmd.Context(), a, args, &o, acceptLoss)
		},
	}
	cmd.Flags().SetInterspersed(false)
	// 125 and not 2, which may be the command's.
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		a.say("ramaria: %s\nhint: ramaria run --help", flagWords(err))
		return statusError(exitRunFailed)
	})
	o.add(cmd)
	cmd.Flags().BoolVar(&acceptLoss, "accept-loss", false, acceptLossUsage)
	return cmd
}

// runRun turns every failure of its own into exit status 125, so that 1 is the
// command's.
func runRun(ctx context.Context, a *app, argv []string, o *specFlags, acceptLoss bool) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EISDIR) {
			a.say("ramaria: run %s: it is not a program that uid %d may execute\nhint: ls -l %s; a script needs chmod +x, or its shell: ramaria run -- sh SCRIPT", argv[0], a.engine.UID, server.ShellWord(argv[0]))
			return statusError(exitRunCannotExec)
		}
		if strings.Contains(argv[0], "/") {
			a.say("ramaria: run %s: there is no such file\nhint: ls -l %s", argv[0], server.ShellWord(filepath.Dir(argv[0])))
			return statusError(exitRunNotFound)
		}
		a.say("ramaria: run %s: command not found\nhint: ramaria run -- sh -c '...' takes what a shell understands", argv[0])
		return statusError(exitRunNotFound)
	}
	status, err := a.runWith(ctx, path, argv, o, acceptLoss)
	if err != nil {
		a.say("ramaria: %s", a.words(ctx, err))
		if ctx.Err() != nil {
			return statusError(exitInterrupted)
		}
		return statusError(exitRunFailed)
	}
	return statusError(status)
}

// runWith makes the instance, runs the command, and removes the instance.
func (a *app) runWith(ctx context.Context, path string, argv []string, o *specFlags, acceptLoss bool) (status int, err error) {
	spec, err := o.spec()
	if err != nil {
		return 0, err
	}
	err = a.engine.Run(ctx, engine.RunRequest{Spec: spec, AcceptLoss: acceptLoss, Stdin: a.stdin}, func(i *instance.Instance) (err error) {
		a.warnOwnOptions()
		status, err = runCommand(ctx, path, argv, append(commandEnv(os.Environ(), i.Spec), supervisor.Env(i)...), a)
		return err
	})
	return status, err
}

// runCommand runs the command in the foreground and returns its exit status. A
// terminal sends Ctrl-C to the command as well, which then ends in its own way;
// other signals are passed on.
func runCommand(ctx context.Context, path string, argv, env []string, a *app) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, append(heeded(), syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)...)
	defer signal.Stop(signals)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	// The command is the caller's, with its descriptors and its umask; the server is
	// started by now.
	a.inherited.Release()
	if a.engine.UID == 0 {
		syscall.Umask(a.umask)
	}
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: a.stdin, Stdout: a.stdout.w, Stderr: a.stderr}
	if err := cmd.Start(); err != nil {
		a.say("ramaria: run %s: %v", argv[0], err)
		return exitRunCannotExec, nil
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	fromTerminal := sys.Foreground()
	for {
		select {
		case sig := <-signals:
			if fromTerminal && (sig == os.Interrupt || sig == syscall.SIGQUIT) {
				continue
			}
			// The only error is that it has ended already.
			_ = cmd.Process.Signal(sig)
		case err := <-done:
			return status(err)
		}
	}
}

// status is the exit status that a shell would show.
func status(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, fmt.Errorf("run command: %w", err)
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return exit.ExitCode(), nil
}
