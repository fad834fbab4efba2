package storetest

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/bucket"
)

// Memory is a bucket in memory.
type Memory struct {
	mu      sync.Mutex
	Objects map[string][]byte
}

// NewMemory returns one that is empty.
func NewMemory() *Memory { return &Memory{Objects: map[string][]byte{}} }

// Put implements bucket.Store.
func (m *Memory) Put(_ context.Context, name string, b []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Objects[name] = bytes.Clone(b)
	return nil
}

// Get implements bucket.Store.
func (m *Memory) Get(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.Objects[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b, nil
}

// List implements bucket.Store.
func (m *Memory) List(_ context.Context, prefix, after string) iter.Seq2[bucket.Object, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []bucket.Object
	for _, name := range slices.Sorted(maps.Keys(m.Objects)) {
		if strings.HasPrefix(name, prefix) && name > after {
			list = append(list, bucket.Object{Name: name, Size: int64(len(m.Objects[name]))})
		}
	}
	return func(yield func(bucket.Object, error) bool) {
		for _, o := range list {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Remove implements bucket.Store.
func (m *Memory) Remove(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.Objects, name)
	return nil
}
