package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// Download is how an archive comes back from a bucket.
type Download struct {
	Store Store
	// To is an empty directory, or one that a Download which did not end has left.
	To archive.Disk
	// Trim says what of a manifest is wanted, and what that needs; nil for all of it. What was trimmed
	// must not be mirrored to the same place: it would remove the rest there.
	Trim func(manifest []byte) ([]byte, Needs, error)
	// Extra is what the file that goes with the manifest is called; "" leaves it out.
	Extra string
	// AcceptLoss has the log end where it cannot be read any farther. Without it that is an error.
	AcceptLoss bool
	// Progress is told how many bytes have come, and how many it takes; nil if nobody asks.
	Progress func(done, total int64)

	done, total int64
}

// Peek reads the manifest that is in a bucket. The error matches ErrNothing if there is none.
func Peek(ctx context.Context, s Store) ([]byte, error) {
	m, err := loadManifest(ctx, s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no %s: %w", manifestName, ErrNothing)
	}
	if err != nil {
		return nil, err
	}
	return m.Manifest, nil
}

// ErrNothing says that there is no archive at a place, or none that is complete.
var ErrNothing = errors.New("there is no archive to restore from")

const (
	// restoringName is there until all else is.
	restoringName = "restoring"
	// downloadTries is how often it begins again when a mirror has removed what it was about to fetch.
	downloadTries = 5
)

// Run makes a local archive of what the bucket holds, which reads as the one it comes from, and
// returns its id. It can be run again after an error.
func (d *Download) Run(ctx context.Context) (id [16]byte, err error) {
	id, err = ownerOf(ctx, d.Store)
	if errors.Is(err, fs.ErrNotExist) {
		return id, fmt.Errorf("download archive: no %s: %w\nhint: is the prefix the one that --archive was given?", ownerName, ErrNothing)
	}
	if err != nil {
		return id, fmt.Errorf("download archive: %w", err)
	}
	if err := d.begin(id); err != nil {
		return id, fmt.Errorf("download archive: %w", err)
	}
	for try := 1; ; try++ {
		err := d.all(ctx, id)
		var missing *missingError
		if err == nil {
			break
		}
		if !errors.As(err, &missing) || try == downloadTries {
			return id, fmt.Errorf("download archive: %w", err)
		}
	}
	if err := errors.Join(d.To.Remove(restoringName), d.To.SyncDir(".")); err != nil {
		return id, fmt.Errorf("download archive: %w", err)
	}
	return id, nil
}

// begin takes possession of the directory.
func (d *Download) begin(id [16]byte) error {
	names, err := d.To.Names(".")
	if err != nil {
		return err
	}
	if slices.Contains(names, restoringName) {
		b, err := readFile(d.To, restoringName)
		if err == nil && string(b) != hexID(id) {
			err = fmt.Errorf("the directory has a part of another archive: %w", fs.ErrExist)
		}
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == restoringName+newSuffix }) // cut off here
	if len(names) > 0 {
		return fmt.Errorf("the directory is not empty: it has %s: %w", names[0], fs.ErrExist)
	}
	return writeFile(d.To, restoringName, []byte(hexID(id)))
}

// all fetches what a manifest needs, and then writes that.
func (d *Download) all(ctx context.Context, id [16]byte) error {
	x, err := loadExtent(ctx, d.Store)
	var damaged *DamagedError
	if err != nil && (!d.AcceptLoss || !errors.As(err, &damaged)) {
		return err
	}
	m, from, err := d.manifest(ctx, id)
	if err != nil {
		return err
	}
	if m.Extent != nil && m.Extent.farther(x) {
		x = m.Extent
	}
	pieces, err := m.pieces(ctx, d.Store)
	if err != nil && (!d.AcceptLoss || !errors.As(err, &damaged)) {
		return err
	}
	if pieces, err = d.trim(ctx, id, m, pieces, from); err != nil {
		return err
	}
	d.done, d.total = 0, 0
	for _, f := range m.Files {
		d.total += f.Size
	}
	for _, p := range pieces {
		d.total += p.size
	}
	d.progress(0)
	for _, f := range m.Files {
		if err := d.file(ctx, f); err != nil {
			return err
		}
	}
	if err := d.log(ctx, id, m, pieces); err != nil {
		return err
	}
	if d.Extra != "" && m.Extra != nil {
		if err := writeFile(d.To, d.Extra, m.Extra); err != nil {
			return err
		}
	}
	// What the log lacks of that is found out when it is read.
	if err := archive.WriteExtent(d.To, archive.ExtentName, x.local(id)); err != nil {
		return err
	}
	return writeFile(d.To, manifestName, m.Manifest)
}

// manifest reads that of the bucket, and trims it; logs are needed from positions on.
func (d *Download) manifest(ctx context.Context, id [16]byte) (*manifest, map[uint32]archive.Position, error) {
	m, err := loadManifest(ctx, d.Store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("no %s: its first base backup was not complete: %w", manifestName, ErrNothing)
	}
	if err != nil {
		return nil, nil, err
	}
	if m.Archive != hexID(id) {
		return nil, nil, &DamagedError{manifestName, fmt.Sprintf("it is of archive %s, and %s of %s", m.Archive, ownerName, hexID(id))}
	}
	for _, f := range m.Files {
		if err := f.check(); err != nil {
			return nil, nil, &DamagedError{manifestName, err.Error()}
		}
	}
	if d.Trim == nil {
		return m, nil, nil
	}
	raw, needs, err := d.Trim(m.Manifest)
	if err != nil {
		return nil, nil, err
	}
	m.Manifest = raw
	m.Files = slices.DeleteFunc(m.Files, func(f file) bool { return !slices.Contains(needs.Files, f.Name) })
	if len(needs.Epochs) > 0 {
		m.Logs = slices.DeleteFunc(m.Logs, func(l logStart) bool { return l.Epoch < slices.Min(needs.Epochs) })
	}
	return m, needs.From, nil
}

// check refuses what no mirror writes.
func (f *file) check() error {
	if f.Size < 0 || f.Chunk <= 0 || f.Chunk > MaxObject || int64(len(f.Sums)) != (f.Size+f.Chunk-1)/f.Chunk {
		return fmt.Errorf("file %s has %d bytes in %d objects of %d", f.Name, f.Size, len(f.Sums), f.Chunk)
	}
	return checkFile(f.Name)
}

// chunk is the nth object of a file.
func (f *file) chunk(n int) Object {
	return Object{chunkName(f.Name, n, f.Sums[n]), min(f.Chunk, f.Size-int64(n)*f.Chunk)}
}

// file fetches a file, unless it is there.
func (d *Download) file(ctx context.Context, f file) (err error) {
	if there, err := d.there(f); err != nil || there {
		d.progress(f.Size)
		return err
	}
	dir := path.Dir(f.Name)
	if err := errors.Join(d.To.Mkdir(dir), d.To.SyncDir(".")); err != nil {
		return err
	}
	to, err := createFile(d.To, f.Name)
	if err != nil {
		return err
	}
	list := make([]Object, len(f.Sums))
	for n := range list {
		list[n] = f.chunk(n)
	}
	err = fetch(ctx, d.Store, list, func(n int, b []byte) error {
		if int64(len(b)) != list[n].Size || hexSum(b) != f.Sums[n] {
			return &DamagedError{list[n].Name, "it is not what its name says"}
		}
		_, err := to.WriteAt(b, int64(n)*f.Chunk)
		d.progress(int64(len(b)))
		return err
	})
	if err != nil {
		return errors.Join(err, to.Close())
	}
	return to.finish()
}

// there reports whether a file came with an earlier attempt.
func (d *Download) there(f file) (_ bool, err error) {
	have, err := d.To.Open(f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, have.Close()) }()
	if size, err := have.Size(); err != nil || size != f.Size {
		return false, err
	}
	b := make([]byte, f.Chunk)
	for n := range f.Sums {
		k, err := have.ReadAt(b[:f.chunk(n).Size], int64(n)*f.Chunk)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if hexSum(b[:k]) != f.Sums[n] {
			return false, nil
		}
	}
	return true, nil
}

func (d *Download) progress(n int64) {
	d.done += n
	if d.Progress != nil {
		d.Progress(d.done, d.total)
	}
}
