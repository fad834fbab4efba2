package archive

import "io"

// Disk is the directory that an archive lies in, by what the archive does to it. Names are relative
// to it, with slashes. In tests it is a model that forgets, as a power failure does, what was not
// synced.
type Disk interface {
	// Mkdir makes a directory, which may be there.
	Mkdir(name string) error
	// Names returns the sorted names of what is in a directory; none if that is not there.
	Names(dir string) ([]string, error)
	// Create makes an empty file, in place of one that is there.
	Create(name string) (File, error)
	// Open opens a file for reading and writing; fs.ErrNotExist if it is not there.
	Open(name string) (File, error)
	// Rename gives a file another name, in place of one that is there. It lasts from the SyncDir of
	// the directory on; so do a creation and a removal.
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(dir string) error
}

// File is an open file of a Disk.
type File interface {
	io.ReaderAt
	// WriteAt writes what lasts from the next Sync on.
	io.WriterAt
	// WriteSync writes whole blocks at a multiple of BlockSize; they last when it has returned. b
	// was made by Blocks. After an error any part of b may be there, now or later.
	WriteSync(b []byte, at int64) error
	Sync() error
	// Size is in bytes.
	Size() (int64, error)
	Close() error
}
