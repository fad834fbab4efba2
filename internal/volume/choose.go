package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// MinShm is the least size of shared memory, and of a memory limit, that Choose
// takes, in bytes. Docker's default is 64 MB: one instance and little data.
const MinShm = 256 << 20

// Choose is --volume auto: xfs where it can be made, else shm if it is there and large
// enough, else disk. why is one line for people that says which and for what reason.
// The choice looks at what the machine can and at sizes, not at what is free just
// now: the next command must find the instances of the last one.
func (o *Opener) Choose(ctx context.Context) (v Volume, why string, err error) {
	var reasons []string
	unfit, err := o.ramUnfit()
	if err != nil {
		return nil, "", fmt.Errorf("choose volume: %w", err)
	}
	if o.Places.Mounts != "" && unfit == "" {
		v, err := o.Open(ctx, Spec{Kind: XFS})
		if err == nil {
			return v, fmt.Sprintf("volume xfs: in RAM, at %s; clones share blocks", v.Dir()), nil
		}
		if ctx.Err() != nil {
			return nil, "", err
		}
		reasons = append(reasons, "not xfs ("+firstLine(err)+")")
	}
	if unfit == "" {
		unfit = filesystemUnfit(filepath.Dir(o.Places.Shm))
	}
	if unfit == "" {
		v, err := o.Open(ctx, Spec{Kind: Shm})
		if err == nil {
			why := fmt.Sprintf("volume shm: in RAM, at %s", v.Dir())
			return v, strings.Join(append([]string{why}, reasons...), "; "), nil
		}
		unfit = firstLine(err)
	}
	if v, err = o.Open(ctx, Spec{Kind: Disk}); err != nil {
		return nil, "", err
	}
	return v, strings.Join(append([]string{"volume disk, not RAM: " + unfit}, reasons...), "; "), nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// ramUnfit says why memory will not do for data; "" if it will.
func (o *Opener) ramUnfit() (string, error) {
	m, err := o.Host.Memory()
	if err != nil {
		return "", err
	}
	if l := m.Cgroup.Limit; l > 0 && l < MinShm {
		return fmt.Sprintf("the memory limit of the control group is %s, less than %s; raise it with docker run --memory=2g",
			FormatBytes(l), FormatBytes(MinShm)), nil
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
