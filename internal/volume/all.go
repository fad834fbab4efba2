package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Found is a volume in RAM of any home. Volumes of a home that was removed stay until they are
// released.
type Found struct {
	Kind Kind
	Dir  string
	// Owner is the owner of the volume; the zero Owner if it has none.
	Owner Owner
	// Ours says that it belongs to this registry, Lives that its owner's registry exists.
	Ours, Lives bool
	// Mounted is false for a zram device whose volume is not mounted: its maker was killed, or
	// another mount namespace used it when the volume was removed.
	Mounted bool
}

// shmName is what the directories of shm volumes are called: with the uid, and the ids of a
// home and of a registry.
var shmName = regexp.MustCompile(`^ramaria-[0-9]+(-[0-9a-f]{8})?(-[0-9a-f]{12})?$`)

// All returns the volumes in RAM of all homes of this user; for root, those of root's homes.
func (o *Opener) All() ([]Found, error) {
	var all []Found
	parent := filepath.Dir(o.Places.Shm)
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	for _, e := range entries {
		if dir := filepath.Join(parent, e.Name()); shmName.MatchString(e.Name()) && ownVolume(dir) {
			all = append(all, o.found(Shm, dir, true))
		}
	}
	if o.Places.Mounts == "" {
		return all, nil
	}
	homes, err := sys.Glob(filepath.Dir(o.Places.Mounts), "*")
	if err != nil {
		return nil, fmt.Errorf("list volumes: %w", err)
	}
	for _, home := range homes {
		for _, kind := range Kinds {
			dir := filepath.Join(home, string(kind))
			there, err := sys.Mounted(dir)
			if err != nil {
				return nil, fmt.Errorf("list volumes: %w", err)
			}
			if !there && kind == Zram {
				// A device that was in use when its volume was taken away has a record with its number.
				records, err := sys.Glob(home, string(Zram)+"*"+recordSuffix)
				if err != nil {
					return nil, fmt.Errorf("list volumes: %w", err)
				}
				if len(records) > 0 {
					all = append(all, o.found(kind, dir, false))
				}
			}
			if there && traits[kind].mounted {
				all = append(all, o.found(kind, dir, true))
			}
		}
	}
	return all, nil
}

// ownVolume reports whether a directory in shared memory is a volume of the caller's.
func ownVolume(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && (exists(filepath.Join(dir, "instances")) || exists(filepath.Join(dir, ownerFile)))
}

func (o *Opener) found(kind Kind, dir string, mounted bool) Found {
	f := Found{Kind: kind, Dir: dir, Mounted: mounted}
	if w, err := ReadOwner(dir); err == nil {
		f.Owner = w
	} else {
		f.Owner.Registry = "unknown"
	}
	f.Lives = f.Owner.Lives(o.Host)
	switch f.Owner.Registry {
	case "":
		f.Ours = dir == o.place(kind)
	case o.Owner.Registry:
		f.Ours = true
	}
	return f
}

// Release removes a volume that All has found and whose owner no longer can. The error matches
// ErrInUse if the volume holds instances and force is false.
func (o *Opener) Release(ctx context.Context, f Found, force bool) error {
	as := *o
	as.Owner = f.Owner
	if !f.Mounted {
		return as.mountIn(f.Kind, f.Dir).reclaimKilled(ctx)
	}
	return as.In(Spec{Kind: f.Kind}, f.Dir).Destroy(ctx, force)
}

// Holder is a lock in a volume that a living process holds.
type Holder struct {
	// Path is the lock's file. Instance is the name of the instance whose supervisor holds it,
	// "" for a process that makes or copies something.
	Path, Instance string
}

// Holders returns the locks in the volume at dir that living processes hold, in whatever
// namespaces the processes run.
func Holders(dir string) ([]Holder, error) {
	var list []Holder
	for _, pattern := range []string{"instances/*/lock", "images/.lock-*", "images/*/used", partialPrefix + "*" + lockSuffix, trashPrefix + "*" + lockSuffix} {
		paths, err := sys.Glob(dir, pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			held, err := sys.Held(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if !held {
				continue
			}
			h := Holder{Path: path}
			if strings.HasPrefix(pattern, "instances/") {
				h.Instance = filepath.Base(filepath.Dir(path))
			}
			list = append(list, h)
		}
	}
	return list, nil
}

// Instances returns the names of the instances in the volume at dir.
func Instances(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "instances"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, err
}
