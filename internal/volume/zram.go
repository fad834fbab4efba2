package volume

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// zramAlgorithms are the compression algorithms, the best for this first. Page images
// are read and written all the time: speed goes before density.
var zramAlgorithms = []string{"lz4", "lzo-rle"}

// zramRecord says which zram device is, or is about to be, the volume's. It is written
// before there is a device, since nothing else tells a killed maker's from others.
type zramRecord struct {
	// Boot is the boot that the numbers belong to.
	Boot string `json:"boot"`
	// Others are the devices that there were before, as long as Size is 0: ours is one
	// that is not among them.
	Others []int `json:"others,omitempty"`
	// Device is the number of ours, and Size what it is, or is about to be, set up with.
	Device int   `json:"device"`
	Size   int64 `json:"size"`
}

// zramTable is the part of a device's size, one in this many, that the kernel's table
// of its pages takes from the start: 16 bytes for each of 4096. Measured: 104 MB for a
// device of 24 GB.
const zramTable = 256

// recordSuffix ends the names of records: that of the volume, and beside it those of
// volumes that were removed by force while a process still used them.
const recordSuffix = ".device"

func (m *Mount) recordPath() string { return m.dir + recordSuffix }

// newZram makes XFS on a zram device that is as large as the machine's memory.
func (m *Mount) newZram(ctx context.Context, size, most int64) (*sys.Mount, error) {
	z, err := m.addZram(ctx, xfsSize(max(size, most)))
	if err != nil {
		return nil, err
	}
	dev, err := os.OpenFile(z.Path(), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.mkfs(ctx, dev, size), dev.Close()); err != nil {
		return nil, err
	}
	return m.mountXFS(z.Path())
}

// addZram adds a device and sets it up. At no moment is there one that reclaim would
// not find.
func (m *Mount) addZram(ctx context.Context, size int64) (z sys.Zram, err error) {
	lock, err := sys.ZramLock(ctx)
	if err != nil {
		return z, err
	}
	defer lock.Close()
	r := zramRecord{}
	if r.Boot, err = m.host.BootID(); err != nil {
		return z, err
	}
	if r.Others, err = sys.ZramDevices(); err != nil {
		return z, err
	}
	if err := writeJSON(m.recordPath(), r); err != nil {
		return z, err
	}
	if z, err = sys.AddZram(); err != nil {
		return z, err
	}
	r.Device, r.Size = z.Number, size
	if err := writeJSON(m.recordPath(), r); err != nil {
		return z, err
	}
	return z, z.SetUp(size, zramAlgorithms...)
}

// readZram reads a record; ok is false if it says nothing: the file is missing, was cut
// short, or it is from before a reboot.
func (m *Mount) readZram(path string) (r zramRecord, ok bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	boot, err := m.host.BootID()
	if err != nil {
		return r, false, err
	}
	return r, json.Unmarshal(b, &r) == nil && r.Boot == boot, nil
}

func (m *Mount) zramMemory() (int64, error) {
	r, ok, err := m.readZram(m.recordPath())
	if err != nil || !ok || r.Size == 0 {
		return 0, err
	}
	used, _, err := sys.Zram{Number: r.Device}.Memory()
	return used + r.Size/zramTable, err
}

// reclaim takes away the zram devices of volumes that are not mounted any more. It
// does nothing for other kinds, which leave nothing.
func (m *Mount) reclaim(ctx context.Context) error {
	if m.kind != Zram {
		return nil
	}
	// Of a maker that was killed before it could do anything else.
	if err := os.Remove(m.recordPath() + newSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	orphans, err := sys.Glob(filepath.Dir(m.dir), filepath.Base(m.dir)+"-*"+recordSuffix)
	if err != nil {
		return err
	}
	for _, path := range append(orphans, m.recordPath()) {
		err := m.reclaimZram(ctx, path)
		if errors.Is(err, syscall.EBUSY) {
			err = m.setAside(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setAside gives the record of a device that is still in use another name, so that
// the volume can be made again and a later command takes the device away.
func (m *Mount) setAside(path string) error {
	r, ok, err := m.readZram(path)
	if err != nil || !ok || path != m.recordPath() {
		return err
	}
	return os.Rename(path, fmt.Sprintf("%s-%d%s", m.dir, r.Device, recordSuffix))
}

// reclaimZram takes away the device that a record names, and the record.
func (m *Mount) reclaimZram(ctx context.Context, path string) error {
	r, ok, err := m.readZram(path)
	if err != nil {
		return err
	}
	if ok {
		if err := r.remove(ctx); err != nil {
			return err
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (r zramRecord) remove(ctx context.Context) error {
	lock, err := sys.ZramLock(ctx)
	if errors.Is(err, sys.ErrNoZram) {
		return nil // then there is no device either
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	ours := []int{r.Device}
	if r.Size == 0 { // killed before it knew the number
		if ours, err = sys.ZramDevices(); err != nil {
			return err
		}
		ours = slices.DeleteFunc(ours, func(n int) bool { return slices.Contains(r.Others, n) })
	}
	for _, n := range ours {
		z := sys.Zram{Number: n}
		size, err := z.Size()
		if err != nil {
			return err
		}
		// One of another size belongs to another process, which was given the number.
		if size != 0 && size != r.Size {
			continue
		}
		if err := z.Remove(); err != nil {
			return err
		}
	}
	return nil
}

// isRecord reports whether a name in the directory of mounts is that of a record.
func isRecord(name string) bool { return strings.HasSuffix(name, recordSuffix) }
