package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Scratch is a file system of a server's own for its temporary files, a tmpfs if nothing else is said: what sorts
// and temporary tables write needs neither a file system's journal nor a copy for clones, and both cost. It is mounted
// for the server process alone, so that it is gone with it: there is nothing to clean up, whatever process
// is killed.
type Scratch struct {
	// Dir is the directory that it is mounted at, for the server alone.
	Dir string
	// Size is how many bytes the tmpfs holds at most.
	Size int64
	// FS is the file system, which the server's account owns and its maker closes; nil for a tmpfs.
	FS *sys.Mount
	// Volume is the volume that the server lies in, and Volumes the directory of the places of
	// all: the server sees no other, and so keeps none that is taken away. Others are places that it does not see
	// for the same reason. Volumes is "" for a server whose volume is not mounted.
	Volume, Volumes string
	Others          []string

	mu    sync.Mutex
	mount *sys.Mount // nil before its server has been started, and once that has ended
}

// Path is the server's tmpdir.
func (c *Scratch) Path() string { return c.Dir }

// ScratchDirs are the directories that a server expects in its tmpdir.
func (s *Server) ScratchDirs() []string { return s.Family().scratchDirs }

// attach mounts it for the calling thread and the one server that this starts. The goroutine must stay
// locked to the thread.
func (c *Scratch) attach(account Account, dirs []string) error {
	uid, gid := account.UID, account.GID
	if account == (Account{}) {
		uid, gid = os.Geteuid(), os.Getegid()
	}
	m, err := c.FS, error(nil)
	if m == nil {
		m, err = sys.NewMount("tmpfs", fmt.Sprintf("size=%d", c.Size), fmt.Sprintf("uid=%d", uid), fmt.Sprintf("gid=%d", gid), "mode=0700", "nr_inodes=0", "?noswap")
	}
	if err != nil {
		return err
	}
	sys.TakeLabel(m.Path(), c.Dir)
	for _, name := range dirs {
		if err == nil {
			err = MakeDirs(account, filepath.Join(m.Path(), name))
		}
	}
	if err == nil {
		err = m.AttachPrivately(c.Dir, c.hides)
	}
	if c.FS != nil {
		return err
	}
	if err != nil {
		_ = m.Close() // only a descriptor
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mount = m
	return nil
}

// hides reports whether what is mounted at place is another volume.
func (c *Scratch) hides(place string) bool {
	return c.Volumes != "" && place != c.Volume && strings.HasPrefix(place, c.Volumes+string(filepath.Separator)) || slices.Contains(c.Others, place)
}

// Close lets it go, as the end of its server does. It may be called more than once.
func (c *Scratch) Close() error {
	c.release()
	return nil
}

// release lets it go, if there is one; the kernel frees it with the last file that is open in it.
func (c *Scratch) release() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mount != nil {
		_ = c.mount.Close() // only a descriptor
		c.mount = nil
	}
}

// Usage is how many bytes of temporary files its server has, and how many there may be; ok is
// false if it could not be mounted, or there is no server.
func (c *Scratch) Usage() (used, size int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mount == nil {
		return 0, 0, false
	}
	fs, err := sys.Statfs(c.mount.Path())
	return fs.Size - fs.Avail, fs.Size, err == nil
}
