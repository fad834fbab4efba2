package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// packer writes one saved image.
type packer struct {
	ctx  context.Context // of the one call that the packer lives for
	tar  *tar.Writer
	sums sums
	buf  []byte
	// progress is told of the data that was read, without holes.
	progress io.Writer
	// filter says what is left out; nil for nothing.
	filter func(rel string, kind fs.FileMode) (skip bool, err error)
}

// pack writes an image to w. Its memory does not depend on the image's size.
func pack(ctx context.Context, w io.Writer, m *Image, progress io.Writer) error {
	return packDir(ctx, w, m, m.DataDir(), progress, nil)
}

// packDir is pack for data that lies elsewhere.
func packDir(ctx context.Context, w io.Writer, m *Image, dir string, progress io.Writer, filter func(string, fs.FileMode) (bool, error)) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(packWindow), zstd.WithEncoderCRC(true))
	if err != nil {
		return err
	}
	p := &packer{ctx: ctx, tar: tar.NewWriter(z), buf: make([]byte, packBuffer), progress: progress, filter: filter}
	err = p.image(m, dir)
	if err == nil {
		err = p.tar.Close()
	}
	// In any case: its goroutines end here.
	return errors.Join(err, z.Close())
}

func (p *packer) image(m *Image, dir string) error {
	// The files belong to the account that servers run under: none of its links may
	// lead a saver, usually root, to files elsewhere.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	// No more than that is unpacked. File systems that compress take less.
	told := *m
	data := int64(0)
	err = p.walk(root, func(path string, d fs.DirEntry) error {
		n, err := dataOf(root, path, d)
		data += n
		return err
	})
	if err != nil {
		return err
	}
	told.Size = max(m.Size, data)
	meta, err := json.MarshalIndent(&told, "", "  ")
	if err != nil {
		return err
	}
	h := sha256.New()
	h.Write(meta)
	if err := errors.Join(p.small(metaName, meta, m.Created), p.sums.add(metaName, h)); err != nil {
		return err
	}
	err = p.walk(root, func(path string, d fs.DirEntry) error { return p.entry(root, path, d) })
	if err != nil {
		return err
	}
	return p.small(sumsName, []byte(p.sums.text.String()), m.Created)
}

// walk calls do for all that belongs to the image.
func (p *packer) walk(root *os.Root, do func(path string, d fs.DirEntry) error) error {
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = p.ctx.Err()
		}
		if err != nil {
			return err
		}
		if p.filter != nil {
			if skip, err := p.filter(path, d.Type()); skip || err != nil {
				return err
			}
		}
		return do(path, d)
	})
}

// dataOf is how many bytes of a file are not holes.
func dataOf(root *os.Root, path string, d fs.DirEntry) (n int64, err error) {
	if !d.Type().IsRegular() {
		return 0, nil
	}
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	for off := int64(0); off < fi.Size(); {
		start, end, err := sys.NextData(int(f.Fd()), off, fi.Size())
		if err != nil {
			return 0, err
		}
		n, off = n+end-start, end
	}
	return n, nil
}

// small writes a file of ours.
func (p *packer) small(name string, text []byte, t time.Time) error {
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: int64(len(text)), ModTime: t, Format: tar.FormatPAX}
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err := p.tar.Write(text)
	return err
}

func (p *packer) entry(root *os.Root, path string, d fs.DirEntry) error {
	name := dataName
	if path != "." {
		name += "/" + path
	}
	if err := checkName(name); err != nil {
		return err
	}
	if d.IsDir() {
		fi, err := root.Stat(path)
		if err != nil {
			return err
		}
		return p.tar.WriteHeader(header(name+"/", tar.TypeDir, fi))
	}
	if !d.Type().IsRegular() {
		return errKind(name)
	}
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() { // it has come to stand there since
		return errKind(name)
	}
	if err := p.tar.WriteHeader(header(name, tar.TypeReg, fi)); err != nil {
		return err
	}
	return p.file(name, f, fi.Size())
}

func header(name string, kind byte, fi fs.FileInfo) *tar.Header {
	h := &tar.Header{Typeflag: kind, Name: name, Mode: int64(fi.Mode().Perm()), ModTime: fi.ModTime(), Format: tar.FormatPAX}
	if kind == tar.TypeReg {
		h.Size = fi.Size()
	}
	return h
}

// file writes the content of a file, holes as zeros without reading them.
func (p *packer) file(name string, f *os.File, size int64) error {
	h := sha256.New()
	out := io.MultiWriter(p.tar, h)
	for off := int64(0); off < size; {
		start, end, err := sys.NextData(int(f.Fd()), off, size)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for off < start {
			n := min(start-off, int64(len(zeros)))
			if err := errors.Join(p.ctx.Err(), discard(out.Write(zeros[:n]))); err != nil {
				return err
			}
			off += n
		}
		for off < end {
			n := min(end-off, int64(len(p.buf)))
			if _, err := f.ReadAt(p.buf[:n], off); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := errors.Join(p.ctx.Err(), discard(out.Write(p.buf[:n]))); err != nil {
				return err
			}
			_, _ = p.progress.Write(p.buf[:n]) // a bar complains of more than it was told of
			off += n
		}
	}
	return p.sums.add(name, h)
}

// zeros are what holes read as.
var zeros [packBuffer]byte

// discard returns the error of a Write, which is never short without one.
func discard(_ int, err error) error { return err }
