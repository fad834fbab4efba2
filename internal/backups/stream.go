package backups

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/xbstream"
)

// openStream opens the file of a stream, which may be compressed as a whole. ok says that it is one.
func openStream(name string) (_ io.ReadCloser, ok bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, false, err
	}
	unpacked, err := dumpfile.NewPart(f, name)
	if err != nil { // as a dump it is told what is wrong
		return nil, false, f.Close()
	}
	s := &stream{bufio.NewReader(unpacked), unpacked, f}
	magic, _ := s.Peek(len(xbstream.Magic)) // a file that is shorter is none
	if string(magic) != xbstream.Magic {
		return nil, false, s.Close()
	}
	return s, true, nil
}

// stream is a physical backup in one file, unpacked.
type stream struct {
	*bufio.Reader
	unpacked, file io.Closer
}

func (s *stream) Close() error { return errors.Join(s.unpacked.Close(), s.file.Close()) }

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
	switch {
	case errors.Is(err, xbstream.ErrSparse):
		err = RefusedError{fmt.Errorf("verify %s: %w\nhint: xbstream -x -C DIR < FILE, and ramaria verify DIR", b.Name, err)}
	case err == nil && small[checkpointFiles[0]]+small[checkpointFiles[1]] == "":
		err = fmt.Errorf("it has no %s, which comes last: the stream is cut short", checkpointFiles[1])
	case err == nil:
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
