package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
)

// errCut is what everything returns after the power was cut.
var errCut = errors.New("the power is cut")

// sector is the unit, in bytes, that a disk writes as a whole.
const sector = 512

// model is a Disk that forgets. Until it is synced, each sector that was written may be there after
// a power cut or not, in any combination, and each name too. What lies below is faults a test asks for.
type model struct {
	mu  sync.Mutex
	rng *rand.Rand
	// inodes by number: what is in the cache, and what may be on the plate.
	dirs map[string]*modelDir
	// left is how many calls go on until the power is cut; negative for ever.
	left  int
	calls int
	cut   bool
	// kind of call that was cut, for the count of what was met
	met map[string]int

	// Negative controls: promises that this disk does not keep.
	lies struct{ writeSync, sync, syncDir bool }
	// fail returns the error of a call, nil for none; full says that nothing more fits.
	fail func(call, name string) error
}

// modelDir has the names as they are, and those that may be there after a cut: for each name the
// states since the last SyncDir.
type modelDir struct {
	now    map[string]*inode
	states map[string][]*inode // nil for not there; the first is what lasts
}

// inode is a file. Each sector has the contents since it was last synced.
type inode struct {
	data   []byte
	lasts  []byte
	unsure map[int][][]byte // by sector, oldest first, without what lasts
}

func newModel(seed uint64) *model {
	m := &model{rng: rand.New(rand.NewPCG(seed, 27)), dirs: map[string]*modelDir{}, left: -1, met: map[string]int{}}
	m.dirs["."] = newModelDir()
	return m
}

func newModelDir() *modelDir {
	return &modelDir{now: map[string]*inode{}, states: map[string][]*inode{}}
}

// call counts a call, and cuts the power when its time has come: during says what a write in flight
// leaves behind.
func (m *model) call(what, name string, during func()) error {
	if m.cut {
		return errCut
	}
	if m.left == 0 {
		m.cut = true
		m.met[what]++
		if during != nil && m.rng.IntN(2) == 0 {
			during()
		}
		return errCut
	}
	m.left--
	m.calls++
	if m.fail != nil {
		if err := m.fail(what, name); err != nil {
			return &fs.PathError{Op: what, Path: name, Err: err}
		}
	}
	return nil
}

func (m *model) dir(name string) (*modelDir, string, error) {
	d := m.dirs[path.Dir(name)]
	if d == nil {
		return nil, "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return d, path.Base(name), nil
}

// set gives a name another meaning.
func (d *modelDir) set(name string, to *inode) {
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

// Mkdir lasts at once: the parent's sync is not what is tried here.
func (m *model) Mkdir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("mkdir", name, nil); err != nil {
		return err
	}
	if m.dirs[name] == nil {
		m.dirs[name] = newModelDir()
	}
	return nil
}

func (m *model) Names(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cut {
		return nil, errCut
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

func (m *model) Create(name string) (File, error) {
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
	return &modelFile{m, i, name}, nil
}

func (m *model) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cut {
		return nil, errCut
	}
	d, base, err := m.dir(name)
	if err != nil {
		return nil, err
	}
	if d.now[base] == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &modelFile{m, d.now[base], name}, nil
}

func (m *model) Rename(from, to string) error {
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

func (m *model) Remove(name string) error {
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

func (m *model) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.call("syncdir", dir, nil); err != nil {
		return err
	}
	if d := m.dirs[dir]; d != nil && !m.lies.syncDir {
		clear(d.states)
	}
	return nil
}

// restart is the disk after a power cut, as the next process finds it.
func (m *model) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[*inode]bool{}
	for _, d := range m.dirs {
		for name, states := range d.states {
			delete(d.now, name)
			if i := states[m.rng.IntN(len(states))]; i != nil {
				d.now[name] = i
			}
		}
		clear(d.states)
		for _, i := range d.now {
			if !seen[i] {
				seen[i] = true
				i.forget(m.rng)
			}
		}
	}
	m.cut, m.left = false, -1
}

// forget makes of a file what a power cut leaves of it.
func (i *inode) forget(rng *rand.Rand) {
	data := slices.Clone(i.lasts)
	for n, versions := range i.unsure {
		if k := rng.IntN(len(versions) + 1); k > 0 {
			data = put(data, versions[k-1], n*sector)
		}
	}
	i.data, i.lasts = data, slices.Clone(data)
	clear(i.unsure)
}

func put(data, b []byte, at int) []byte {
	if grow := at + len(b) - len(data); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[at:], b)
	return data
}

// write puts bytes into the cache.
func (i *inode) write(b []byte, at int64) {
	i.data = put(i.data, b, int(at))
	for n := int(at) / sector; n*sector < int(at)+len(b); n++ {
		end := min((n+1)*sector, len(i.data))
		i.unsure[n] = append(i.unsure[n], slices.Clone(i.data[n*sector:end]))
	}
}

// settle makes sectors last.
func (i *inode) settle(at int64, n int) {
	for s := int(at) / sector; s*sector < int(at)+n; s++ {
		if v := i.unsure[s]; len(v) > 0 {
			i.lasts = put(i.lasts, v[len(v)-1], s*sector)
			delete(i.unsure, s)
		}
	}
}

type modelFile struct {
	m    *model
	i    *inode
	name string
}

func (f *modelFile) ReadAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.cut {
		return 0, errCut
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

func (f *modelFile) WriteAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.call("write", f.name, func() { f.i.write(b, at) }); err != nil {
		return 0, err
	}
	f.i.write(b, at)
	return len(b), nil
}

func (f *modelFile) WriteSync(b []byte, at int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if at%BlockSize != 0 || len(b)%BlockSize != 0 {
		return fmt.Errorf("write %d bytes at %d: not aligned", len(b), at)
	}
	if err := f.m.call("writesync", f.name, func() { f.i.write(b, at) }); err != nil {
		if !errors.Is(err, errCut) && f.m.rng.IntN(2) == 0 {
			f.i.write(b, at) // it failed, and is there
		}
		return err
	}
	f.i.write(b, at)
	if !f.m.lies.writeSync {
		f.i.settle(at, len(b))
	}
	return nil
}

func (f *modelFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.m.call("sync", f.name, nil); err != nil {
		return err
	}
	if !f.m.lies.sync {
		f.i.settle(0, len(f.i.data))
	}
	return nil
}

func (f *modelFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.i.data)), nil
}

func (f *modelFile) Close() error { return nil }

// flip changes a bit of a file for good.
func (m *model) flip(name string, at int64) {
	i := m.dirs[path.Dir(name)].now[path.Base(name)]
	i.data[at] ^= 4
	if int(at) < len(i.lasts) {
		i.lasts[at] ^= 4
	}
}
