package bucket

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is a Store that fails, waits and forgets as a test wants it.
type memory struct {
	mu      sync.Mutex
	objects map[string][]byte
	put     map[string]time.Time
	// before and after are called with the number of each call, from 1, its kind and its object; the
	// call fails with what they return, without and with an effect.
	before, after func(n int, call, name string) error
	calls         int
	sent          int64
}

func newMemory() *memory {
	return &memory{objects: map[string][]byte{}, put: map[string]time.Time{}}
}

// NewMemory is for tests from outside.
func NewMemory() Store { return newMemory() }

func (m *memory) call(ctx context.Context, call, name string, f func()) error {
	m.mu.Lock()
	m.calls++
	n, before, after := m.calls, m.before, m.after
	m.mu.Unlock()
	if before != nil {
		if err := before(n, call, name); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	f()
	m.mu.Unlock()
	if after != nil {
		return after(n, call, name)
	}
	return nil
}

func (m *memory) Put(ctx context.Context, name string, b []byte) error {
	return m.call(ctx, "put", name, func() {
		m.objects[name], m.put[name] = bytes.Clone(b), time.Now()
		m.sent += int64(len(b))
	})
}

func (m *memory) Get(ctx context.Context, name string) (b []byte, err error) {
	there := false
	err = m.call(ctx, "get", name, func() { b, there = m.objects[name] })
	if err == nil && !there {
		err = fmt.Errorf("get %s: %w", name, fs.ErrNotExist)
	}
	return bytes.Clone(b), err
}

func (m *memory) List(ctx context.Context, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		var list []Object
		if err := m.call(ctx, "list", prefix, func() {
			for _, name := range slices.Sorted(maps.Keys(m.objects)) {
				if strings.HasPrefix(name, prefix) && name > after {
					list = append(list, Object{name, int64(len(m.objects[name]))})
				}
			}
		}); err != nil {
			yield(Object{}, err)
			return
		}
		for _, o := range list {
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (m *memory) Remove(ctx context.Context, name string) error {
	return m.call(ctx, "remove", name, func() { delete(m.objects, name) })
}

// names are those of the objects that begin with a prefix.
func (m *memory) names(prefix string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []string
	for name := range m.objects {
		if strings.HasPrefix(name, prefix) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// set changes how the store behaves from now on.
func (m *memory) set(before, after func(n int, call, name string) error) {
	m.mu.Lock()
	m.before, m.after, m.calls = before, after, 0
	m.mu.Unlock()
}
