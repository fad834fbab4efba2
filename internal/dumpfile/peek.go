package dumpfile

import (
	"errors"
	"io"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// Peek tells what the beginning of the dump at path tells: see dump.Peek. name stands for it in errors.
func Peek(path, name string) (dump.Head, error) {
	r, err := OpenWatched(path, name, io.Discard)
	if err != nil {
		return dump.Head{}, err
	}
	h, err := dump.Peek(r, name)
	return h, errors.Join(err, r.Close())
}
