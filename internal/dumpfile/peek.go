package dumpfile

import (
	"errors"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// Peek tells what the beginning of the dump at path tells: see dump.Peek.
func Peek(path string) (dump.Head, error) {
	r, err := Open(path)
	if err != nil {
		return dump.Head{}, err
	}
	h, err := dump.Peek(r, path)
	return h, errors.Join(err, r.Close())
}
