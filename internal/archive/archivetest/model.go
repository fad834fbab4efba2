// Package archivetest gives tests of packages above archive a disk that forgets what was not synced,
// as a power failure does.
package archivetest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"sync"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// ErrCut is what everything returns after the power was cut.
var ErrCut = errors.New("the power is cut")

// sector is the unit, in bytes, that a disk writes as a whole.
const sector = 512

// Model is a Disk that forgets. Until it is synced, each sector that was written may be there after
// a power cut or not, in any combination, and each name too.
type Model struct {
	// Rand decides; a test may draw from it too, between the calls.
	Rand *rand.Rand
	// Left is how many calls go on until the power is cut; negative for ever.
	Left int
	// Met counts the kinds of calls in which the power was cut.
	Met map[string]int
	// Lies are promises that this disk does not keep, for negative controls.
	Lies struct{ WriteSync, Sync, SyncDir bool }
	// Fail returns the error of a call, nil for none.
	Fail func(call, name string) error

	mu   sync.Mutex
	dirs map[string]*dir
	cut  bool
}

var _ archive.Disk = (*Model)(nil)

// dir has the names as they are, and those that may be there after a cut: for each name the
// states since the last SyncDir.
type dir struct {
	now    map[string]*inode
	states map[string][]*inode // nil for not there; the first is what lasts
}

// inode is a file. Each sector has the contents since it was last synced.
type inode struct {
	data   []byte
	lasts  []byte
	unsure map[int][][]byte // by sector, oldest first, without what lasts
}

// New returns an empty disk.
func New(seed uint64) *Model {
	m := &Model{Rand: rand.New(rand.NewPCG(seed, 27)), dirs: map[string]*dir{}, Left: -1, Met: map[string]int{}}
	m.dirs["."] = newDir()
	return m
}

func newDir() *dir {
	return &dir{now: map[string]*inode{}, states: map[string][]*inode{}}
}

// call counts a call, and cuts the power when its time has come: during says what a write in flight
// leaves behind.
func (m *Model) call(what, name string, during func()) error {
	if m.cut {
		return ErrCut
	}
	if m.Left == 0 {
		m.cut = true
		m.Met[what]++
		if during != nil && m.Rand.IntN(2) == 0 {
			during()
		}
		return ErrCut
	}
	m.Left--
	if m.Fail != nil {
		if err := m.Fail(what, name); err != nil {
			return &fs.PathError{Op: what, Path: name, Err: err}
		}
	}
	return nil
}

func (m *Model) dir(name string) (*dir, string, error) {
	d := m.dirs[path.Dir(name)]
	if d == nil {
		return nil, "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return d, path.Base(name), nil
}

// set gives a name another meaning.
func (d *dir) set(name string, to *inode) {
	if d.states[name] == nil {
		d.states[name] = []*inode{d.now[name]}
	}
	d.states[name] = append(d.states[name], to)
	if to == nil {
		delete(d.now, name)
	} else {
		d.now[name] = to
	}
}

// Mkdir implements archive.Disk. It lasts at once: the parent's sync is not what is tried here.
func (m *Model) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("mkdir", name, nil); err != nil {
		return err
	}
	if m.dirs[name] == nil {
		m.dirs[name] = newDir()
	}
	return nil
}

// Names implements archive.Disk.
func (m *Model) Names(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cut {
		return nil, ErrCut
	}
	var names []string
	if d := m.dirs[dir]; d != nil {
		for name := range d.now {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Create implements archive.Disk.
func (m *Model) Create(name string) (archive.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("create", name, nil); err != nil {
		return nil, err
	}
	d, base, err := m.dir(name)
	if err != nil {
		return nil, err
	}
	i := &inode{unsure: map[int][][]byte{}}
	d.set(base, i)
	return &file{m, i, name}, nil
}

// Open implements archive.Disk.
func (m *Model) Open(name string) (archive.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cut {
		return nil, ErrCut
	}
	d, base, err := m.dir(name)
	if err != nil {
		return nil, err
	}
	if d.now[base] == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{m, d.now[base], name}, nil
}

// Rename implements archive.Disk.
func (m *Model) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("rename", to, nil); err != nil {
		return err
	}
	d, base, err := m.dir(from)
	if err != nil {
		return err
	}
	e, other, err := m.dir(to)
	if err != nil {
		return err
	}
	i := d.now[base]
	if i == nil {
		return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrNotExist}
	}
	d.set(base, nil)
	e.set(other, i)
	return nil
}

// Remove implements archive.Disk.
func (m *Model) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("remove", name, nil); err != nil {
		return err
	}
	d, base, err := m.dir(name)
	if err != nil {
		return err
	}
	if d.now[base] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	d.set(base, nil)
	return nil
}

// SyncDir implements archive.Disk.
func (m *Model) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("syncdir", dir, nil); err != nil {
		return err
	}
	if d := m.dirs[dir]; d != nil && !m.Lies.SyncDir {
		clear(d.states)
	}
	return nil
}

// Resume is the disk after the writer was killed, as the next process finds it: nothing is forgotten, and
// what was not synced may still be lost at the next power cut.
func (m *Model) Resume() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut, m.Left = false, -1
}

// Die ends the life of a writer, by a power cut or, a third of the time, by a kill of the writer alone. It
// reports whether what is there lasts.
func (m *Model) Die() (lasts bool) {
	if m.Rand.IntN(3) == 0 {
		m.Resume()
		return false
	}
	m.Restart()
	return true
}

// Restart is the disk after a power cut, as the next process finds it.
func (m *Model) Restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[*inode]bool{}
	for _, dir := range slices.Sorted(maps.Keys(m.dirs)) { // in order, so that a seed is a history
		d := m.dirs[dir]
		for _, name := range slices.Sorted(maps.Keys(d.states)) {
			states := d.states[name]
			delete(d.now, name)
			if i := states[m.Rand.IntN(len(states))]; i != nil {
				d.now[name] = i
			}
		}
		clear(d.states)
		for _, name := range slices.Sorted(maps.Keys(d.now)) {
			i := d.now[name]
			if !seen[i] {
				seen[i] = true
				i.forget(m.Rand)
			}
		}
	}
	m.cut, m.Left = false, -1
}

// forget makes of a file what a power cut leaves of it.
func (i *inode) forget(rng *rand.Rand) {
	data := slices.Clone(i.lasts)
	for _, n := range slices.Sorted(maps.Keys(i.unsure)) {
		versions := i.unsure[n]
		if k := rng.IntN(len(versions) + 1); k > 0 {
			data = Put(data, versions[k-1], n*sector)
		}
	}
	i.data, i.lasts = data, slices.Clone(data)
	clear(i.unsure)
}

// Put writes b into data, which grows where it must.
func Put(data, b []byte, at int) []byte {
	if grow := at + len(b) - len(data); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[at:], b)
	return data
}

// write puts bytes into the cache.
func (i *inode) write(b []byte, at int64) {
	i.data = Put(i.data, b, int(at))
	for n := int(at) / sector; n*sector < int(at)+len(b); n++ {
		end := min((n+1)*sector, len(i.data))
		i.unsure[n] = append(i.unsure[n], slices.Clone(i.data[n*sector:end]))
	}
}

// settle makes sectors last.
func (i *inode) settle(at int64, n int) {
	for s := int(at) / sector; s*sector < int(at)+n; s++ {
		if v := i.unsure[s]; len(v) > 0 {
			i.lasts = Put(i.lasts, v[len(v)-1], s*sector)
			delete(i.unsure, s)
		}
	}
}

type file struct {
	m    *Model
	i    *inode
	name string
}

func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.cut {
		return 0, ErrCut
	}
	if at >= int64(len(f.i.data)) {
		return 0, io.EOF
	}
	n := copy(b, f.i.data[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) WriteAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.call("write", f.name, func() { f.i.write(b, at) }); err != nil {
		return 0, err
	}
	f.i.write(b, at)
	return len(b), nil
}

func (f *file) WriteSync(b []byte, at int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if at%archive.BlockSize != 0 || len(b)%archive.BlockSize != 0 {
		return fmt.Errorf("write %d bytes at %d: not aligned", len(b), at)
	}
	if err := f.m.call("writesync", f.name, func() { f.i.write(b, at) }); err != nil {
		if !errors.Is(err, ErrCut) && f.m.Rand.IntN(2) == 0 {
			f.i.write(b, at) // it failed, and is there
		}
		return err
	}
	f.i.write(b, at)
	if !f.m.Lies.WriteSync {
		f.i.settle(at, len(b))
	}
	return nil
}

func (f *file) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.call("sync", f.name, nil); err != nil {
		return err
	}
	if !f.m.Lies.Sync {
		f.i.settle(0, len(f.i.data))
	}
	return nil
}

func (f *file) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.i.data)), nil
}

func (f *file) Close() error { return nil }

// Flip changes a bit of a file for good.
func (m *Model) Flip(name string, at int64) {
	i := m.dirs[path.Dir(name)].now[path.Base(name)]
	i.data[at] ^= 4
	if int(at) < len(i.lasts) {
		i.lasts[at] ^= 4
	}
}
