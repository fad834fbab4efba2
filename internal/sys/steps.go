package sys

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// firstStep is how many bytes of a file a step is about at first, and leastStep and mostStep bound it later.
	firstStep, leastStep, mostStep = 16 << 20, 1 << 20, 1 << 30
	// longStep is how long a step is to take at most.
	longStep = 4 * time.Millisecond
)

// restAfter ends a step that began at a time, and returns how many bytes the next is to be about. The kernel works on a
// file in fragments for seconds if it has gigabytes, and whoever writes to that file, or gets blocks from the same
// part of the file system, waits meanwhile. The locks are not fair: who has had one has it again before those who
// wait, but for a rest.
func restAfter(step int64, began time.Time) int64 {
	took := time.Since(began)
	if took > longStep/16 {
		time.Sleep(took)
	}
	switch {
	case took > longStep:
		return max(step/2, leastStep)
	case took < longStep/4:
		return min(step*2, mostStep)
	}
	return step
}

// reflinkInSteps is Reflink of a file of the given size that others write to, and may change the size of: parts of it
// are shared beforehand, step bytes at first, which leaves little for Reflink.
func reflinkInSteps(ctx context.Context, dst, src int, size, step int64) error {
	for at := int64(0); at+step <= size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := unix.FileCloneRange{Src_fd: int64(src), Src_offset: uint64(at), Src_length: uint64(step), Dest_offset: uint64(at)}
		began := time.Now()
		if unix.IoctlFileCloneRange(dst, &part) != nil {
			break // it has become shorter, or Reflink says what is wrong
		}
		at += step
		step = restAfter(step, began)
	}
	return Reflink(dst, src)
}

// DrainTree takes their data from the files below a directory that is to be removed, in steps: who works on files that
// shared blocks with them is not held up. No one else uses the tree. Files that are left out, because there are other
// names for them or something is wrong, are for those who remove it.
func DrainTree(ctx context.Context, path string) (err error) {
	d, err := OpenDir(path)
	if err != nil {
		return err
	}
	defer d.CloseWith(&err)
	return d.drain(ctx)
}

func (d *Dir) drain(ctx context.Context) error {
	names, err := d.Names()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		sub, err := d.Dir(name)
		switch {
		case err == nil:
			errs = append(errs, sub.drain(ctx), sub.Close())
		case errors.Is(err, ErrNotPlain):
			errs = append(errs, d.drainFile(ctx, name))
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (d *Dir) drainFile(ctx context.Context, name string) (err error) {
	f, err := d.Open(name, os.O_WRONLY)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Nlink > 1 {
		return err
	}
	for size, step := st.Size, int64(firstStep); size > step; {
		if err := ctx.Err(); err != nil {
			return err
		}
		size -= step
		began := time.Now()
		if err := unix.Ftruncate(int(f.Fd()), size); err != nil {
			return err
		}
		step = restAfter(step, began)
	}
	return nil
}
