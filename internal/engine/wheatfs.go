package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/wheatfs"
)

// DefaultWheatShare is the part of the free memory, one in so many, that a wheatfs may have where nothing is said.
const DefaultWheatShare = 4

// WheatRequest asks for a wheatfs at a directory.
type WheatRequest struct {
	// Dir is an empty directory; Disk one on a disk, "" for /var/tmp.
	Dir, Disk string
	// RAM is how many bytes may lie in memory, 0 for DefaultWheatShare; Size how many there is room for, 0 for
	// RAM and what is free on the disk.
	RAM, Size int64
	// Owner is the user who may use it alone, "" for all, as /tmp is.
	Owner string
}

// wheatMounts are the wheatfs of this machine.
func wheatMounts() wheatfs.Mounts { return wheatfs.Mounts{Dir: wheatfs.MountsDir} }

// KeepWheat mounts a wheatfs, calls ready, and keeps it until it is unmounted. When ctx ends it unmounts it.
func (e *Engine) KeepWheat(ctx context.Context, r WheatRequest, ready func(wheatfs.Mounted)) error {
	o := wheatfs.Options{RAM: r.RAM, Size: r.Size, Disk: r.Disk, Programs: true, Mode: 0o777 | os.ModeSticky, Argv: wheatfs.DaemonArgv(supervisor.Self())}
	if r.Owner != "" {
		account, err := findUser(r.Owner)
		if err != nil {
			return RequestError{fmt.Errorf("mount with --owner %s: %w", r.Owner, err)}
		}
		o.UID, o.GID, o.Mode = account.UID, account.GID, 0o700
	}
	if err := wheatfs.Check(); err != nil {
		return err
	}
	place, disk, err := r.places()
	if err != nil {
		return err
	}
	o.Disk = disk
	if o.Disk == place || strings.HasPrefix(o.Disk, place+"/") {
		return RequestError{fmt.Errorf("mount at %s with its disk at %s: that would be hidden below it\nhint: --disk of a directory elsewhere", place, o.Disk)}
	}
	m, err := e.Host.Memory()
	if err != nil {
		return err
	}
	if o.RAM > m.Total {
		return RequestError{fmt.Errorf("mount with %s of RAM: the machine has %s", volume.FormatBytes(o.RAM), volume.FormatBytes(m.Total))}
	}
	if o.RAM == 0 {
		free, _ := m.Room()
		o.RAM = free / DefaultWheatShare
	}
	if err := wheatMounts().Clean(); err != nil {
		e.note("warning: %s", err)
	}
	return wheatMounts().Keep(ctx, place, o, ready, func(err error) {
		e.note("ramaria: %s; it is gone with its last user", wheatBusy(place, err))
	})
}

// wheatBusy says who uses the file system at a place, where err is that it is in use.
func wheatBusy(place string, err error) error {
	if !errors.Is(err, syscall.EBUSY) {
		return err
	}
	return fmt.Errorf("wheatfs at %s is in use: %s", place, volume.InUseBy(place))
}

// places are the directories of a request as another process, in another directory, finds them.
func (r WheatRequest) places() (place, disk string, err error) {
	if place, err = host.Canonical(r.Dir); err != nil {
		return "", "", err
	}
	if disk, err = host.Canonical(cmp.Or(r.Disk, "/var/tmp")); err != nil {
		return "", "", err
	}
	if fi, err := os.Stat(disk); err != nil || !fi.IsDir() {
		return "", "", RequestError{fmt.Errorf("mount with its disk at %s: there is no such directory\nhint: --disk of a directory on a disk", disk)}
	}
	return place, disk, nil
}

// argv is the command that keeps what is asked for.
func (r WheatRequest) argv(place, disk string) []string {
	argv := []string{supervisor.Self(), "wheatfs", "mount", "--disk=" + disk}
	for _, s := range []struct {
		flag string
		n    int64
	}{{"ram", r.RAM}, {"size", r.Size}} {
		if s.n > 0 {
			argv = append(argv, fmt.Sprintf("--%s=%d", s.flag, s.n))
		}
	}
	if r.Owner != "" {
		argv = append(argv, "--owner="+r.Owner)
	}
	return append(argv, "--", place)
}

// StartWheat has a process of its own keep a wheatfs, and returns when that is mounted.
func (e *Engine) StartWheat(ctx context.Context, r WheatRequest) (wheatfs.Mounted, error) {
	place, disk, err := r.places()
	if err != nil {
		return wheatfs.Mounted{}, err
	}
	if err := wheatfs.Check(); err != nil {
		return wheatfs.Mounted{}, err
	}
	if err := sys.MakePrivate(e.Places.State); err != nil {
		return wheatfs.Mounted{}, err
	}
	path := filepath.Join(e.Places.State, "wheatfs.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return wheatfs.Mounted{}, fmt.Errorf("start wheatfs: %w", err)
	}
	defer log.Close() // nothing was written by this process
	if _, err := sys.StartDetached(ctx, r.argv(place, disk), log, func() string { return "start wheatfs: it died; see " + path }); err != nil {
		return wheatfs.Mounted{}, err
	}
	return wheatMounts().At(place)
}

// Wheats lists the wheatfs of this machine that have places. Root takes away what killed ones have left.
func (e *Engine) Wheats() ([]wheatfs.Mounted, error) {
	if e.UID == 0 {
		if err := wheatMounts().Clean(); err != nil {
			e.note("warning: %s", err)
		}
	}
	return wheatMounts().List()
}

// UnmountWheat unmounts the wheatfs at a directory. With force it goes from there whoever uses it. freed says that
// its memory is free.
func (e *Engine) UnmountWheat(ctx context.Context, dir string, force bool) (freed bool, err error) {
	place, err := host.Canonical(dir)
	if err != nil {
		return false, err
	}
	freed, err = wheatMounts().Unmount(ctx, place, force)
	if errors.Is(err, syscall.EBUSY) {
		err = fmt.Errorf("%w\nhint: end it, or ramaria wheatfs umount %s --force", wheatBusy(place, err), server.ShellWord(dir))
	}
	if errors.Is(err, syscall.EPERM) {
		err = fmt.Errorf("%w\nhint: sudo ramaria wheatfs umount %s", err, server.ShellWord(dir))
	}
	return freed, err
}

// WheatAt is the wheatfs at a directory.
func (e *Engine) WheatAt(dir string) (wheatfs.Mounted, error) {
	place, err := host.Canonical(dir)
	if err != nil {
		return wheatfs.Mounted{}, err
	}
	return wheatMounts().At(place)
}

// doctorWheat tells whether a wheatfs can be had, whether the disk calls for one, and what has become of those that
// there are.
func (e *Engine) doctorWheat(context.Context) []Finding {
	var out []Finding
	spill := e.spill()
	slow := e.Host.SlowWrites(spill)
	switch err := wheatfs.Check(); {
	case err != nil:
		text, hint := splitHint(err)
		out = append(out, Finding{"tmpdir", "note", text, hint})
	case slow != "":
		out = append(out, Finding{"tmpdir", "ok", fmt.Sprintf("wheatfs is possible, and helps: the disk of %s is slow: %s", spill, slow), ""})
	default:
		out = append(out, Finding{"tmpdir", "ok", "wheatfs is possible; for temporary files on disk the page cache does as well while memory is free", ""})
	}
	all, err := wheatMounts().List()
	if err != nil {
		text, hint := splitHint(err)
		return append(out, Finding{"tmpdir", "bad", text, hint})
	}
	for _, m := range all {
		switch {
		case m.Dead:
			out = append(out, Finding{"tmpdir", "note", "the wheatfs at " + m.Place + " was killed, and what lies there fails", "ramaria wheatfs umount " + m.Place})
		case m.Error != "":
			out = append(out, Finding{"tmpdir", "note", "the wheatfs at " + m.Place + ": " + m.Error, "make room on " + m.Disk})
		case !m.Flusher || !m.Locked:
			out = append(out, Finding{"tmpdir", "note", "the wheatfs at " + m.Place + " may be swapped out, or waited for when memory is short", "it wants CAP_IPC_LOCK, CAP_SYS_RESOURCE and Linux 5.18"})
		}
	}
	return out
}
