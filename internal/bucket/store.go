package bucket

import (
	"context"
	"iter"
)

// Store is the prefix of a bucket, by what is done to it: small objects that are written whole.
// Names are relative to the prefix. Its methods may be called at once, and again after an error,
// which leaves open whether the call had an effect.
type Store interface {
	// Put writes an object, in place of one that is there.
	Put(ctx context.Context, name string, b []byte) error
	// Get reads an object; fs.ErrNotExist if it is not there.
	Get(ctx context.Context, name string) ([]byte, error)
	// List gives the objects whose names begin with a prefix and come after a name, sorted. It ends
	// with the first error.
	List(ctx context.Context, prefix, after string) iter.Seq2[Object, error]
	// Remove removes an object, which need not be there.
	Remove(ctx context.Context, name string) error
}

// Object is what a listing says of an object.
type Object struct {
	Name string
	Size int64
}

// MaxObject is how large an object is at most, in bytes: that of a whole segment which does not
// compress.
const MaxObject = 20 << 20
