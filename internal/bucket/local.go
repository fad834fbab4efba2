package bucket

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// manifest reads the local manifest; fs.ErrNotExist if there is none.
func (m *Mirror) manifest() ([]byte, error) { return readFile(m.Local, manifestName) }

// extra reads the file that goes with it; nil if there is none.
func (m *Mirror) extra() ([]byte, error) {
	if m.Extra == "" {
		return nil, nil
	}
	b, err := readFile(m.Local, m.Extra)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// maxManifest is how large a manifest is at most, in bytes.
const maxManifest = 12 << 20

func readFile(d archive.Disk, name string) (b []byte, err error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > maxManifest {
		return nil, fmt.Errorf("read %s: it has %d bytes", name, size)
	}
	b = make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

// newSuffix is of files in the making.
const newSuffix = ".new"

// newFile is a file that gets its name when it is whole.
type newFile struct {
	archive.File
	disk archive.Disk
	name string
}

func createFile(d archive.Disk, name string) (*newFile, error) {
	f, err := d.Create(name + newSuffix)
	if err != nil {
		return nil, err
	}
	return &newFile{f, d, name}, nil
}

// finish makes the file last under its name.
func (f *newFile) finish() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := f.disk.Rename(f.name+newSuffix, f.name); err != nil {
		return err
	}
	return f.disk.SyncDir(path.Dir(f.name))
}

func writeFile(d archive.Disk, name string, b []byte) error {
	f, err := createFile(d, name)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.finish()
}
