package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/wheatfs"
)

// Scratch is a place for temporary files that was made for rows of a scenario.
type Scratch struct {
	// Dir is its directory.
	Dir string
	// Took is how long it took to make and to mount it, 0 for what was there before.
	Took time.Duration
	// Throttle is what those join who write there, and Memory a limit of their memory; nil for none.
	Throttle, Memory *runner.Throttle
	// InRAM is how many bytes of it lie in memory, and Spilled how many on the disk or in swap; nil where
	// that cannot be told.
	InRAM, Spilled func() (int64, error)

	ends   []func() error
	around func(work func() error) error
}

// Use calls work, which writes there, with what it takes meanwhile: the kernel swaps to a file. The error is that of
// work, or of what it takes.
func (s *Scratch) Use(work func() error) error {
	if s == nil || s.around == nil {
		return work()
	}
	return s.around(work)
}

// spillPoll is the pause between two looks at what was spilled.
const spillPoll = 20 * time.Millisecond

// MostSpilled calls work and returns how many bytes were spilled at most meanwhile, NaN where that is not
// known. The error is that of work, or of a look.
func (s *Scratch) MostSpilled(work func() error) (most float64, err error) {
	if s == nil || s.Spilled == nil {
		return math.NaN(), work()
	}
	done, looked := make(chan struct{}), make(chan error, 1)
	var n int64
	go func() {
		for {
			now, err := s.Spilled()
			if n = max(n, now); err != nil {
				looked <- err
				return
			}
			select {
			case <-done:
				looked <- nil
				return
			case <-time.After(spillPoll):
			}
		}
	}()
	err = work()
	close(done)
	err = errors.Join(err, <-looked)
	return float64(n), err
}

// Close takes it away. It may be called more than once, and of none.
func (s *Scratch) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for len(s.ends) > 0 {
		last := len(s.ends) - 1
		errs = append(errs, s.ends[last]())
		s.ends = s.ends[:last]
	}
	return errors.Join(errs...)
}

func (s *Scratch) end(f func() error) { s.ends = append(s.ends, f) }

// made takes back what was begun if err is one, and says how long it took since began.
func (s *Scratch) made(began time.Time, what string, err error) (*Scratch, error) {
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", what, err), s.Close())
	}
	s.Took = time.Since(began)
	return s, nil
}

// DirScratch is a new directory on the disk.
func (l *Lab) DirScratch(dir string) (*Scratch, error) {
	if err := os.Mkdir(dir, 0o711); err != nil {
		return nil, err
	}
	return &Scratch{Dir: dir, ends: []func() error{func() error { return os.RemoveAll(dir) }}}, nil
}

// SyncScratch is a file system on the disk, mounted with -o sync.
func (l *Lab) SyncScratch(ctx context.Context, dir string, size int64) (*Scratch, error) {
	began := time.Now()
	m, err := l.MountSync(ctx, dir, size)
	if err != nil {
		return nil, err
	}
	return &Scratch{Dir: dir, Took: time.Since(began), ends: []func() error{m.Remove}}, nil
}

// SlowScratch is a file system on a disk that is held to rate bytes a second each way.
func (l *Lab) SlowScratch(ctx context.Context, dir string, size, rate int64) (*Scratch, error) {
	began := time.Now()
	m, err := l.MountSlow(ctx, dir, size, rate)
	if err != nil {
		return nil, err
	}
	return &Scratch{Dir: dir, Took: time.Since(began), Throttle: m.Throttle, ends: []func() error{m.Remove}}, nil
}

// TmpfsScratch is a tmpfs of size bytes.
func (l *Lab) TmpfsScratch(dir string, size int64) (*Scratch, error) {
	began := time.Now()
	s := &Scratch{Dir: dir}
	return s.made(began, "mount tmpfs", s.mountTmpfs(dir, size))
}

// mountTmpfs mounts one, whose pages are what lies in memory.
func (s *Scratch) mountTmpfs(dir string, size int64) error {
	if err := sys.CheckMount("tmpfs"); err != nil {
		return fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
	}
	if err := os.Mkdir(dir, 0o711); err != nil {
		return err
	}
	s.end(func() error { return os.RemoveAll(dir) })
	mount, err := sys.NewMount("tmpfs", fmt.Sprintf("size=%d", size), "mode=711")
	if err != nil {
		return err
	}
	if err := errors.Join(mount.Attach(dir), mount.Close()); err != nil {
		return err
	}
	s.end(func() error { return unmount(dir) })
	s.InRAM = func() (int64, error) {
		fs, err := sys.Statfs(dir)
		return fs.Size - fs.Free, err
	}
	return nil
}

// WheatScratch is a wheatfs with so much RAM, and beyond that disk: a directory whose device t holds
// back, if not nil.
func (l *Lab) WheatScratch(ctx context.Context, dir string, ram int64, disk string, t *runner.Throttle) (*Scratch, error) {
	began := time.Now()
	s := &Scratch{Dir: dir}
	return s.made(began, "mount wheatfs", l.mountWheat(ctx, s, ram, disk, t))
}

func (l *Lab) mountWheat(ctx context.Context, s *Scratch, ram int64, disk string, t *runner.Throttle) error {
	argv := wheatfs.DaemonArgv(l.Exe)
	if procs := t.Procs(); procs != "" { // what it writes to the disk is to be held back
		argv = append([]string{"/bin/sh", "-c", `echo $$ > "$0" && exec "$@"`, procs}, argv...)
	}
	fs, err := wheatfs.Start(ctx, wheatfs.Options{RAM: ram, Disk: disk, Mode: 0o711, Argv: argv})
	if errors.Is(err, wheatfs.ErrUnfit) {
		return fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
	}
	if err != nil {
		return err
	}
	s.end(func() error {
		var died error
		select {
		case <-fs.Gone(): // a daemon that was killed is why there were errors
			died = fs.Err()
		default:
		}
		err := fs.Close(false)
		if errors.Is(err, syscall.EBUSY) { // a process looks at it: it goes with the last one
			err = fs.Close(true)
		}
		return errors.Join(died, err, os.RemoveAll(s.Dir))
	})
	if err := os.Mkdir(s.Dir, 0o711); err != nil {
		return err
	}
	s.InRAM = func() (int64, error) { return host.Resident(fs.Daemon()) }
	s.Spilled = func() (int64, error) { return fs.Report().Disk, nil }
	return fs.Attach(s.Dir)
}

// SlowWheatScratch is a wheatfs whose disk, of size bytes, is held to rate bytes a second each way.
func (l *Lab) SlowWheatScratch(ctx context.Context, dir string, ram, size, rate int64) (*Scratch, error) {
	slow, err := l.SlowScratch(ctx, dir+"-disk", size, rate)
	if err != nil {
		return nil, err
	}
	s, err := l.WheatScratch(ctx, dir, ram, slow.Dir, slow.Throttle)
	if err != nil {
		return nil, errors.Join(err, slow.Close())
	}
	s.ends = append([]func() error{slow.Close}, s.ends...)
	return s, nil
}

// mergerfsShare is the part of the RAM, one in so many, below which mergerfs makes no new file there.
const mergerfsShare = 16

// MergerfsScratch is the distribution's mergerfs over a tmpfs of ram bytes and a directory on the disk: a
// file is made on the first that has room, and moved when that is full.
func (l *Lab) MergerfsScratch(ctx context.Context, dir string, ram int64) (*Scratch, error) {
	program, err := exec.LookPath("mergerfs")
	if err != nil {
		return nil, fmt.Errorf("%w: mergerfs is not installed\nhint: apt-get install mergerfs", runner.ErrUnavailable)
	}
	began := time.Now()
	s := &Scratch{Dir: dir}
	return s.made(began, "mount mergerfs", s.mountMergerfs(ctx, program, ram))
}

func (s *Scratch) mountMergerfs(ctx context.Context, program string, ram int64) error {
	first, second := s.Dir+"-ram", s.Dir+"-disk"
	if err := s.mountTmpfs(first, ram); err != nil {
		return err
	}
	for _, dir := range []string{second, s.Dir} {
		if err := os.Mkdir(dir, 0o711); err != nil {
			return err
		}
		s.end(func() error { return os.RemoveAll(dir) })
	}
	// It goes to the background itself, and ends with its mount.
	argv := []string{"-o", fmt.Sprintf("allow_other,category.create=ff,minfreespace=%d,moveonenospc=true", ram/mergerfsShare), first + ":" + second, s.Dir}
	if out, err := exec.CommandContext(ctx, program, argv...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s %s: %w: %s", runner.ErrUnavailable, program, strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	s.end(func() error { return unmount(s.Dir) })
	return nil
}

// swapSuffix ends the names of swap files: what killed processes left is known by it.
const swapSuffix = ".swap"

// SwapScratch is a tmpfs of size bytes that is swapped to a file beside it: its users have so many bytes of
// memory between them. The kernel swaps there only while it is used, since others could come to lie
// there too.
func (l *Lab) SwapScratch(dir string, memory, size int64) (*Scratch, error) {
	began := time.Now()
	s := &Scratch{Dir: dir}
	return s.made(began, "mount tmpfs with swap", l.mountSwapped(s, memory, size))
}

func (l *Lab) mountSwapped(s *Scratch, memory, size int64) (err error) {
	if s.Memory, err = runner.NewMemoryLimit(l.Host, memory, size); err != nil {
		return err
	}
	s.end(s.Memory.Remove)
	file := s.Dir + swapSuffix
	s.end(func() error { return os.RemoveAll(file) })
	if err := sys.NewSwap(file, size); err != nil {
		return fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
	}
	// What cannot be had is to be known before anything is measured.
	if err := l.swapTo(file, func() error { return nil }); err != nil {
		return fmt.Errorf("%w: %w", runner.ErrUnavailable, err)
	}
	if err := s.mountTmpfs(s.Dir, size); err != nil {
		return err
	}
	s.InRAM = nil // it cannot tell the two apart
	s.Spilled = func() (int64, error) { return swapped(file) }
	s.around = func(work func() error) error {
		return l.swapTo(file, func() error { return s.Memory.Limited(work) })
	}
	return nil
}

// swapped is how much lies in a swap file.
func swapped(file string) (int64, error) {
	list, err := os.ReadFile("/proc/swaps")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == file {
			kilobytes, err := strconv.ParseInt(f[3], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, nil
}

// swapTo has the kernel swap to a file while work goes on. A child does it, which ends it also if this
// process is killed.
func (l *Lab) swapTo(file string, work func() error) error {
	cmd := exec.Command(l.Exe, "bench", "swap", file, "--home", l.Home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this process
	var talk bytes.Buffer
	cmd.Stderr = &talk
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("swap: %w", err)
	}
	if _, err = bufio.NewReader(out).ReadString('\n'); err == nil {
		err = work()
	} else {
		err = errors.New(strings.TrimSpace(talk.String()))
	}
	if err := errors.Join(err, in.Close()); err != nil {
		return errors.Join(err, cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("swap: %w: %s", err, strings.TrimSpace(talk.String()))
	}
	return nil
}

// SwapChild is the child of that: it has the kernel swap to a file, writes a line to out, and ends it when
// in ends. parent is the number of the process that told it to.
func SwapChild(h host.Host, file string, parent int, in io.Reader, out io.Writer) error {
	if err := sys.SwapOn(file); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, filepath.Base(file))
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return errors.Join(err, runner.LiftMemoryLimits(h, parent), swapOff(file))
}

// swapOffPatience is for how long the kernel may find no memory for what was swapped: if this ends since its
// parent was killed, those whose it is are about to end too.
const swapOffPatience = 10 * time.Second

func swapOff(file string) error {
	for began := time.Now(); ; time.Sleep(spillPoll) {
		if err := sys.SwapOff(file); err == nil || !errors.Is(err, syscall.ENOMEM) || time.Since(began) > swapOffPatience {
			return err
		}
	}
}

// SlowRate is what a disk is held to that is called slow, in bytes a second each way: about what small
// volumes of a cloud, and hard disks, give.
const SlowRate = 100e6
