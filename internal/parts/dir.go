package parts

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/pack"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Dir is a directory that is being written: it appears under its name at Keep, and never if that is not called.
type Dir struct {
	path, temp, ending string
	mode               fs.FileMode

	lock  sync.Mutex
	stems map[tableName]string
	taken map[string]bool // stems, in lower case
	sums  []string        // lines of sumsFile
	files int
	size  int64
}

// sumsFile has the sums of all files, by which a missing one is noticed, and with sha256sum -c a damaged one.
const sumsFile = "SHA256SUMS"

// Create begins a directory at path, where there is none or an empty one. Its files have a mode, and the ending .sql with one
// behind that: .zst or .gz for compressed ones, "" for plain ones.
func Create(path, ending string, mode fs.FileMode) (*Dir, error) {
	path, err := filepath.Abs(path) // . has a parent, too
	if err != nil {
		return nil, fmt.Errorf("write dump: %w", err)
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	parent := filepath.Dir(path)
	if other, err := apart(path, parent); err == nil && other {
		return nil, fmt.Errorf("write dump %s: another file system is mounted there, and the dump appears by a rename\nhint: name a new directory in it: %s", path, filepath.Join(path, "dump"))
	}
	switch entries, err := os.ReadDir(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("write dump: %w", err)
	case len(entries) > 0:
		return nil, fmt.Errorf("write dump %s: the directory is not empty\nhint: name a new one; %s is in this one", path, entries[0].Name())
	}
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(path)+".part-*")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("write dump %s: there is no such directory\nhint: mkdir -p %s", path, parent)
	case err != nil:
		return nil, fmt.Errorf("write dump %s: %w\nhint: the directory is made in %s, which must be writable: name one elsewhere", path, err, parent)
	}
	return &Dir{path: path, temp: temp, ending: ending, mode: mode, stems: map[tableName]string{}, taken: map[string]bool{}}, nil
}

// apart reports whether a directory is the root of another file system than its parent.
func apart(path, parent string) (bool, error) {
	var of, above syscall.Stat_t
	if err := errors.Join(syscall.Stat(path, &of), syscall.Stat(parent, &above)); err != nil {
		return false, err
	}
	return of.Dev != above.Dev, nil
}

// Wrote returns how many files there are, and their size in bytes.
func (d *Dir) Wrote() (files int, size int64) {
	d.lock.Lock()
	defer d.lock.Unlock()
	return d.files, d.size
}

// Schema begins the file that makes the tables, Rest that of all that goes behind the rows. database is in its name, if any.
func (d *Dir) Schema(database string) (io.WriteCloser, error) {
	return d.create(named(schemaFirst, database, "schema"))
}

// Rest begins the file of what goes behind the rows.
func (d *Dir) Rest(database string) (io.WriteCloser, error) {
	return d.create(named(restLast, database, "objects"))
}

func named(order, database, what string) string {
	if database != "" {
		what = stem(database) + "." + what
	}
	return order + "-" + what
}

// create begins a file, whose name is given without its endings.
func (d *Dir) create(name string) (*file, error) {
	f, err := os.OpenFile(filepath.Join(d.temp, name+".sql"+d.ending), os.O_WRONLY|os.O_CREATE|os.O_EXCL, d.mode)
	if err != nil {
		return nil, fmt.Errorf("write dump: %w", err)
	}
	out := &file{dir: d, f: f, sum: sha256.New()}
	to := summed{io.MultiWriter(f, out.sum), f}
	out.WriteCloser = to
	if d.ending != "" {
		if out.WriteCloser, err = pack.Compressor(d.ending, to); err != nil {
			return nil, errors.Join(fmt.Errorf("write dump: %w", err), f.Close())
		}
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	d.files++
	return out, nil
}

// file is one of the directory.
type file struct {
	io.WriteCloser // f, or what compresses into it

	dir *Dir
	f   *os.File
	sum hash.Hash // of what f has
}

// summed passes what is written on to a sum as well.
type summed struct {
	io.Writer
	io.Closer
}

// Write writes text.
func (f *file) Write(p []byte) (int, error) {
	n, err := f.WriteCloser.Write(p)
	if err != nil {
		err = fmt.Errorf("write dump: %w", err)
	}
	return n, err
}

// Close ends the file.
func (f *file) Close() error {
	var errs []error
	if f.dir.ending != "" {
		errs = append(errs, f.WriteCloser.Close())
	}
	info, err := f.f.Stat()
	errs = append(errs, err, f.f.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write dump: %w", err)
	}
	f.dir.lock.Lock()
	defer f.dir.lock.Unlock()
	f.dir.size += info.Size()
	f.dir.sums = append(f.dir.sums, fmt.Sprintf("%x  %s\n", f.sum.Sum(nil), info.Name()))
	return nil
}

// Keep has the directory appear under its name, once all is on the disk.
func (d *Dir) Keep() error {
	if err := d.keep(); err != nil {
		return fmt.Errorf("write dump: %w", err)
	}
	d.temp = ""
	return nil
}

func (d *Dir) keep() error {
	slices.SortFunc(d.sums, func(a, b string) int { return strings.Compare(a[2*sha256.Size:], b[2*sha256.Size:]) })
	if err := os.WriteFile(filepath.Join(d.temp, sumsFile), []byte(strings.Join(d.sums, "")), d.mode); err != nil {
		return err
	}
	// One call for thousands of files, each of which would take a write of the disk's own.
	if err := sys.SyncFS(d.temp); err != nil {
		return err
	}
	if err := syscall.Rename(d.temp, d.path); err != nil { // over an empty one, which os.Rename refuses
		err = &os.LinkError{Op: "rename", Old: d.temp, New: d.path, Err: err}
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
			err = fmt.Errorf("%w\nhint: something was written there meanwhile: name a new directory", err)
		}
		return err
	}
	parent, err := os.Open(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// Close removes a directory that was not kept.
func (d *Dir) Close() {
	if d.temp != "" {
		os.RemoveAll(d.temp)
		d.temp = ""
	}
}
