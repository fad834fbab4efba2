package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Account is the operating system account that a server process runs under; the
// zero value is the caller's own.
type Account struct {
	UID, GID int
}

// StopTimeout is how long a server may take to shut down cleanly before it is
// killed.
const StopTimeout = 5 * time.Minute

// Process is one running server process. Its starter is its parent: when that
// dies, however it dies, the kernel kills the server.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error // the result of Wait; set before done is closed
	// scratchErr is why its temporary files lie in an ordinary directory though they were to
	// have a Scratch.
	scratchErr error
	// Confined says that it reaches nothing but its own files; see Config.Unconfined.
	Confined bool
}

// Syncing says whether what a server syncs is to reach the device.
type Syncing uint8

// A server in RAM, and one that promises no more, need not sync: what it has written
// outlives it in the page cache, and where syncing costs time, that is for nothing. On XFS
// in RAM a DDL statement takes a fifth of the time without.
const (
	Unsynced Syncing = iota
	Synced
	// Mapping is Synced for a server that acknowledges nothing to anybody: it may map its redo log.
	Mapping
)

// Start starts the daemon with the option file at config, confined to what c, which the file was
// rendered from, gives it. Everything that it says goes to log. It returns as soon as the process
// runs; see Ready.
func (s *Server) Start(config string, c Config, account Account, dir string, log *os.File, syncing Syncing) (*Process, error) {
	return s.startWith(config, c, account, dir, nil, nil, log, syncing)
}

// StartScratch is Start with temporary files in a tmpfs of the server's own. Where that cannot be
// mounted, as in a container that may not, they lie in the directory itself: see ScratchErr. A
// Scratch is for one server; nil is Start.
func (s *Server) StartScratch(config string, c Config, account Account, dir string, log *os.File, syncing Syncing, scratch *Scratch) (*Process, error) {
	cmd := s.command(config, account, dir, nil, nil, log)
	cmd.Env = c.Member.environ(cmd.Env)
	return s.launch(cmd, s.confinement(config, c), account, syncing, scratch, c.Member)
}

// StartApart is Start in a session of its own, as that of an instance's supervisor is one.
// Where the kernel shares the processors out by sessions (sched_autogroup, sched(7)), a
// server in the session of its load has another part of a busy machine than one apart
// from it: servers whose speeds are compared are to be started in one way.
func (s *Server) StartApart(config string, c Config, account Account, dir string, log *os.File, syncing Syncing) (*Process, error) {
	cmd := s.command(config, account, dir, nil, nil, log)
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid = false, true // who leads a session leads its group
	return s.launch(cmd, s.confinement(config, c), account, syncing, nil, nil)
}

// startWith is Start with more arguments, and with statements for a daemon that reads
// them from its standard input.
func (s *Server) startWith(config string, c Config, account Account, dir string, args []string, stdin io.Reader, log *os.File, syncing Syncing) (*Process, error) {
	return s.launch(s.command(config, account, dir, args, stdin, log), s.confinement(config, c), account, syncing, nil, nil)
}

// command is that of the daemon.
func (s *Server) command(config string, account Account, dir string, args []string, stdin io.Reader, log *os.File) *exec.Cmd {
	argv := append(append(append([]string{}, s.Daemon.Argv...), "--defaults-file="+config), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, log, log
	// Nothing of the caller's environment is the server's business, least of all
	// MYSQL_* and MARIADB_* variables.
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=" + os.Getenv("TZ")}
	if os.Getenv("TZ") == "" {
		cmd.Env = cmd.Env[:2]
	}
	cmd.Env = append(cmd.Env, s.Daemon.Env...)
	// A process group of its own: Ctrl-C at the terminal is for ramaria, which then
	// stops the server in its own way.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if account != (Account{}) {
		// Set at exec: a later change of uid would clear the parent-death signal.
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(account.UID), Gid: uint32(account.GID)}
	}
	return cmd
}

// launch starts a command of this server, confined to a ruleset if there is one: its paths are those
// that the server sees, with its scratch in place. m is what it is in a cluster, nil for none.
func (s *Server) launch(cmd *exec.Cmd, rules *sys.Ruleset, account Account, syncing Syncing, tmp *Scratch, m *Member) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{}), Confined: rules != nil}
	started := make(chan error)
	go func() {
		// The parent-death signal fires when the thread that forked ends, so this
		// goroutine keeps its thread until the server is gone (prctl(2)). The thread
		// ends with it, and what it is confined to and filtered by with the thread.
		runtime.LockOSThread()
		if err := m.enterNetwork(); err != nil {
			started <- err
			return
		}
		// Before anything that forbids mounts.
		if tmp != nil {
			p.scratchErr = tmp.attach(account, s.ScratchDirs())
		}
		if rules != nil {
			if err := sys.RestrictSelf(*rules); err != nil {
				tmp.release()
				started <- err
				return
			}
		}
		// MariaDB would map a redo log in shared memory, and lose acknowledged commits
		// when killed (docs/durability.md). Where there is no filter the profile still
		// makes that as unlikely as it can.
		if syncing != Mapping {
			_ = sys.FilterCalls(syncing == Unsynced, m.maps())
		}
		err := cmd.Start()
		if err == nil {
			err = p.mark(account)
		}
		started <- err
		if err != nil {
			tmp.release()
			return
		}
		p.err = cmd.Wait()
		tmp.release()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w%s", s.Daemon.Argv[len(s.Daemon.Argv)-1], err, startHint(err, account))
	}
	return p, nil
}

// mark makes the process known as a server's, which the API refuses. It has run no statement yet. A
// server under an account of its own cannot open the API's socket, and need not be marked: in a
// container root may not be able to.
func (p *Process) mark(account Account) error {
	err := sys.MarkServer(p.PID())
	if err == nil || account != (Account{}) || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return errors.Join(err, p.cmd.Process.Kill(), p.cmd.Wait())
}

func startHint(err error, account Account) string {
	if errors.Is(err, os.ErrPermission) && account != (Account{}) {
		return fmt.Sprintf("\nhint: the server runs as uid %d, which must be able to reach this path; choose another --home or --server", account.UID)
	}
	return ""
}

// ScratchErr says why a server that was to have a Scratch has none, nil if it has.
func (p *Process) ScratchErr() error { return p.scratchErr }

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit tells how the process ended: nil for status 0. It is valid after Done.
func (p *Process) Exit() error { return p.err }

// Wait waits for the process to end, or for ctx.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop asks the server to shut down cleanly and waits. When ctx ends or
// StopTimeout passes first, the server is killed and an error returned: its data
// then needs recovery. It may be called more than once.
func (p *Process) Stop(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, StopTimeout)
	defer cancel()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop server: %w", err)
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("stop server: killed, since it did not shut down in time: %w", ctx.Err())
	}
}

// Kill ends the process at once and waits until it is gone.
func (p *Process) Kill() {
	// The only error is that the process has ended already.
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Serving reports whether the process has sessions, or takes them: it has a socket, or a thread of a session, of which
// MySQL closes the socket though it has not ended. It is for a server that shuts down.
func (p *Process) Serving() bool {
	of := filepath.Join("/proc", strconv.Itoa(p.PID()))
	return anyIn(filepath.Join(of, "fd"), func(path string) bool {
		to, err := os.Readlink(path)
		return err == nil && strings.HasPrefix(to, "socket:")
	}) || anyIn(filepath.Join(of, "task"), func(path string) bool {
		name, err := os.ReadFile(filepath.Join(path, "comm"))
		return err == nil && strings.Contains(string(name), "connection")
	})
}

// anyIn reports whether is holds for any entry of a directory; one that cannot be read has none.
func anyIn(dir string, is func(path string) bool) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return is(filepath.Join(dir, e.Name())) })
}

// Cause says in words how a server process ended.
func Cause(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "it shut down"
	case errors.As(err, &exit):
		ws, ok := exit.Sys().(syscall.WaitStatus)
		if ok && ws.Signaled() {
			return fmt.Sprintf("it was killed by signal %d (%s)", ws.Signal(), ws.Signal())
		}
		return fmt.Sprintf("it exited with status %d", exit.ExitCode())
	}
	return err.Error()
}

// Signal is the signal by which a server process ended, 0 if it ended otherwise.
func Signal(err error) syscall.Signal {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return ws.Signal()
		}
	}
	return 0
}

// LogTail returns the last lines of a server log that say what is wrong: its
// errors where there are some, else its last lines.
func LogTail(path string) string {
	const most, lines = 64 << 10, 6
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return ""
		}
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	var errs []string
	for _, l := range all {
		if strings.Contains(l, "[ERROR]") || strings.HasPrefix(l, "ERROR") {
			errs = append(errs, l)
		}
	}
	if len(errs) == 0 {
		errs = all
	}
	return WithoutPasswords(strings.Join(errs[max(0, len(errs)-lines):], "\n"))
}

// WithoutPasswords leaves the passwords out of what a server says.
func WithoutPasswords(text string) string { return passwords.ReplaceAllString(text, "${1}...") }

// passwords are those in statements that a server repeats when they fail.
var passwords = regexp.MustCompile(`(?i)(IDENTIFIED BY )'(?:[^']|'')*'`)
