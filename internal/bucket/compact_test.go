package bucket

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// slowly fills a segment by many parts, and is in the next one then.
func slowly(t *testing.T, l *local, s Store, event func(int) []byte) *Mirror {
	t.Helper()
	m := l.mirror(s)
	if err := m.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- m.followLog(ctx) }() // without the files: nobody puts parts together yet
	for l.log.Lasts().Segment < 2 || l.log.Lasts().Offset <= archive.BlockSize {
		p := l.log.End()
		p.File = 1
		if err := l.log.Append(p, event(700_000)); err != nil {
			t.Fatal(err)
		}
		caught(t, m)
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return m
}

// TestCompact: the many parts of a segment that has filled slowly become one, whatever is killed
// meanwhile, and the mirror goes on.
func TestCompact(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	l.base(map[string][]byte{})
	m := slowly(t, l, s, l.events)
	many := len(s.names(segmentPrefix(1, 1)))
	f := &files{Mirror: m}
	if err := l.mirror(s).Catch(t.Context()); err != nil { // for the manifest
		t.Fatal(err)
	}
	whole := s.names(segmentPrefix(1, 1))
	if len(whole) != many || many < compactFrom {
		t.Fatalf("%d parts, and %d", many, len(whole))
	}
	for n := 1; ; n += 1 + n/4 {
		ctx, kill := context.WithCancel(t.Context())
		s.set(nil, func(k int, _, _ string) error {
			if k >= n {
				kill()
				return context.Canceled
			}
			return nil
		})
		err := f.compactOne(ctx, span{epoch: 1, segment: 1})
		killed := ctx.Err() != nil
		kill()
		s.set(nil, nil)
		restored(t, l, s)
		if !killed {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if names := s.names(segmentPrefix(1, 1)); len(names) > compactFrom {
		t.Errorf("%v", names)
	}
	l.append(100)
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored(t, l, s)
}

// TestCompactByItself: a mirror at work does it, and not where it would send too much.
func TestCompactByItself(t *testing.T) {
	for name, noise := range map[string]bool{"text": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t)
			s := newMemory()
			m := l.mirror(s)
			start(t, m)
			var logged int64
			for l.log.Lasts().Segment < 2 || l.log.Lasts().Offset <= archive.BlockSize {
				b := l.events(700_000)
				if noise {
					_, _ = rand.Read(b)
				}
				p := l.log.End()
				p.File = 1
				if err := l.log.Append(p, b); err != nil {
					t.Fatal(err)
				}
				logged += int64(len(b))
				caught(t, m)
			}
			parts := func() int { return len(s.names(segmentPrefix(1, 1))) }
			l.append(10) // so that a pass of the files has ended when its manifest is there
			if !noise {
				eventually(t, "they are put together", func() bool { return parts() == 1 })
			}
			l.base(map[string][]byte{})
			published(t, l, s)
			restored(t, l, s)
			if n := parts(); noise && n < compactFrom {
				t.Errorf("%d parts", n)
			}
			var sent int64
			s.mu.Lock()
			sent = s.sent
			s.mu.Unlock()
			if ratio := float64(sent) / float64(logged); ratio > 1.1 {
				t.Errorf("%.3f bytes went up for one of log", ratio)
			}
			if err := m.Status().Err; err != nil && !strings.Contains(err.Error(), "context") {
				t.Error(err)
			}
		})
	}
}

// TestCompactSmall: commits of some hundred bytes, each in a part of its own, become one part.
func TestCompactSmall(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	l.base(map[string][]byte{})
	slowly := l.mirror(s)
	if err := slowly.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		l.append(300)
		if err := slowly.Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := len(s.names(segmentPrefix(1, 1)))
	f := &files{Mirror: slowly}
	if err := f.compactOne(t.Context(), span{epoch: 1, segment: 1}); err != nil {
		t.Fatal(err)
	}
	if after := len(s.names(segmentPrefix(1, 1))); before < 40 || after != 1 {
		t.Errorf("%d parts became %d", before, after)
	}
	restored(t, l, s)
}
