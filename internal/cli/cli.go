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
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Set by the linker; see Makefile.
var (
	version = "dev"
	commit  = "unknown"
)

// app is what every command works with.
type app struct {
	engine engine.Engine
	args   []string // the command line, without the program's name

	stdin    io.Reader
	stdout   *output
	stderr   io.Writer
	terminal bool // stderr is one
	shown    bool // stdout is one

	// inherited and umask are the caller's, for commands that are run on its behalf.
	inherited sys.Inherited
	umask     int
}

// Main runs one command line and returns the exit status.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := heed(stderr)
	defer stop()
	out := &output{w: stdout}
	a := &app{args: args, stdin: stdin, stdout: out, stderr: stderr, inherited: sys.HoldInherited()}
	a.engine = engine.Engine{UID: os.Geteuid(), Listener: a}
	if a.engine.UID == 0 {
		// Servers of root run under another account, which must be able to reach its
		// programs and its data; what is private is made so file by file.
		a.umask = syscall.Umask(0o022)
	}
	if f, ok := stderr.(*os.File); ok {
		a.terminal = term.IsTerminal(int(f.Fd()))
	}
	if f, ok := stdout.(*os.File); ok {
		a.shown = term.IsTerminal(int(f.Fd()))
	}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("write answer: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	var status statusError
	if errors.As(err, &status) {
		return int(status) // the command has said what there is to say
	}
	fmt.Fprintf(stderr, "ramaria: %s\n", progress.Plain(a.words(ctx, err)))
	return exitCode(ctx, err)
}

// heed returns a context that ends with the first signal, upon which a command undoes what it
// began. A second one is only answered: people press Ctrl-C twice. The third ends at once.
func heed(stderr io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, heeded()...)
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		cancel()
		<-signals
		signal.Stop(signals)
		fmt.Fprintln(stderr, "ramaria: cleaning up; once more ends at once, and leaves what is there")
	}()
	return ctx, func() { signal.Stop(signals); cancel() }
}

// heeded are the signals that end a command. One that the caller has ignored, as
// nohup does, stays so.
func heeded() []os.Signal {
	var out []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			out = append(out, s)
		}
	}
	return out
}

// output remembers that an answer could not be written: a script must not take
// half of one, or none, for success.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// Root returns the command tree, for what is generated from it.
func Root() *cobra.Command { return newRoot(&app{}) }

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "ramaria",
		Short: "Run real MySQL and MariaDB servers in RAM",
		Long: `Ramaria runs real MySQL and MariaDB servers in RAM, for tests and experiments. It loads
a dump once; from then on a server with that data starts in a tenth of a second.

  ramaria up --from dump.sql       a server with a dump loaded; prints its DSN
  ramaria run -- pytest            a private server around a command
  ramaria demo                     see what it does on this machine`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version + " (commit " + commit + ")",
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := a.begin(cmd)
			if err != nil && cmd.CommandPath() == "ramaria run" { // as runRun does
				a.say("ramaria: %s", err)
				return statusError(exitRunFailed)
			}
			return err
		},
	}
	root.SetVersionTemplate("ramaria {{.Version}}\n")
	onlyOthers(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%s\nhint: %s", flagWords(err), flagHint(cmd, err))}
	})
	root.PersistentFlags().StringVar(&a.engine.Home, "home", os.Getenv("RAMARIA_HOME"), "keep everything below `DIR` instead of the usual places (RAMARIA_HOME)")
	root.AddGroup(&cobra.Group{ID: "main", Title: "Instances:"}, &cobra.Group{ID: "parts", Title: "What they are made of:"}, &cobra.Group{ID: "more", Title: "More:"})
	group := func(id string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("main", newUp(a), newRun(a), newDown(a), newRm(a), newLs(a), newStatus(a), newEnv(a), newSQL(a), newLoad(a), newLogs(a))
	group("main", newBranch(a), newMark(a), newRewind(a), newMove(a), newExport(a), newBackup(a), newRestore(a), newReplica(a), newCluster(a), newHandOver(a))
	group("main", newTemplate(a), newDB(a), newFront(a))
	group("parts", newImage(a), newVolume(a), newWheatfs(a), newServer(a), newService(a), newAdopt(a))
	group("more", newDump(a), newVerify(a), newDemo(a), newDoctor(a), newExporter(a), newBench(a), newUI(a), newTop(a))
	root.AddCommand(newSupervise(a), newMakeBase(a))
	root.SetHelpCommandGroupID("more")
	root.SetCompletionCommandGroupID("more")
	strict(root)
	return root
}

// strict has the commands that cobra brings refuse what they do not know, as all others do: they print a help
// instead, which is taken for an answer where it is sourced.
func strict(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			onlyOthers(c)
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if about, _, err := root.Find(args); len(args) > 0 && (err != nil || about == root) {
					return usageError{fmt.Errorf("unknown command %q\nhint: ramaria --help", "ramaria "+args[0])}
				}
				return nil
			}
		}
	}
}

// begin does what stands before each command.
func (a *app) begin(cmd *cobra.Command) error {
	if a.engine.Home == "" && cmd.Flags().Changed("home") { // of a variable that is not set
		return usageError{errors.New("use home \"\": it is no directory\nhint: --home DIR, or leave it out for the usual places")}
	}
	if cmd.HasSubCommands() && !makesThings(cmd) && cmd.Flags().Lookup("instance") == nil {
		return nil // it prints its help; bench and dump have a subcommand and run
	}
	return a.open(cmd)
}

// open finds the user's places, and cleans up after what was killed.
func (a *app) open(cmd *cobra.Command) error { return a.engine.Open(cmd.Context(), makesThings(cmd)) }

// makers are the commands that make things; the others only look, and also work
// where nothing can be written.
var makers = []string{"ramaria up", "ramaria branch", "ramaria mark", "ramaria rewind", "ramaria move", "ramaria export", "ramaria restore", "ramaria verify", "ramaria run", "ramaria image build", "ramaria image save", "ramaria image pull", "ramaria image push", "ramaria server fetch", "ramaria bench", "ramaria demo", "ramaria backup", "ramaria service install", "ramaria service prepare", "ramaria adopt", "ramaria ui", "ramaria cluster create", "ramaria cluster up"}

func makesThings(cmd *cobra.Command) bool { return slices.Contains(makers, cmd.CommandPath()) }

// say writes a line of talk.
func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.stderr, progress.Plain(fmt.Sprintf(format, args...)))
}

// Note implements engine.Listener.
func (a *app) Note(text string) {
	a.say("%s", text)
	if service.Managed() {
		_ = service.Status(context.Background(), text) // the journal has it
	}
}

// Progress implements engine.Listener.
func (a *app) Progress() (w io.Writer, terminal bool) {
	if service.Managed() {
		return statusWriter{a.stderr}, false
	}
	return a.stderr, a.terminal
}

// statusWriter writes lines that the service manager shows as well.
type statusWriter struct{ io.Writer }

func (s statusWriter) Write(p []byte) (int, error) {
	_ = service.Status(context.Background(), string(p))
	return s.Writer.Write(p)
}
