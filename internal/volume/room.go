package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// NoRoomError says that something does not fit in a volume, with the numbers.
type NoRoomError struct {
	What string // what was to be put there
	Kind Kind
	Dir  string
	Need int64 // bytes; 0 when not known
	Usage
	Err error // what the kernel said, if it was tried; may be nil
}

// CheckRoom returns a *NoRoomError if v has less than need bytes free; what names what is to be
// put there. Call it before copying: a control group that exceeds its limit kills processes
// instead of returning an error.
func CheckRoom(v Target, need int64, what string) error {
	u, err := v.Usage()
	if err != nil {
		return err
	}
	if need <= u.Free {
		return nil
	}
	return &NoRoomError{What: what, Kind: v.Kind(), Dir: v.Dir(), Need: need, Usage: u}
}

// fullError makes a NoRoomError of what happened while src was cloned. The half
// made clone is gone by now, so that the numbers are those that the user sees.
func (d *directory) fullError(src, dst string, cause error) error {
	u, err := d.meter()
	if err != nil {
		return errors.Join(cause, err)
	}
	need, err := sys.DiskUsage(src)
	if err != nil {
		return errors.Join(cause, err)
	}
	rel, err := filepath.Rel(d.dir, dst)
	if err != nil {
		rel = dst
	}
	if need <= u.Free {
		u.Bound = ByFilesystem
	}
	if traits[d.kind].mounted && u.Bound == ByFilesystem { // the file system is the volume
		u.Bound = ByLimit
	}
	return &NoRoomError{What: rel, Kind: d.kind, Dir: d.dir, Need: need, Usage: u, Err: cause}
}

// Unwrap returns what the kernel said.
func (e *NoRoomError) Unwrap() error { return e.Err }

// Error names what does not fit, the numbers, what limits the room, and how to get more.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("no room for %s in %s: it needs %s, free are %s of %s, bound by %s\nhint: %s",
		e.What, place(e.Kind, e.Dir), FormatBytes(e.Need), FormatBytes(e.Free), FormatBytes(e.Size), e.bound(), e.hint())
}

func (e *NoRoomError) bound() string {
	switch e.Bound {
	case ByLimit:
		return "the volume's size limit"
	case ByFilesystem:
		return "the file system of " + e.Dir
	case ByInodes:
		return "the number of files that the file system of " + e.Dir + " can hold"
	case ByMemory:
		return "the memory of this machine"
	case ByCgroup:
		return e.BoundBy()
	}
	return string(e.Bound)
}

// FreesImages is the command that removes unused images from the directory of a volume, "" if it has none.
func FreesImages(dir string) string {
	if images, err := os.ReadDir(filepath.Join(dir, "images")); err == nil && len(images) == 0 || errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return "ramaria image rm --all --hot"
}

func (e *NoRoomError) hint() string {
	images := FreesImages(e.Dir)
	if images != "" {
		images += " frees unused images"
	}
	const drop = "ramaria down NAME --rm for an instance you no longer need (ramaria ls shows them)"
	more := exactSize(roundUp(e.Size+max(1, e.Need-e.Free), suggestUnit))
	switch {
	case e.Kind == outside:
		return "remove what is no longer needed from the file system of " + e.Dir + ", or use a directory on a larger one"
	case traits[e.Kind].mounted && e.Bound == ByLimit:
		if images != "" {
			images += ", "
		}
		return fmt.Sprintf("ramaria volume grow %s %s makes it larger, %sor %s", e.Kind, more, images, drop)
	case e.Bound == ByLimit:
		return fmt.Sprintf("--volume %s:%s, or %s", e.Kind, more, drop)
	case e.Bound == ByInodes:
		return drop
	case e.Kind == Disk:
		return "--home DIR on a larger disk, or " + drop
	case e.Bound == ByMemory:
		if images != "" {
			images = "; " + images
		}
		return "--volume disk, or " + drop + images
	case e.Bound == ByCgroup:
		return fmt.Sprintf("raise the limit by %s or more (docker run --memory, systemd MemoryMax), or --volume disk, or %s",
			FormatBytes(max(suggestUnit, e.Need-e.Free)), drop)
	}
	shm := filepath.Dir(e.Dir)
	return fmt.Sprintf("mount -o remount,size=%s %s as root (in a container: docker run --shm-size=%s), or --volume disk, or %s",
		more, shm, more, drop)
}

// suggestUnit is the step in which hints name sizes.
const suggestUnit = 256 << 20

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
