package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ramaria-db/ramaria/internal/server"
)

// streamID stands for the id of an image in data that was never one.
const streamID = "stream"

// Send writes a data directory that no process writes to, and m, which says what it is, to w, as a saved image is written.
func Send(ctx context.Context, w io.Writer, m Image, dir string) error {
	m.Format, m.ID = Format, streamID
	if err := packDir(ctx, w, &m, dir, io.Discard, server.CloneFilter); err != nil {
		return fmt.Errorf("send data: %w", err)
	}
	return nil
}

// Received is data that comes from another machine.
type Received struct {
	*Image
	archive *archive
	from    string
}

// Receive begins to read what Send has written, which comes from a place called from. Call Close, which closes r.
func Receive(ctx context.Context, r io.ReadCloser, from string) (*Received, error) {
	a, err := (&Saved{ID: streamID, Path: from}).read(ctx, r)
	if err != nil {
		return nil, received(from, err)
	}
	m, err := a.meta()
	if err != nil {
		a.close()
		return nil, received(from, err)
	}
	return &Received{Image: m, archive: a, from: from}, nil
}

// Close ends the reading.
func (r *Received) Close() { r.archive.close() }

// Unpack makes the data directory at path, checked, with its owner.
func (r *Received) Unpack(path string, account server.Account) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return fmt.Errorf("receive data: %w", err)
	}
	top, err := r.archive.unpack(path, io.Discard)
	if err != nil {
		return received(r.from, err)
	}
	if err := account.GiveTree(path); err != nil {
		return err
	}
	return os.Chmod(path, top) //nolint:forbidigo // it lies in a directory of ours
}

// received tells an error without words of files.
func received(from string, err error) error {
	var d *DamagedError
	if errors.As(err, &d) {
		err = d.Err
	}
	return fmt.Errorf("receive data from %s: %w", from, err)
}
