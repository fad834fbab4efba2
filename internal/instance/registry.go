package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Registry is the records of one user's instances, in the state directory.
type Registry struct {
	Dir string
	// ID is that of the registry, "" for one that has made nothing: volume.FindOwner.
	ID string
	// Place returns the directory of the volume in which what a record says to lie in the
	// volume of a kind at dir is to be found, and whether that is where it was put; nil
	// leaves all where it is. The records of a copied home speak of the original's.
	Place func(kind, dir string) (place string, same bool)
	// UID is the caller's.
	UID int
}

// runDir is the directory for sockets of an instance in dir.
func (g Registry) runDir(dir string, uid int) string { return host.RunDir(dir, uid, g.ID) }

// settle points a record to this registry's own volume.
func (g Registry) settle(r *Record) {
	if g.Place == nil {
		return
	}
	root, same := g.Place(r.Volume, filepath.Dir(filepath.Dir(r.Dir)))
	if same {
		return
	}
	r.Dir = filepath.Join(root, "instances", r.Name)
	r.RunDir, r.Front, r.Tmp, r.Strayed = g.runDir(r.Dir, g.UID), "", "", true
}

// ErrGone says that the data of an instance is not there any more.
var ErrGone = errors.New("its data is gone")

// ErrNotFound says that there is no instance of a name.
var ErrNotFound = errors.New("no such instance")

func (g Registry) path(name string) string { return filepath.Join(g.Dir, name+".json") }

// Lock keeps other commands from making, starting or removing the instance called
// name. waiting is called once if another command is at it.
func (g Registry) Lock(ctx context.Context, name string, waiting func()) (*sys.FileLock, error) {
	if err := sys.MakePrivate(g.Dir); err != nil {
		return nil, fmt.Errorf("lock instance: %w", err)
	}
	l, err := sys.Lock(ctx, filepath.Join(g.Dir, name+".lock"), sys.Exclusive, waiting)
	if err != nil {
		return nil, fmt.Errorf("lock instance %s: %w", name, err)
	}
	return l, nil
}

// Get returns the record called name, or ErrNotFound, or ErrName.
func (g Registry) Get(name string) (*Record, error) {
	if err := CheckName(name); err != nil {
		return nil, err // a path of its own choice
	}
	var r Record
	err := ReadJSON(g.path(name), &r)
	if missing(err) {
		return nil, fmt.Errorf("find instance %s: %w\nhint: ramaria ls shows what there is; ramaria up %s makes it", name, ErrNotFound, name)
	}
	if errors.Is(err, errDamaged) {
		return nil, fmt.Errorf("%w\nhint: remove the file; the next ramaria up removes what the instance held", err)
	}
	if err != nil {
		return nil, err
	}
	if r.Format != Format {
		return nil, fmt.Errorf("read %s: format %d, this ramaria knows %d\nhint: use the ramaria that made it", g.path(name), r.Format, Format)
	}
	g.settle(&r)
	return &r, nil
}

// ErrTaken says that there is an instance of a name already.
var ErrTaken = errors.New("the name is taken")

// TakenError is ErrTaken of a name.
func TakenError(name string) error {
	return fmt.Errorf("make instance %s: %w\nhint: another name, or ramaria down %s --rm", name, ErrTaken, name)
}

// Open returns the instance called name with what it was made of.
func (g Registry) Open(name string) (*Instance, error) {
	r, err := g.Get(name)
	if err != nil {
		return nil, err
	}
	m, err := r.readMade()
	if missing(err) && r.Strayed {
		return nil, fmt.Errorf("open instance %s: %w: %s\nhint: %s", name, ErrGone, strayedReason, r.howBack())
	}
	if missing(err) {
		return nil, fmt.Errorf("open instance %s: %w: it lay in the %s volume, which was emptied, as by %s\nhint: %s", name, ErrGone, r.Volume, r.emptier(), r.howBack())
	}
	if errors.Is(err, errDamaged) {
		return nil, fmt.Errorf("%w\nhint: ramaria up %s --fresh makes it again from what it was made of; ramaria down %s --rm removes it", err, name, name)
	}
	if err != nil {
		return nil, err
	}
	i := &Instance{Record: *r, Made: *m}
	if i.Strayed {
		i.Endpoint.Socket = i.Socket()
	}
	return i, nil
}

// howBack is what brings an instance back whose data in RAM is gone.
func (r *Record) howBack() string {
	if level, _ := r.Spec.Durability(); level.Durable() {
		return fmt.Sprintf("ramaria up %s recovers it from its archive", r.Name)
	}
	return fmt.Sprintf("ramaria up %s makes it again, from what it was made of", r.Name)
}

// Put writes a record. One that is to outlive a reboot is on the disk when it
// returns.
func (g Registry) Put(r *Record) error {
	if r.Passing {
		return WriteJSON(g.path(r.Name), r)
	}
	return WriteDurableJSON(g.path(r.Name), r)
}

// PutSoon is Put that does not wait for the disk, where a server waits: readers see the old or the new record. The caller
// calls Put afterwards, before anything goes that the old one needs.
func (g Registry) PutSoon(r *Record) error { return WriteJSON(g.path(r.Name), r) }

// Sweep removes what commands left that were killed while they wrote a record. Who writes one holds the lock of
// its name.
func (g Registry) Sweep() {
	left, err := sys.Glob(g.Dir, tmpPrefix+"*")
	if err != nil {
		return // what lists the records says so
	}
	for _, path := range left {
		name, _, ours := strings.Cut(strings.TrimPrefix(filepath.Base(path), tmpPrefix), ".json-")
		if !ours || CheckName(name) != nil {
			continue
		}
		lock, err := sys.TryLock(filepath.Join(g.Dir, name+".lock"), sys.Exclusive)
		if err != nil {
			continue // some command is at it, or nothing can be written here
		}
		_ = os.Remove(path) // it is in no one's way
		if _, err := g.Get(name); errors.Is(err, ErrNotFound) {
			_ = lock.UnlockRemove()
		} else {
			_ = lock.Unlock()
		}
	}
}

// Delete removes the record called name. Its lock file is for the caller to remove,
// who holds it.
func (g Registry) Delete(name string) error {
	if err := os.Remove(g.path(name)); err != nil && !missing(err) {
		return fmt.Errorf("remove record: %w", err)
	}
	if err := os.Remove(g.ExtentPath(name)); err != nil && !missing(err) {
		return fmt.Errorf("remove record: %w", err)
	}
	return errors.Join(g.DeleteHandOver(name), g.deleteLoadings(name))
}

// ExtentPath is where the supervisor of a durable instance says how far its archive goes (archive.Extent). It outlives a
// reboot, and lies elsewhere than the archive.
func (g Registry) ExtentPath(name string) string { return filepath.Join(g.Dir, name+".extent") }

// List returns the records by name, without those that cannot be read: one damaged
// file must not stand in the way of all other instances. See Broken.
func (g Registry) List() ([]*Record, error) {
	out, _, err := g.All()
	return out, err
}

// Broken returns the names of the records that cannot be read; Get says why.
func (g Registry) Broken() ([]string, error) {
	_, broken, err := g.All()
	return broken, err
}

// All is List and Broken in one reading.
func (g Registry) All() (out []*Record, broken []string, _ error) {
	entries, err := os.ReadDir(g.Dir)
	if missing(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list instances: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		r, err := g.Get(name)
		if errors.Is(err, ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			broken = append(broken, name)
			continue
		}
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	sort.Strings(broken)
	return out, broken, nil
}
