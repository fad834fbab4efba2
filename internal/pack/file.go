package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// zstdEnding is that of the names of files that are compressed.
	zstdEnding = ".zst"
	gzipEnding = ".gz"
	// zstdWindow is how far back compression looks, in bytes; more takes memory and gains little.
	zstdWindow = 4 << 20
	// zstdThreads is how many processors it may use.
	zstdThreads = 2
)

// File is a dump that is being written: it appears under its name at Keep, and never if that is
// not called. A name that ends in .zst or .gz, in any case, has it compressed: the one that was given, wherever a link of
// that name leads.
type File struct {
	// Size is what was written of the file, in bytes.
	Size int64

	path string
	f    *os.File
	z    compressor // nil if it is not compressed
	// direct says that there is something else than a file, such as a pipe, which is written to
	// as it is.
	direct bool
}

var _ io.Writer = (*File)(nil)

// Create begins a file at path, readable by whom mode says. What is there stays until Keep.
func Create(path string, mode fs.FileMode) (*File, error) {
	name := strings.ToLower(path)
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	out := &File{path: path}
	fi, err := os.Stat(path)
	switch {
	case err == nil && fi.IsDir():
		return nil, fmt.Errorf("write dump %s: is a directory", path)
	case err == nil && !fi.Mode().IsRegular():
		out.direct = true
		out.f, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		if out.f, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part-*"); err == nil {
			err = out.f.Chmod(mode)
		}
	}
	if err != nil {
		out.Close()
		if _, dirErr := os.Stat(filepath.Dir(path)); errors.Is(dirErr, fs.ErrNotExist) {
			return nil, fmt.Errorf("write dump %s: there is no such directory\nhint: mkdir -p %s", path, filepath.Dir(path))
		}
		return nil, fmt.Errorf("write dump: %w", err)
	}
	if out.z, err = newCompressor(name, counter{out}); err != nil {
		out.Close()
		return nil, fmt.Errorf("write dump: %w", err)
	}
	return out, nil
}

// newCompressor compresses into to as a name in lower case ends; nil where that means nothing.
func newCompressor(name string, to io.Writer) (compressor, error) {
	switch {
	case strings.HasSuffix(name, zstdEnding):
		return zstd.NewWriter(to, zstd.WithEncoderConcurrency(zstdThreads), zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
	case strings.HasSuffix(name, gzipEnding):
		return gzip.NewWriter(to), nil
	}
	return nil, nil
}

// Compressor compresses into a file of a name with this ending, .zst or .gz.
func Compressor(ending string, to io.Writer) (io.WriteCloser, error) {
	z, err := newCompressor(ending, to)
	if err == nil && z == nil {
		err = fmt.Errorf("compress: unknown ending %s", ending)
	}
	return z, err
}

// compressor is what *zstd.Encoder and *gzip.Writer have in common.
type compressor interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// counter writes to the file itself.
type counter struct{ *File }

func (c counter) Write(p []byte) (int, error) {
	n, err := c.f.Write(p)
	c.Size += int64(n)
	return n, err
}

// Write writes text.
func (f *File) Write(p []byte) (int, error) {
	if f.z != nil {
		return f.z.Write(p)
	}
	return counter{f}.Write(p)
}

// Keep finishes the file and has it appear under its name, in place of what was there.
func (f *File) Keep() error {
	var err error
	if f.z != nil {
		err = f.z.Close()
		f.z = nil
	}
	if !f.direct {
		err = errors.Join(err, f.f.Sync())
	}
	part := f.f.Name()
	err = errors.Join(err, f.f.Close())
	if err == nil && !f.direct {
		if err = os.Rename(part, f.path); err == nil {
			err = syncDir(filepath.Dir(f.path))
		}
	}
	if err != nil {
		if !f.direct {
			os.Remove(part)
		}
		err = fmt.Errorf("write dump: %w", err)
	}
	f.f = nil
	return err
}

// syncDir makes sure of the names in a directory.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close removes a file that was not kept.
func (f *File) Close() {
	if f.f == nil {
		return
	}
	if f.z != nil {
		f.z.Reset(io.Discard) // what it has may not be written any more
		_ = f.z.Close()       // of nothing
	}
	_ = f.f.Close() // it goes
	if !f.direct {
		os.Remove(f.f.Name())
	}
	f.f = nil
}
