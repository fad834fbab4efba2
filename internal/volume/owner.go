package volume

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Owner is the registry, the records of one state directory, that a volume belongs to. The path
// of a volume in RAM follows from the user or from the path of a home, which two registries can
// share: with other XDG directories, or in containers that share /dev/shm or /run. A directory
// unknown to one registry may hold a running server of the other.
type Owner struct {
	Format int `json:"format"`
	// Registry is the registry's id: see FindOwner. "" owns nothing.
	Registry string `json:"registry"`
	// State is the state directory, and Home the --home that named it, for people.
	State string `json:"state"`
	Home  string `json:"home,omitempty"`
}

const (
	// ownerFile is at the top of each volume in RAM.
	ownerFile = ".owner.json"
	// ownerFormat is its version, and that of registryFile.
	ownerFormat = 1
	// ownerSize is more than it has, in bytes: two paths and an id.
	ownerSize = 64 << 10
)

// errForeign says that a volume was taken by another registry while it was opened.
var errForeign = errors.New("it belongs to another home")

// ReadOwner returns the owner of the volume at dir, or the zero Owner if it has none. If the
// owner's file cannot be understood, the Owner is that of no known registry: any user may write
// to /dev/shm, and what is there may be anything, even a FIFO that blocks for ever.
func ReadOwner(dir string) (w Owner, err error) {
	fault := func(err error) (Owner, error) {
		return Owner{}, fmt.Errorf("read the owner of volume %s: %w", dir, err)
	}
	d, err := sys.OpenDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, sys.ErrNotPlain) {
		return Owner{}, nil
	}
	if err != nil {
		return fault(err)
	}
	defer d.CloseWith(&err)
	f, err := d.Open(ownerFile, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Owner{}, nil
	case errors.Is(err, sys.ErrNotPlain):
		return Owner{Registry: "unknown"}, nil // the volume is kept
	case err != nil:
		return fault(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, ownerSize))
	if err != nil {
		return fault(err)
	}
	if json.Unmarshal(b, &w) != nil || w.Format != ownerFormat || w.Registry == "" {
		return Owner{Registry: "unknown"}, nil
	}
	return w, nil
}

// foreign reports whether the volume at dir is another registry's. One whose owner cannot
// be read is.
func (o *Opener) foreign(dir string) bool {
	w, err := ReadOwner(dir)
	// One that has failed can only be taken away; one that is closed to us is refused by
	// those who open it, with the reason.
	if isFailed(err) || errors.Is(err, fs.ErrPermission) {
		return false
	}
	return err != nil || w.Registry != "" && w.Registry != o.Owner.Registry
}

// claim makes the volume at dir this registry's, if it has no owner.
func (o *Opener) claim(dir string) error {
	w, err := ReadOwner(dir)
	if err == nil && w.Registry == "" && o.Owner.Registry != "" {
		if err = o.writeOwner(dir); errors.Is(err, fs.ErrExist) {
			err = nil // another process was first
		}
	}
	if err != nil {
		return err
	}
	if o.foreign(dir) {
		return fmt.Errorf("%s: %w", dir, errForeign)
	}
	return nil
}

// writeOwner writes the owner file, whole, or fails with fs.ErrExist if there is one.
func (o *Opener) writeOwner(dir string) error {
	b, err := json.Marshal(o.Owner)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, partialPrefix)
	if err != nil {
		return fmt.Errorf("claim volume: %w", err)
	}
	_, err = tmp.Write(append(b, '\n'))
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Link(tmp.Name(), filepath.Join(dir, ownerFile))
	}
	if rerr := os.Remove(tmp.Name()); !errors.Is(rerr, fs.ErrNotExist) { // Sweep may have been first
		err = errors.Join(err, rerr)
	}
	return err
}

// place is the directory of this registry's volume of a kind: the usual one, or one of its
// own beside it as long as that belongs to another registry.
func (o *Opener) place(kind Kind) string {
	var usual, own string
	switch kind {
	case Disk: // it lies in the home: the owner of that owns the volume
		return o.Places.Disk
	case Shm:
		usual, own = o.Places.Shm, o.apart(o.Places.Shm)
	default:
		usual, own = filepath.Join(o.Places.Mounts, string(kind)), filepath.Join(o.apart(o.Places.Mounts), string(kind))
	}
	if _, err := os.Lstat(own); err == nil || o.foreign(usual) {
		return own
	}
	return usual
}

// apart is the place beside the usual one.
func (o *Opener) apart(usual string) string {
	if o.Owner.Registry == "" {
		return usual + "-nobody" // which has made nothing: there is no such place
	}
	return usual + "-" + o.Owner.Registry
}

// Ours reports whether the volume at dir, which this registry's records name, really belongs to
// this registry: the records of a copied home name the volumes of the original.
func (o *Opener) Ours(kind Kind, dir string) bool {
	if kind == Disk {
		return dir == o.Places.Disk
	}
	w, err := ReadOwner(dir)
	switch {
	case err != nil:
		return isFailed(err)
	case w.Registry != "":
		return w.Registry == o.Owner.Registry
	}
	return dir == o.place(kind) || !exists(dir)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
