package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Lab is where whole commands are measured: the ramaria binary with a
// home of its own, a generated dump, and the server that all rows use.
type Lab struct {
	// Exe is the ramaria binary.
	Exe string
	// Dir holds everything; Home is that of the commands.
	Dir, Home string
	// Dump is the standard World with extended inserts, and Database its database.
	Dump, Database string
	Server         *server.Server
	Account        server.Account
	Host           host.Host
	World          fixture.World
	// Sysbench finds sysbench, and MkfsXFS the command line of mkfs.xfs; nil is none, and
	// that of the system.
	Sysbench func(ctx context.Context) (server.Program, error)
	MkfsXFS  func(ctx context.Context) ([]string, error)
	Options  Options
	// Held is the disk as HoldDisk has it, nil before.
	Held *HeldDisk

	data     *Data              // of Options.Dump, once it was asked for
	storages map[string]Storage // by directory, once they were looked at
	// lock is held as long as the lab is in use.
	lock *sys.FileLock
}

// FixtureDatabase is the database that the dump makes and uses.
const FixtureDatabase = "world"

// New makes a lab below parent, which lies on disk, with the servers that are
// in the cache. Close removes it and all that its commands made; what labs of processes that
// were killed have left below parent is removed now.
func New(ctx context.Context, exe, parent string, h host.Host, servers string, srv *server.Server, account server.Account) (_ *Lab, err error) {
	if err := os.MkdirAll(parent, 0o711); err != nil {
		return nil, fmt.Errorf("make lab: %w", err)
	}
	if err := removeLeftovers(ctx, exe, parent, h); err != nil {
		return nil, err
	}
	dir, lock, err := lockedDir(parent)
	if err != nil {
		return nil, fmt.Errorf("make lab: %w", err)
	}
	l := &Lab{
		lock: lock,
		Exe:  exe, Dir: dir, Home: filepath.Join(dir, "home"), Dump: filepath.Join(dir, "world.sql"), Database: FixtureDatabase,
		Server: srv, Account: account, Host: h, World: fixture.World{Database: FixtureDatabase},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close(context.WithoutCancel(ctx)))
		}
	}()
	// The server's account passes through here.
	if err := errors.Join(os.Chmod(dir, 0o711), os.MkdirAll(filepath.Join(l.Home, "cache"), 0o711)); err != nil { //nolint:forbidigo // made just now
		return nil, fmt.Errorf("make lab: %w", err)
	}
	if err := os.Symlink(servers, filepath.Join(l.Home, "cache", "servers")); err != nil {
		return nil, fmt.Errorf("make lab: %w", err)
	}
	f, err := os.Create(l.Dump)
	if err != nil {
		return nil, fmt.Errorf("make lab: %w", err)
	}
	if err := errors.Join(l.World.WriteDump(f, fixture.Extended), f.Close()); err != nil {
		return nil, fmt.Errorf("make lab: %w", err)
	}
	return l, nil
}

// Disk is the place on disk that is measured: the lab's own directory below it has another name
// each time.
func (l *Lab) Disk() string { return filepath.Dir(l.Dir) }

// Close removes the lab. It may be called more than once.
func (l *Lab) Close(ctx context.Context) error {
	if err := errors.Join(l.remove(ctx), l.Held.close()); err != nil {
		return errors.Join(err, l.lock.Unlock()) // the next lab tries again
	}
	return l.lock.UnlockRemove()
}

// remove removes all but the lock, with these flags of `volume rm`. If something cannot be
// removed the home stays, which tells what there is.
func (l *Lab) remove(ctx context.Context, force ...string) error {
	errs := []error{}
	if _, err := os.Stat(l.Home); err == nil {
		_, err := l.Run(ctx, "down", "--all", "--rm")
		errs = append(errs, err)
		_, err = l.Run(ctx, "image", "rm", "--all")
		errs = append(errs, err)
		_, err = l.Run(ctx, append([]string{"volume", "rm", "--all"}, force...)...)
		if err == nil {
			err = l.reclaim(ctx)
		}
		errs = append(errs, err)
	}
	dirs, err := l.HomeDirs()
	if err == nil {
		err = os.RemoveAll(dirs.Shm)
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	return os.RemoveAll(l.Dir)
}

const (
	// reclaimPatience is for how long a zram device may stay in use after its volume was removed: a
	// process with mounts of its own, such as a container that was started meanwhile, holds it.
	reclaimPatience = time.Minute
	// reclaimPoll is the pause between two looks.
	reclaimPoll = 50 * time.Millisecond
)

// reclaim waits until nothing of the volumes is left: without its home no command would ask for a
// device that was in use.
func (l *Lab) reclaim(ctx context.Context) error {
	o, err := l.Opener()
	if err != nil || o.Places.Mounts == "" {
		return err
	}
	for end := time.Now().Add(reclaimPatience); ; {
		if err := o.Reclaim(ctx); err != nil {
			return err
		}
		switch _, err := os.Lstat(o.Places.Mounts); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case time.Now().After(end):
			return fmt.Errorf("free the volumes below %s: a process with mounts of its own has one in use\nhint: ramaria volume ls --all-homes; the next ramaria bench tries again", o.Places.Mounts)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reclaimPoll):
		}
	}
}

// Run runs a ramaria command in the lab and returns its stdout.
func (l *Lab) Run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, l.Exe, append(args, "--home", l.Home)...)
	if i := indexOf(args, "--"); i >= 0 { // ours come before those of the command
		cmd = exec.CommandContext(ctx, l.Exe, append(append(append([]string{}, args[:i]...), "--home", l.Home), args[i:]...)...)
	}
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	cmd.Env = withoutChoices(os.Environ())
	// Interrupted commands clean up after themselves, when they are told so once: Ctrl-C at the
	// terminal is for this process alone, and a second signal would end them at once. If this
	// process is killed the kernel tells them: when the thread ends that forked, see prctl(2).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ramaria %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(talk.String()))
	}
	return out.String(), nil
}

// choices are the variables by which a user says what commands are to use where nothing else is said. Those of a lab say what
// they use, and what they made by a server's path they would not find to satisfy RAMARIA_SERVER=mariadb.
var choices = []string{"RAMARIA_SERVER", "RAMARIA_VOLUME", "RAMARIA_INSTANCE", "RAMARIA_API"}

// withoutChoices returns an environment without these.
func withoutChoices(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(choices, name)
	})
}

// HomeDirs are the directories of the lab's commands.
func (l *Lab) HomeDirs() (host.Places, error) {
	return host.FindPlaces(l.Home, os.Geteuid(), os.Getenv)
}
