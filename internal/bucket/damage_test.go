package bucket

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// filled is a bucket with a bit of everything; the first log has that much more.
func filled(t *testing.T, more int) (*local, *memory) {
	t.Helper()
	l := newLocal(t)
	s := newMemory()
	l.append(1000)
	l.base(map[string][]byte{"base/000001.pack": pack(l, 5000), "base/000001.index": pack(l, 10)})
	for i := range 5 {
		l.append(3000)
		if err := l.mirror(s).Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			grow(l, more)
		}
	}
	l.epoch(2)
	for range 2 {
		l.append(500)
		if err := l.mirror(s).Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	restored(t, l, s)
	return l, s
}

// TestFlippedBit: a bit that has flipped in any object is found, and the error names the object.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	_, s := filled(t, 0)
	for _, name := range s.names("") {
		whole := s.objects[name]
		for _, at := range []int{0, 5, 20, 42, len(whole) - 1} {
			if at >= len(whole) {
				continue
			}
			b := bytes.Clone(whole)
			b[at] ^= 1
			s.objects[name] = b
			_, err := download(t, s)
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, byte %d: %v", name, at, err)
			}
		}
		s.objects[name] = whole
	}
	if _, err := download(t, s); err != nil {
		t.Error(err)
	}
}

// TestMissingObject: so is one that is missing, but for the last part of a log, which the bucket may
// not have had yet.
func TestMissingObject(t *testing.T) {
	t.Parallel()
	l, s := filled(t, 17<<20)
	log1, log2 := s.names(logDir(1)), s.names(logDir(2))
	lasts := log1[len(log1)-1] + " " + log2[len(log2)-1]
	for _, name := range s.names("") {
		whole := s.objects[name]
		delete(s.objects, name)
		to, err := download(t, s)
		switch {
		case strings.Contains(lasts, name):
			if err == nil {
				err = beginning(l, to)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if named := strings.HasPrefix(name, logDir(1)); named != (lacks(t, to) != nil) {
				t.Errorf("%s is missing: %v", name, lacks(t, to))
			}
		case name == extentName: // the manifest says so too
			restored(t, l, s)
		case err == nil:
			t.Errorf("%s is missing, and nothing said so", name)
		case !strings.Contains(err.Error(), name) && !strings.HasPrefix(name, logPrefix):
			t.Errorf("%s: %v", name, err)
		}
		s.objects[name] = whole
	}
}

// TestMissingSegment: so is all of a segment.
func TestMissingSegment(t *testing.T) {
	l := newLocal(t)
	s := newMemory()
	l.base(map[string][]byte{})
	grow(l, 40<<20)
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	for segment := range uint64(2) {
		gone := map[string][]byte{}
		for _, name := range s.names(segmentPrefix(1, segment+1)) {
			gone[name] = s.objects[name]
			delete(s.objects, name)
		}
		var damaged *DamagedError
		if _, err := download(t, s); !errors.As(err, &damaged) {
			t.Errorf("segment %d: %v", segment+1, err)
		}
		maps.Copy(s.objects, gone)
	}
}

// TestChangedObject: an object under another's name, and one that is cut off.
func TestChangedObject(t *testing.T) {
	t.Parallel()
	_, s := filled(t, 0)
	all := s.names("")
	for i, name := range all {
		whole := s.objects[name]
		for what, b := range map[string][]byte{"cut off": whole[:len(whole)-1], "empty": {}, "another's": s.objects[all[(i+1)%len(all)]]} {
			s.objects[name] = b
			if _, err := download(t, s); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %s: %v", name, what, err)
			}
		}
		s.objects[name] = whole
	}
}

// TestLateUploads: the upload of a killed mirror arrives when another one has gone on from the same
// place, with other bytes in each part.
func TestLateUploads(t *testing.T) {
	t.Parallel()
	for seed := range 6 {
		l := newLocal(t)
		s := newMemory()
		for range seed {
			l.rng.Uint64()
		}
		l.base(map[string][]byte{})
		if err := l.mirror(s).Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
		late := map[string][]byte{}
		for range 6 {
			for range 1 + l.rng.IntN(3) {
				l.append(1 + l.rng.IntN(6000))
			}
			// One whose upload takes place later, as it seems to it never.
			var held string
			s.set(func(_ int, call, name string) error {
				if call == "put" && strings.HasPrefix(name, logPrefix) {
					held = name
					return errors.New("timeout")
				}
				return nil
			}, nil)
			m := l.mirror(s)
			stop := start(t, m)
			eventually(t, "it fails", func() bool { return m.Status().Err != nil })
			stop()
			s.set(nil, nil)
			if held == "" {
				t.Fatal("nothing was sent")
			}
			sp, _ := parseSpan(held)
			tail := archive.NewTail(l.disk, l.id, archive.Place{Segment: sp.segment, Offset: sp.from})
			sl, err := tail.Next(archive.Place{Segment: sp.segment, Offset: sp.to})
			tail.Close()
			if err != nil {
				t.Fatal(err)
			}
			p := &part{span: sp, blocks: sl.Blocks}
			p.after, p.before = l.before(sp)
			late[held] = p.encode(testArchive)
			l.append(1 + l.rng.IntN(6000))
			if err := l.mirror(s).Catch(t.Context()); err != nil {
				t.Fatal(err)
			}
			for name, b := range late { // some arrive now
				if l.rng.IntN(2) == 0 {
					s.objects[name] = b
					delete(late, name)
				}
			}
			if to, err := download(t, s); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			} else if err := equal(l.disk, to); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// before is what the header of a part says of what stands before it.
func (l *local) before(s span) (archive.Place, uint32) {
	if s.from == archive.BlockSize {
		return archive.Place{}, 0 // one segment is all there is
	}
	t := archive.NewTail(l.disk, l.id, archive.Place{Segment: s.segment})
	defer t.Close()
	sl, err := t.Next(archive.Place{Segment: s.segment, Offset: s.from})
	if err != nil {
		l.t.Fatal(err)
	}
	return archive.Place{Segment: s.segment, Offset: s.from}, archive.Sum(0, sl.Blocks)
}

// TestTwoMachines: parts of two logs that were one are not put together.
func TestTwoMachines(t *testing.T) {
	l := newLocal(t)
	s := newMemory()
	l.append(1000)
	l.base(map[string][]byte{})
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A copy of the machine, that goes on beside it.
	twin := newLocal(t)
	if _, err := (&Download{Store: s, To: archive.OSDisk{Dir: twin.dir + "/twin"}}).Run(t.Context()); err == nil {
		t.Fatal("there is no such directory")
	}
	twin.append(1000)
	twin.append(555)
	twin.append(555)
	for range 3 {
		l.append(999)
		if err := l.mirror(s).Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	names := s.names(logDir(1))
	// Its second part takes the place of the other one's.
	tail := archive.NewTail(twin.disk, twin.id, archive.Place{Segment: 1})
	defer tail.Close()
	sl, err := tail.Next(archive.All)
	if err != nil {
		t.Fatal(err)
	}
	sp, _ := parseSpan(names[1])
	from, to := sp.from-archive.BlockSize, sp.to-archive.BlockSize
	p := &part{span: sp, after: archive.Place{Segment: 1, Offset: sp.from}, before: archive.Sum(0, sl.Blocks[:from]), blocks: sl.Blocks[from:to]}
	s.objects[names[1]] = p.encode(testArchive)
	var damaged *DamagedError
	if _, err := download(t, s); !errors.As(err, &damaged) || damaged.Object != names[2] && damaged.Object != names[1] {
		t.Errorf("got %v", err)
	}
}

// TestDownloadGoesOn: one that was cut off goes on, and no directory with something in it is touched.
func TestDownloadGoesOn(t *testing.T) {
	l, s := filled(t, 0)
	to := archive.OSDisk{Dir: t.TempDir()}
	d := &Download{Store: s, To: to}
	for n := 1; ; n++ {
		s.set(func(k int, call, name string) error {
			if k > 6*n {
				return fmt.Errorf("get %s: %w", name, archive.ErrGap)
			}
			return nil
		}, nil)
		fetchTriesFor(t, 1)
		if _, err := d.Run(t.Context()); err == nil {
			break
		} else if !errors.Is(err, archive.ErrGap) {
			t.Fatal(err)
		}
	}
	s.set(nil, nil)
	if err := equal(l.disk, to); err != nil {
		t.Error(err)
	}
	if _, err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into an archive: %v", err)
	}

	// The bucket may have pruned since what the first attempt has fetched.
	to = archive.OSDisk{Dir: t.TempDir()}
	grow(l, 40<<20)
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.set(func(_ int, call, name string) error {
		if name == s.lastPart(2) {
			return archive.ErrGap
		}
		return nil
	}, nil)
	if _, err := (&Download{Store: s, To: to}).Run(t.Context()); !errors.Is(err, archive.ErrGap) {
		t.Fatal(err)
	}
	s.set(nil, nil)
	grow(l, 40<<20)
	l.base(map[string][]byte{"base/000001.pack": nil})
	if err := archive.Prune(l.disk, l.id, l.log.End()); err != nil {
		t.Fatal(err)
	}
	if err := l.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Download{Store: s, To: to}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := equal(l.disk, to); err != nil {
		t.Error(err)
	}
}

func (m *memory) lastPart(epoch uint32) string {
	names := m.names(logDir(epoch))
	return names[len(names)-1]
}

// fetchTriesFor bounds the attempts for a test.
func fetchTriesFor(t *testing.T, n int) {
	t.Helper()
	was := fetchTries
	fetchTries = n
	t.Cleanup(func() { fetchTries = was })
}

// TestOtherManifest: what a machine has in the bucket that goes on with a copy of the archive stays there when the old one makes a
// base backup before it has noticed.
func TestOtherManifest(t *testing.T) {
	t.Parallel()
	old, s, m := mirrored(t)
	published(t, old, s)
	twin := twinOf(t, s)
	twin.base(map[string][]byte{"base/000001.pack": nil, "base/000002.pack": pack(twin, 100)})
	if err := twin.mirror(s).Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	old.base(map[string][]byte{"base/000002.pack": pack(old, 200)})
	eventually(t, "the old one notices", func() bool { return errors.Is(m.Status().Err, ErrOther) })
	restored(t, twin, s)
}

// TestManifestPutBack: an old manifest takes the place of the one in the bucket, and what that does not name is gone. All that is
// missing goes up again.
func TestManifestPutBack(t *testing.T) {
	t.Parallel()
	l, s, m := mirrored(t)
	published(t, l, s)
	s.mu.Lock()
	before := s.objects[manifestName]
	s.mu.Unlock()
	l.base(map[string][]byte{"base/000001.pack": nil, "base/000002.pack": pack(l, 100)})
	if err := m.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.objects[manifestName] = before
	for name := range s.objects {
		if strings.HasPrefix(name, "base/000002") {
			delete(s.objects, name)
		}
	}
	s.mu.Unlock()
	l.base(map[string][]byte{"base/000002.pack": nil, "base/000003.pack": pack(l, 100)})
	if err := m.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored(t, l, s)
}

// twinOf is a local archive that goes on with what is in a bucket.
func twinOf(t *testing.T, s Store) *local {
	t.Helper()
	disk, err := download(t, s)
	if err != nil {
		t.Fatal(err)
	}
	l := &local{t: t, dir: disk.Dir, disk: disk, rng: rand.New(rand.NewPCG(5, 6))}
	l.epoch(2)
	l.append(1000)
	t.Cleanup(func() { l.log.Close() })
	return l
}
