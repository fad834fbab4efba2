package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// MinShm is the least size of shared memory, and of a memory limit, that Choose
// takes, in bytes. Docker's default is 64 MB: one instance and little data.
const MinShm = 256 << 20

// Choose is --volume auto: shm if it is there and large enough, else disk. why is
// one line for people that says which and for what reason. The choice looks at
// sizes only, not at what is free just now: the next command must find the
// instances of the last one.
func Choose(ctx context.Context, h host.Host, p host.Places) (v Volume, why string, err error) {
	reason, err := shmUnfit(h, filepath.Dir(p.Shm))
	if err != nil {
		return nil, "", fmt.Errorf("choose volume: %w", err)
	}
	if reason == "" {
		v, err := Open(ctx, h, p, Spec{Kind: Shm})
		if err == nil {
			return v, fmt.Sprintf("volume shm: in RAM, at %s", v.Dir()), nil
		}
		reason, _, _ = strings.Cut(err.Error(), "\n")
	}
	if v, err = Open(ctx, h, p, Spec{Kind: Disk}); err != nil {
		return nil, "", err
	}
	return v, fmt.Sprintf("volume disk, not RAM: %s", reason), nil
}

// shmUnfit says why shared memory at dir will not do; "" if it will.
func shmUnfit(h host.Host, dir string) (string, error) {
	if reason := filesystemUnfit(dir); reason != "" {
		return reason, nil
	}
	m, err := h.Memory()
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
