package volume

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// registryFile is the file of a state directory with the id of its registry.
const registryFile = "registry.json"

// registryLock keeps two processes from giving a registry two ids.
const registryLock = "registry.lock"

// registry is what registryFile says. The id is bound to the place: a state directory is
// known by its device and inode as long as the machine is not booted again, with which
// every volume in RAM is gone. A copy of a home has the file, and not the place.
type registry struct {
	Format int    `json:"format"`
	ID     string `json:"id"`
	Boot   string `json:"boot"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// FindOwner returns the owner that the registry of a state directory stands for. A registry
// without an id, or with the id of the home that it was copied from, gets a new id if create is
// true; otherwise Owner.Registry is "". copied reports a copied home.
func FindOwner(ctx context.Context, h host.Host, state, home string, create bool) (w Owner, copied bool, err error) {
	w = Owner{Format: ownerFormat, State: state, Home: home}
	id, known, err := readRegistry(h, state)
	if err == nil && id == "" && create {
		id, err = makeRegistry(ctx, h, state)
	}
	w.Registry = id
	return w, known != "" && known != id, err
}

// readRegistry returns the id of a registry, "" if it has none, and the one in its file.
func readRegistry(h host.Host, state string) (id, known string, err error) {
	b, err := os.ReadFile(filepath.Join(state, registryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("find registry: %w", err)
	}
	var r registry
	if json.Unmarshal(b, &r) != nil || r.Format != ownerFormat {
		return "", "", nil //nolint:nilerr // a damaged one is made again
	}
	here, err := bind(h, state)
	if err != nil {
		return "", "", err
	}
	if here.ID = r.ID; here != r {
		if here.Device == r.Device && here.Inode == r.Inode {
			return "", "", nil // the same place, after a reboot: what it had in RAM is gone
		}
		return "", r.ID, nil
	}
	return r.ID, r.ID, nil
}

// bind returns what a registry is bound to.
func bind(h host.Host, state string) (registry, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(state, &st); err != nil {
		return registry{}, &os.PathError{Op: "find registry", Path: state, Err: err}
	}
	boot, err := h.BootID()
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without /proc it is bound to the rest
		return registry{}, err
	}
	return registry{Format: ownerFormat, Boot: boot, Device: st.Dev, Inode: st.Ino}, nil
}

// makeRegistry gives a registry an id, unless another process has done so.
func makeRegistry(ctx context.Context, h host.Host, state string) (id string, err error) {
	if err := sys.MakePrivate(state); err != nil {
		return "", fmt.Errorf("make registry: %w", err)
	}
	lock, err := sys.Lock(ctx, filepath.Join(state, registryLock), sys.Exclusive, nil)
	if err != nil {
		return "", fmt.Errorf("make registry: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if id, _, err := readRegistry(h, state); id != "" || err != nil {
		return id, err
	}
	// Below the lock file, with which a union mount has its own directory here.
	r, err := bind(h, state)
	if err != nil {
		return "", err
	}
	var b [6]byte
	rand.Read(b[:])
	r.ID = hex.EncodeToString(b[:])
	if err := writeJSON(filepath.Join(state, registryFile), r); err != nil {
		return "", fmt.Errorf("make registry: %w", err)
	}
	return r.ID, nil
}

// Lives reports whether the owner's registry exists, as far as this process can see. That of a
// container may not be visible, or its path mean something else.
func (w Owner) Lives(h host.Host) bool {
	if w.State == "" || w.Registry == "" {
		return false
	}
	id, _, err := readRegistry(h, w.State)
	return err == nil && id == w.Registry
}
