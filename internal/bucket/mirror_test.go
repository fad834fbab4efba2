package bucket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// pack is a file of a base backup.
func pack(l *local, n int) []byte { return l.events(n) }

// TestRestore mirrors a log while it grows, through several segments, a base backup and an epoch,
// and restores it from the bucket alone.
func TestRestore(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	m := l.mirror(s)
	start(t, m)
	for range 60 {
		l.append(1 + l.rng.IntN(1<<20))
		m.Notify()
	}
	l.base(map[string][]byte{"base/000001.pack": pack(l, chunkSize+17), "base/000001.index": pack(l, 100), "base/000001.empty": {}})
	l.append(100)
	published(t, l, s)
	l.append(200)
	caught(t, m)
	restored(t, l, s)

	l.epoch(2)
	l.append(300)
	caught(t, m)
	to := restored(t, l, s)
	if st := m.Status(); st.Err != nil || st.Epoch != 2 || st.Uploaded != l.log.End() {
		t.Errorf("%+v", st)
	}
	if len(s.names(logDir(2))) == 0 || len(s.names("base/")) != 3 {
		t.Errorf("the bucket has %v", s.names(""))
	}

	// The restored archive goes on where the other one ended, in the same place of the bucket.
	m2 := &Mirror{Archive: testArchive, Local: to, Store: s, Needs: needsOf}
	if err := m2.Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := archive.LogID{Archive: testArchive, Epoch: 3}
	log, err := archive.CreateLog(to, id)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Append(archive.Position{File: 1}, []byte("more")); err != nil {
		t.Fatal(err)
	}
	if err := m2.Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := download(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := equal(to, again); err != nil {
		t.Error(err)
	}
}

// TestKilledAtEveryCall kills the mirror in each of its calls, before and after it has an effect.
// Whatever the bucket holds then restores to a beginning of the log, or says that it has nothing
// yet; and another mirror goes on.
func TestKilledAtEveryCall(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t)
			s := newMemory()
			l.append(1000)
			l.base(map[string][]byte{"base/000001.pack": pack(l, chunkSize+5), "base/000001.index": pack(l, 10)})
			kills := 0
			for n := 1; ; n++ {
				ctx, kill := context.WithCancel(t.Context())
				hook := func(k int, _, _ string) error {
					if k >= n {
						kill()
						return context.Canceled
					}
					return nil
				}
				if when == "before" {
					s.set(hook, nil)
				} else {
					s.set(nil, hook)
				}
				err := l.mirror(s).Catch(ctx)
				killed := ctx.Err() != nil
				kill()
				s.set(nil, nil)
				to, derr := download(t, s)
				if derr == nil {
					derr = beginning(l, to)
				}
				if derr == nil {
					if missing := lacks(t, to); missing != nil {
						t.Fatalf("killed in call %d: a false alarm: %v", n, missing)
					}
				}
				if derr != nil && !errors.Is(derr, ErrNothing) {
					t.Fatalf("killed in call %d: %v", n, derr)
				}
				if !killed {
					if err != nil || derr != nil {
						t.Fatal(err, derr)
					}
					break
				}
				kills++
				switch n % 3 {
				case 0:
					l.restart()
					l.cut()
				case 1:
					l.append(1 + l.rng.IntN(5000))
				}
				if n == 2 || n == 12 {
					l.base(map[string][]byte{"base/000002.pack": pack(l, 5000), "base/000001.index": nil})
				}
			}
			if kills < 10 {
				t.Errorf("it was killed %d times", kills)
			}
			restored(t, l, s)
		})
	}
}

// beginning checks that an archive is the local one as it once was: what a manifest names, and a
// beginning of the log, frame by frame, that goes as far as the manifest at least.
func beginning(l *local, to archive.OSDisk) error {
	raw, err := readFile(to, manifestName)
	if err != nil {
		return err
	}
	var is named
	if err := json.Unmarshal(raw, &is); err != nil {
		return err
	}
	for _, name := range is.Files {
		f, err := to.Open(name)
		if err != nil {
			return err
		}
		f.Close()
	}
	_, end, err := archive.ReadLog(to, archive.LogID{Archive: testArchive, Epoch: is.Epochs[0]}, archive.Discard)
	if err != nil {
		return err
	}
	if end.Before(is.At) {
		return fmt.Errorf("the base backup is of %s, and the log ends at %s", is.At, end)
	}
	x, err := frames(l.disk, l.id)
	if err != nil {
		return err
	}
	y, err := frames(to, l.id)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(x, y) {
		return errors.New("the log is not a beginning of the local one")
	}
	return nil
}

// frames are those of all segments.
func frames(d archive.Disk, id archive.LogID) ([]byte, error) {
	t := archive.NewTail(d, id, archive.Place{})
	defer t.Close()
	var all []byte
	for {
		s, err := t.Next(archive.All)
		if err != nil || len(s.Blocks) == 0 {
			return all, err
		}
		all = append(all, s.Blocks...)
	}
}

// TestBadStore: calls that fail, with and without an effect, and a service that is away for a while
// or slow, delay the copy, and nothing else.
func TestBadStore(t *testing.T) {
	failing := errors.New("503 Slow Down")
	for name, behave := range map[string]func(l *local, s *memory){
		"30 % fail": func(l *local, s *memory) {
			f := func(n int, _, _ string) error {
				if n*7919%10 < 3 {
					return failing
				}
				return nil
			}
			s.set(f, nil)
		},
		"30 % fail after they have worked": func(l *local, s *memory) {
			s.set(nil, func(n int, _, _ string) error {
				if n*7919%10 < 3 {
					return failing
				}
				return nil
			})
		},
		"away for two seconds": func(l *local, s *memory) {
			back := time.Now().Add(2 * time.Second)
			s.set(func(int, string, string) error {
				if time.Now().Before(back) {
					return failing
				}
				return nil
			}, nil)
		},
		"slow": func(l *local, s *memory) {
			s.set(func(int, string, string) error { time.Sleep(30 * time.Millisecond); return nil }, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t)
			s := newMemory()
			behave(l, s)
			m := l.mirror(s)
			stop := start(t, m)
			l.base(map[string][]byte{"base/000001.pack": pack(l, chunkSize+5)})
			slowest := time.Duration(0)
			for i := range 100 {
				began := time.Now()
				l.append(1 + l.rng.IntN(20000))
				m.Notify()
				slowest = max(slowest, time.Since(began))
				if i%30 == 29 {
					l.restart()
					l.cut()
				}
				time.Sleep(5 * time.Millisecond)
			}
			caught(t, m)
			published(t, l, s)
			stop()
			s.set(nil, nil)
			restored(t, l, s)
			if slowest > time.Minute {
				t.Errorf("an append took %s", slowest)
			}
		})
	}
}

// TestCuts: the log is cut while what is cut has gone up already.
func TestCuts(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	m := l.mirror(s)
	stop := start(t, m)
	l.base(map[string][]byte{})
	for i := range 12 {
		l.append(10_000)
		m.Notify()
		if i%2 == 0 {
			caught(t, m)
		}
		if i%3 == 0 { // all is killed
			stop()
			l.restart()
			l.restart() // a segment without a frame
			m = l.mirror(s)
			stop = start(t, m)
		}
		l.cut()
		l.append(3)
	}
	caught(t, m)
	published(t, l, s)
	restored(t, l, s)
}

// TestPruned: what the local archive prunes goes from the bucket, after the manifest that does not
// need it is up.
func TestPruned(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	m := l.mirror(s)
	start(t, m)
	l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
	grow(l, 40<<20)
	caught(t, m)
	published(t, l, s)
	restored(t, l, s)
	before := len(s.names("log/"))

	l.base(map[string][]byte{"base/000002.pack": pack(l, 1000)})
	if err := l.disk.Remove("base/000001.pack"); err != nil {
		t.Fatal(err)
	}
	if err := archive.Prune(l.disk, l.id, l.log.End()); err != nil {
		t.Fatal(err)
	}
	published(t, l, s)
	eventually(t, "what is not needed is gone", func() bool {
		return len(s.names("base/000001")) == 0 && len(s.names(segmentPrefix(1, 1))) == 0
	})
	if len(s.names("log/")) >= before {
		t.Errorf("the bucket has %v", s.names(""))
	}
	grow(l, 20<<20)
	caught(t, m)
	restored(t, l, s)
}

// TestManifestChanges: a manifest is replaced while its files go up. It never comes to the bucket.
func TestManifestChanges(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	l.append(100)
	l.base(map[string][]byte{"base/000001.pack": pack(l, 2*chunkSize+1)})
	var seen []string
	once, changed := false, make(chan struct{})
	s.set(func(_ int, call, name string) error {
		switch {
		case call == "put" && name == manifestName:
			seen = append(seen, name)
		case call == "put" && strings.HasPrefix(name, "base/000001.pack/000002") && !once:
			once = true
			l.base(map[string][]byte{"base/000002.pack": pack(l, 100)})
			if err := l.disk.Remove("base/000001.pack"); err != nil {
				t.Error(err)
			}
			close(changed)
		}
		return nil
	}, nil)
	m := l.mirror(s)
	start(t, m)
	<-changed
	published(t, l, s)
	caught(t, m)
	if len(seen) != 1 {
		t.Errorf("%d manifests went up", len(seen))
	}
	eventually(t, "what is not needed is gone", func() bool { return len(s.names("base/")) == 1 })
	restored(t, l, s)

	// Another file of the same name and length.
	l.base(map[string][]byte{"base/000002.pack": pack(l, 100), "base/000003.pack": pack(l, 10)})
	published(t, l, s)
	restored(t, l, s)
}

// grow appends that many bytes.
func grow(l *local, n int) {
	for ; n > 0; n -= 1 << 20 {
		l.append(min(n, 1<<20))
	}
}

// TestGap: the bucket was away for longer than the local history is. It gets the manifest that does
// not need the gap first, and what lies before is not read any more.
func TestGap(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	s := newMemory()
	l.append(5000)
	l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
	l.append(5000)
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	grow(l, 40<<20)
	l.base(map[string][]byte{"base/000002.pack": pack(l, 1000)})
	if err := archive.Prune(l.disk, l.id, l.log.End()); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ { // killed in each call
		ctx, kill := context.WithCancel(t.Context())
		s.set(nil, func(k int, _, _ string) error {
			if k >= n {
				kill()
				return context.Canceled
			}
			return nil
		})
		err := l.mirror(s).Catch(ctx)
		killed := ctx.Err() != nil
		kill()
		s.set(nil, nil)
		to, derr := download(t, s)
		if derr != nil {
			t.Fatalf("killed in call %d: %v", n, derr)
		}
		raw, derr := readFile(to, manifestName)
		if derr != nil {
			t.Fatal(derr)
		}
		from, end, derr := archive.ReadLog(to, l.id, archive.Discard)
		if derr != nil {
			t.Fatalf("killed in call %d: %v", n, derr)
		}
		var at named
		mustJSON(t, raw, &at)
		if at.At.Before(from) {
			t.Fatalf("killed in call %d: the base goes on at %s, and the log from %s to %s", n, at.At, from, end)
		}
		if !killed {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	restored(t, l, s)
	for _, name := range s.names("log/") {
		if strings.HasPrefix(name, segmentPrefix(1, 1)) {
			t.Errorf("%s is there", name)
		}
	}
}

// TestForeign: what is not this archive's is refused, and left as it is.
func TestForeign(t *testing.T) {
	other := newLocal(t)
	taken := newMemory()
	m := other.mirror(taken)
	m.Archive = [16]byte{9}
	if err := m.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := newMemory()
	files.objects["holiday.jpg"] = []byte("x")
	for name, s := range map[string]*memory{"another archive": taken, "other files": files} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t)
			l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
			l.append(100)
			before := fmt.Sprint(s.names(""))
			m := l.mirror(s)
			err := m.Check(t.Context())
			if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "hint: ") {
				t.Errorf("got %v", err)
			}
			stop := start(t, m)
			eventually(t, "the status says so", func() bool { return errors.Is(m.Status().Err, ErrForeign) })
			stop()
			if after := fmt.Sprint(s.names("")); after != before {
				t.Errorf("it has %s, and had %s", after, before)
			}
		})
	}
}

// TestOther: a bucket that has more, or something else, than the local log is left alone.
func TestOther(t *testing.T) {
	for name, change := range map[string]func(l *local, s *memory){
		"the disk was put back": func(l *local, s *memory) {
			l.append(100)
			l.append(100)
			if err := l.mirror(s).Catch(l.t.Context()); err != nil {
				l.t.Fatal(err)
			}
			lose(l, 1)
		},
		"and went on": func(l *local, s *memory) {
			l.append(100)
			if err := l.mirror(s).Catch(l.t.Context()); err != nil {
				l.t.Fatal(err)
			}
			lose(l, 1)
			l.append(100)
		},
		"long ago": func(l *local, s *memory) {
			same := l.events(50)
			add := func(b []byte) {
				if err := l.log.Append(l.log.End(), b); err != nil {
					l.t.Fatal(err)
				}
			}
			add(l.events(100))
			if err := l.mirror(s).Catch(l.t.Context()); err != nil {
				l.t.Fatal(err)
			}
			add(same)
			if err := l.mirror(s).Catch(l.t.Context()); err != nil {
				l.t.Fatal(err)
			}
			// A log that differs before the last part only.
			twin := newLocal(l.t)
			if err := twin.log.Append(archive.Position{File: 1}, l.events(1000)); err != nil {
				l.t.Fatal(err)
			}
			l.dir, l.disk, l.log, twin.log = twin.dir, twin.disk, twin.log, l.log
			add(l.events(100))
			add(same)
		},
		"a later epoch": func(l *local, s *memory) {
			s.objects[span{2, 1, 4096, 8192}.name()] = []byte("x")
		},
		"a later segment": func(l *local, s *memory) {
			s.objects[span{1, 7, 4096, 8192}.name()] = []byte("x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t)
			s := newMemory()
			if err := l.log.Append(archive.Position{File: 1}, l.events(1000)); err != nil {
				t.Fatal(err)
			}
			if err := l.mirror(s).Catch(t.Context()); err != nil {
				t.Fatal(err)
			}
			change(l, s)
			before := fmt.Sprint(s.names(""))
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
			defer stop()
			err := l.mirror(s).Catch(ctx)
			if !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "hint: ") {
				t.Errorf("got %v", err)
			}
			if after := fmt.Sprint(s.names("")); after != before {
				t.Errorf("it has %s, and had %s", after, before)
			}
		})
	}
}

// lose puts the log back by some frames of less than a block.
func lose(l *local, frames int) {
	l.t.Helper()
	at := l.log.Lasts()
	if err := l.log.Close(); err != nil {
		l.t.Fatal(err)
	}
	name := fmt.Sprintf("log/%06d/%012d.segment", l.id.Epoch, at.Segment)
	f, err := l.disk.Open(name)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(make([]byte, frames*archive.BlockSize), at.Offset-int64(frames)*archive.BlockSize); err != nil {
		l.t.Fatal(err)
	}
	_, end, err := archive.ReadLog(l.disk, l.id, archive.Discard)
	if err != nil {
		l.t.Fatal(err)
	}
	log, err := archive.OpenLog(l.disk, l.id, end)
	if err == nil {
		err = log.Settle()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	l.log = log
	l.mu.Unlock()
}
