package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// MinShm is the least size of shared memory, and of a memory limit, with which Choose takes
// shm, in bytes. Docker's default is 64 MB: one instance and little data.
const MinShm = 256 << 20

// Choose is --volume auto: xfs if it can be made, else shm if it exists and is large enough,
// else disk. why is one line for people: which kind, and why. The choice depends on what the
// machine can do and on sizes, not on what is free at the moment: the next command must find
// the instances of the last one.
func (o *Opener) Choose(ctx context.Context) (v Volume, why string, err error) {
	_, why, err = o.choose(ctx, func(kind Kind) (err error) {
		v, err = o.Open(ctx, Spec{Kind: kind})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return v, why, nil
}

// Foresee returns what Choose would choose and say, and makes nothing.
func (o *Opener) Foresee(ctx context.Context) (kind Kind, why string, err error) {
	return o.choose(ctx, func(kind Kind) error { return o.Fit(ctx, kind) })
}

// choose returns the first kind that try has no error for.
func (o *Opener) choose(ctx context.Context, try func(Kind) error) (_ Kind, why string, err error) {
	unfit, err := o.ramUnfit()
	if err != nil {
		return "", "", fmt.Errorf("choose volume: %w", err)
	}
	say := func(text string, reasons ...string) string {
		return strings.Join(append([]string{text}, reasons...), "; ")
	}
	var notXFS []string
	if o.Places.Mounts != "" && unfit == "" {
		err := try(XFS)
		if err == nil {
			return XFS, fmt.Sprintf("volume xfs: in RAM, at %s; clones share blocks", o.place(XFS)), nil
		}
		if ctx.Err() != nil {
			return "", "", err
		}
		notXFS = []string{"not xfs: " + reason(err)}
	}
	if unfit == "" {
		unfit = filesystemUnfit(filepath.Dir(o.Places.Shm))
	}
	if unfit == "" {
		err := try(Shm)
		if err == nil {
			return Shm, say("volume shm: in RAM, at "+o.place(Shm), notXFS...), nil
		}
		unfit = reason(err)
	}
	if err := try(Disk); err != nil {
		return "", "", err
	}
	return Disk, say("volume disk, not RAM: "+unfit, notXFS...), nil
}

// reason is an error in one line, without what the sentence around it says anyway.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimPrefix(line, "open volume xfs: ")
	return strings.TrimPrefix(line, ErrUnfit.Error()+": ")
}

// Fit returns an error, with a hint, if this machine or this user cannot have a volume of a
// kind. It makes and fetches nothing, so a kind without an error may still turn out not to
// work.
func (o *Opener) Fit(ctx context.Context, kind Kind) error {
	switch kind {
	case Disk:
		return nil
	case Shm:
		if text := filesystemUnfit(filepath.Dir(o.Places.Shm)); text != "" {
			return fmt.Errorf("%w: %s", ErrUnfit, text)
		}
		if there, err := o.There(Shm); err != nil || !there {
			return err
		}
		return checkDir(o.place(Shm), dirMode())
	}
	if o.Places.Mounts == "" {
		return errNotRoot
	}
	m := o.mount(kind)
	if there, err := sys.Mounted(m.dir); err != nil {
		return err
	} else if there {
		return m.check()
	}
	if err := sys.CheckMount(o.filesystem(kind)); err != nil {
		return unfitFor(kind, err)
	}
	if traits[kind].shares && sys.InUserNamespace() {
		return unfitFor(kind, fmt.Errorf("mount %s: %w", o.filesystem(kind), syscall.EPERM))
	}
	if kind == XFS {
		if err := sys.CheckLoop(); err != nil {
			return unfitFor(kind, err)
		}
	}
	if kind == Zram {
		if err := sys.CheckZram(); err != nil {
			return unfitFor(kind, err)
		}
	}
	if traits[kind].shares {
		_, err := o.findMkfs(ctx)
		return err
	}
	return nil
}

// ramUnfit says why memory will not do for data; "" if it will.
func (o *Opener) ramUnfit() (string, error) {
	m, err := o.Host.Memory()
	if err != nil {
		return "", err
	}
	if l := m.Cgroup.Limit; l > 0 && l < MinShm {
		return fmt.Sprintf("the memory limit of control group %s is %s, less than %s; raise it with docker run --memory=2g",
			m.Cgroup.Path, FormatBytes(l), FormatBytes(MinShm)), nil
	}
	return "", nil
}

// filesystemUnfit says why the file system at dir will not do; "" if it will.
func filesystemUnfit(dir string) string {
	fsys, err := sys.Statfs(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no %s", dir)
	case err != nil:
		return err.Error()
	case !fsys.RAM:
		return fmt.Sprintf("%s does not lie in RAM", dir)
	case fsys.Size < MinShm:
		return fmt.Sprintf("%s has only %s, less than %s; raise it with docker run --shm-size=2g, or as root: mount -o remount,size=2G %s",
			dir, FormatBytes(fsys.Size), FormatBytes(MinShm), dir)
	}
	return ""
}
