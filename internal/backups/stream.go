package backups

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/xbstream"
)

// openStream opens the file of a stream, which may be compressed as a whole. ok says that it is one.
func openStream(name string) (r io.ReadCloser, ok bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	in := bufio.NewReader(f)
	begin, _ := in.Peek(4) // a file that is shorter is none
	unpacked := io.Reader(in)
	closers := []io.Closer{f}
	switch {
	case strings.HasPrefix(string(begin), "\x1f\x8b"):
		unpacked, err = gzip.NewReader(in)
	case string(begin) == "\x28\xb5\x2f\xfd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(in); err == nil {
			unpacked, closers = z, append(closers, z.IOReadCloser())
		}
	}
	if err != nil { // as a dump it is told what is wrong
		return nil, false, f.Close()
	}
	again := bufio.NewReader(unpacked)
	magic, _ := again.Peek(len(xbstream.Magic))
	s := streamReader{again, closers}
	if string(magic) != xbstream.Magic {
		return nil, false, s.Close()
	}
	return s, true, nil
}

type streamReader struct {
	io.Reader
	closers []io.Closer
}

func (s streamReader) Close() (err error) {
	for _, c := range slices.Backward(s.closers) {
		err = errors.Join(err, c.Close())
	}
	return err
}

// lookAtStream reads a stream once to know what it is of, which stands near its end. ok says that it is one.
func (b *Backup) lookAtStream(ctx context.Context) (ok bool, err error) {
	r, ok, err := openStream(b.Path)
	if err != nil || !ok {
		return false, err
	}
	defer r.Close()
	size := int64(0)
	small := map[string]string{}
	names := slices.Concat(checkpointFiles, infoFiles, []string{optionsFile})
	err = xbstream.Read(dump.Until(ctx, r), func(c xbstream.Chunk) error {
		size += int64(len(c.Payload))
		if slices.Contains(names, c.Path) && len(small[c.Path])+len(c.Payload) < mostSmall {
			small[c.Path] += string(c.Payload)
		}
		return b.refuseWrapped(c.Path)
	})
	if err == nil {
		err = b.physicalFrom(small)
	}
	if err == nil {
		b.Physical.Unpack, b.Physical.Size = b.unpack, size
	}
	if _, request := errors.AsType[RefusedError](err); err != nil && !request && ctx.Err() == nil {
		b.Kind = Stream
		err = image.NewUnfitError(fmt.Errorf("read %s: %w", b.Path, err))
	}
	return true, err
}

// unpack writes the files of a stream to a data directory.
func (b *Backup) unpack(ctx context.Context, data *os.Root) error {
	r, _, err := openStream(b.Path)
	if err != nil {
		return err
	}
	defer r.Close()
	files := map[string]*os.File{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	return xbstream.Read(dump.Until(ctx, r), func(c xbstream.Chunk) error {
		f := files[c.Path]
		if f == nil {
			if f, err = create(data, c.Path); err != nil {
				return err
			}
			files[c.Path] = f
		}
		if c.End {
			delete(files, c.Path)
			return f.Close()
		}
		_, err := f.WriteAt(c.Payload, c.Offset)
		return err
	})
}

// create makes a file, and the directories that it lies in.
func create(data *os.Root, name string) (*os.File, error) {
	if dir := path.Dir(name); dir != "." {
		if err := data.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return data.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}
