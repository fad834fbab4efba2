package bucket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/archive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testArchive = [16]byte{0xab, 1, 2, 3}

// local is an archive on a disk, with the log that is being written.
type local struct {
	t    testing.TB
	dir  string
	disk archive.OSDisk
	rng  *rand.Rand

	mu  sync.Mutex // guards what follows against the mirror
	id  archive.LogID
	log *archive.Log

	// from is where the log was when the last base backup was made: what is before that is never cut off.
	from archive.Position
}

// named is the manifest of tests.
type named struct {
	Files  []string `json:"files"`
	Epochs []uint32 `json:"epochs"`
	// At is where the log was when it was written: a base backup begins there.
	At archive.Position `json:"at"`
}

func needsOf(b []byte) (Needs, error) {
	var n named
	err := json.Unmarshal(b, &n)
	return Needs{Files: n.Files, Epochs: n.Epochs}, err
}

func newLocal(t testing.TB) *local {
	t.Helper()
	dir := t.TempDir()
	l := &local{t: t, dir: dir, disk: archive.OSDisk{Dir: dir}, rng: rand.New(rand.NewPCG(1, 2))}
	l.epoch(1)
	t.Cleanup(func() { l.log.Close() })
	return l
}

// epoch begins another log.
func (l *local) epoch(n uint32) {
	l.t.Helper()
	if l.log != nil {
		if err := l.log.Close(); err != nil {
			l.t.Fatal(err)
		}
	}
	id := archive.LogID{Archive: testArchive, Epoch: n}
	log, err := archive.CreateLog(l.disk, id)
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	l.id, l.log = id, log
	l.mu.Unlock()
	l.from = archive.Position{} // positions of another epoch are others
}

// lasts is what a mirror is told.
func (l *local) lasts(epoch uint32) archive.Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch == l.id.Epoch {
		return l.log.Lasts()
	}
	return archive.All
}

func (l *local) mirror(s Store) *Mirror {
	return &Mirror{Archive: testArchive, Local: l.disk, Store: s, Needs: needsOf, Lasts: l.lasts, Linger: 20 * time.Millisecond}
}

// rows are what events are taken from: text that compresses, as a server's log does.
var rows = sync.OnceValue(func() []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	var b []byte
	for len(b) < 3<<20 {
		b = fmt.Appendf(b, "INSERT INTO orders VALUES (%016x)", rng.Uint64())
	}
	return b
})

// events are bytes as a server's log has them.
func (l *local) events(n int) []byte {
	b := make([]byte, n)
	for at := 0; at < n; {
		from := l.rng.IntN(2 << 20)
		at += copy(b[at:], rows()[from:from+1<<20])
	}
	return b
}

// eventually waits for what is to come, on a machine that is busy with other things.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// append appends n bytes.
func (l *local) append(n int) {
	l.t.Helper()
	p := l.log.End()
	if p.File == 0 || l.rng.IntN(20) == 0 {
		p = archive.Position{File: p.File + 1}
	}
	if err := l.log.Append(p, l.events(n)); err != nil {
		l.t.Fatal(err)
	}
}

// restart is another life of the writer, after a power cut has left half a frame.
func (l *local) restart() {
	l.t.Helper()
	at := l.log.Lasts()
	if at.Offset > 0 {
		name := filepath.Join(l.dir, fmt.Sprintf("log/%06d/%012d.segment", l.id.Epoch, at.Segment))
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			l.t.Fatal(err)
		}
		if _, err := f.WriteAt(bytes.Repeat([]byte("torn"), 500), at.Offset); err != nil {
			l.t.Fatal(err)
		}
		f.Close()
	}
	if err := l.log.Close(); err != nil {
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

// cut shortens the log by some bytes, but not to before the last base backup, which is made of what lasts.
func (l *local) cut() {
	l.t.Helper()
	p := l.log.End()
	p.Offset -= l.rng.Int64N(min(p.Offset, 2000) + 1)
	if p.Before(l.from) {
		p = l.from
	}
	if err := l.log.Cut(p); err != nil {
		l.t.Fatal(err)
	}
}

// base writes files and a manifest that names them.
func (l *local) base(files map[string][]byte) {
	l.t.Helper()
	if err := l.disk.Mkdir("base"); err != nil {
		l.t.Fatal(err)
	}
	for name, b := range files {
		if b == nil {
			continue // it is there
		}
		if err := writeFile(l.disk, name, b); err != nil {
			l.t.Fatal(err)
		}
	}
	l.from = l.log.End()
	b, err := json.Marshal(named{slices.Sorted(maps.Keys(files)), []uint32{l.id.Epoch}, l.from})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := writeFile(l.disk, manifestName, b); err != nil {
		l.t.Fatal(err)
	}
}

// start runs a mirror until the test ends, or stop is called.
func start(t testing.TB, m *Mirror) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// caught waits until all that lasts is in the bucket.
func caught(t testing.TB, m *Mirror) {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 4*time.Minute)
	defer stop()
	if err := m.caughtUp(ctx); err != nil {
		t.Fatalf("it does not catch up: %v; %+v", err, m.Status())
	}
}

// published waits until the local manifest is in the bucket.
func published(t *testing.T, l *local, s Store) {
	t.Helper()
	want, err := readFile(l.disk, manifestName)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the manifest is in the bucket", func() bool {
		m, err := loadManifest(context.Background(), s)
		return err == nil && bytes.Equal(m.Manifest, want)
	})
}

// download restores into an empty directory.
func download(t *testing.T, s Store) (archive.OSDisk, error) {
	t.Helper()
	to := archive.OSDisk{Dir: t.TempDir()}
	_, err := (&Download{Store: s, To: to}).Run(context.Background())
	return to, err
}

// restored restores, and compares all with the local archive.
func restored(t *testing.T, l *local, s Store) archive.OSDisk {
	t.Helper()
	to, err := download(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := equal(l.disk, to); err != nil {
		t.Fatal(err)
	}
	return to
}

// equal compares two archives: what the manifest names, and all logs as they are read.
func equal(a, b archive.OSDisk) error {
	raw, err := readFile(a, manifestName)
	if err != nil {
		return err
	}
	needs, err := needsOf(raw)
	if err != nil {
		return err
	}
	for _, name := range append([]string{manifestName}, needs.Files...) {
		x, err := os.ReadFile(filepath.Join(a.Dir, name))
		if err != nil {
			return err
		}
		y, err := os.ReadFile(filepath.Join(b.Dir, name))
		if err != nil {
			return err
		}
		if !bytes.Equal(x, y) {
			return fmt.Errorf("%s differs", name)
		}
	}
	ids, err := archive.Logs(a, testArchive)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id.Epoch < slices.Min(needs.Epochs) {
			continue
		}
		if err := sameLog(id, a, b); err != nil {
			return fmt.Errorf("epoch %d: %w", id.Epoch, err)
		}
	}
	if names, err := b.Names("."); err != nil || slices.Contains(names, restoringName) {
		return fmt.Errorf("it is not ended: %v, %v", names, err)
	}
	return nil
}

func sameLog(id archive.LogID, a, b archive.Disk) error {
	x, y := read{}, read{}
	fromA, endA, err := archive.ReadLog(a, id, x)
	if err != nil {
		return err
	}
	fromB, endB, err := archive.ReadLog(b, id, y)
	if err != nil {
		return err
	}
	if fromA != fromB || endA != endB {
		return fmt.Errorf("one goes from %s to %s, the other from %s to %s", fromA, endA, fromB, endB)
	}
	if !maps.EqualFunc(x, y, bytes.Equal) {
		return errors.New("the bytes differ")
	}
	return nil
}

// read is a log as it was read.
type read map[uint32][]byte

func (r read) WriteAt(file uint32, b []byte, at int64) error {
	if n := at + int64(len(b)); n > int64(len(r[file])) {
		r[file] = append(r[file], make([]byte, n-int64(len(r[file])))...)
	}
	copy(r[file][at:], b)
	return nil
}

func (r read) Truncate(file uint32, size int64) error {
	if int64(len(r[file])) > size {
		r[file] = r[file][:size]
	}
	return nil
}

func mustJSON(t *testing.T, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}
