package bucket

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

const beside = "instance.json"

// write writes the file that goes with the manifest.
func (l *local) write(text string) {
	l.t.Helper()
	if err := writeFile(l.disk, beside, []byte(text)); err != nil {
		l.t.Fatal(err)
	}
}

// TestExtra: the file beside the manifest comes back, as it last was.
func TestExtra(t *testing.T) {
	l, s := newLocal(t), newMemory()
	l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
	l.append(100)
	m := l.mirror(s)
	m.Extra = beside
	for _, text := range []string{"", "port 1", "port 2"} {
		if text != "" { // at first it is not there
			l.write(text)
		}
		if err := m.Catch(t.Context()); err != nil {
			t.Fatal(err)
		}
		to := archive.OSDisk{Dir: t.TempDir()}
		if _, err := (&Download{Store: s, To: to, Extra: beside}).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := readFile(to, beside)
		if text == "" && !errors.Is(err, fs.ErrNotExist) || text != "" && (err != nil || string(got) != text) {
			t.Errorf("%q comes back as %q, %v", text, got, err)
		}
	}
	to, err := download(t, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(to, beside); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it comes without being asked for: %v", err)
	}
}

// TestSettle: when it returns the bucket has all that there is, at once; and it does not return before.
func TestSettle(t *testing.T) {
	l, s := newLocal(t), newMemory()
	m := l.mirror(s)
	m.Extra, m.Linger = beside, time.Hour
	start(t, m)
	l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
	l.write("it")
	l.append(5000)
	m.Notify()
	began := time.Now()
	if err := m.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Minute {
		t.Errorf("it took %s", took)
	}
	restored(t, l, s)
	if st := m.Status(); st.Lag != 0 || st.Err != nil || st.Uploaded != l.log.End() {
		t.Errorf("the status is %+v", st)
	}
	for _, lack := range []string{"the log", "the manifest"} {
		t.Run(lack, func(t *testing.T) {
			away := errors.New("away")
			s.set(func(_ int, call, name string) error {
				if call == "put" && (name == manifestName) == (lack == "the manifest") {
					return away
				}
				return nil
			}, nil)
			if lack == "the log" {
				l.append(100)
			} else {
				l.write("another")
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			if err := m.Settle(ctx); err == nil {
				t.Error("it returns, and something is missing")
			}
			s.set(nil, nil)
			if err := m.Settle(t.Context()); err != nil {
				t.Error(err)
			}
			restored(t, l, s)
		})
	}
}

// mirrored is an archive with a base backup and some log, all of it in a bucket.
func mirrored(t *testing.T) (*local, *memory, *Mirror) {
	t.Helper()
	l, s := newLocal(t), newMemory()
	m := l.mirror(s)
	start(t, m)
	l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
	l.append(100)
	if err := m.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l, s, m
}

// TestLagOfEpoch: what cannot be restored yet, since the manifest of its epoch is on its way, counts as behind.
func TestLagOfEpoch(t *testing.T) {
	l, s, m := mirrored(t)
	s.set(func(_ int, call, name string) error {
		if call == "put" && name == manifestName {
			return errors.New("away")
		}
		return nil
	}, nil)
	l.base(map[string][]byte{"base/000001.pack": nil, "base/000002.pack": pack(l, 1000)})
	l.append(100)
	caught(t, m)
	time.Sleep(100 * time.Millisecond)
	if lag := m.Status().Lag; lag > 50*time.Millisecond {
		t.Errorf("another base backup of the same epoch: it is %s behind", lag)
	}
	l.epoch(2)
	l.base(map[string][]byte{"base/000002.pack": nil})
	l.append(100)
	eventually(t, "it is behind", func() bool { return m.Status().Lag > time.Second })
	s.set(nil, nil)
	eventually(t, "it is not any more", func() bool { return m.Status().Lag == 0 })
	published(t, l, s)
}

// TestRelease: a place that is given up is anybody's, and one that holds something is not given up.
func TestRelease(t *testing.T) {
	l, s := newLocal(t), newMemory()
	m := l.mirror(s)
	if _, err := Whose(t.Context(), s); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty place: %v", err)
	}
	if err := m.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := Whose(t.Context(), s); err != nil || id != testArchive {
		t.Errorf("it is of %x, %v", id, err)
	}
	other := l.mirror(s)
	other.Archive[0]++
	if err := other.Release(t.Context()); err != nil || len(s.names("")) != 1 {
		t.Errorf("another one gives it up: %v", err)
	}
	if err := m.Release(t.Context()); err != nil || len(s.names("")) != 0 {
		t.Errorf("it has %v, %v", s.names(""), err)
	}
	if _, err := Peek(t.Context(), s); !errors.Is(err, ErrNothing) {
		t.Errorf("its manifest: %v", err)
	}
	l.base(map[string][]byte{"base/000001.pack": pack(l, 1000)})
	l.append(100)
	if err := m.Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored(t, l, s)
	want, err := readFile(l.disk, manifestName)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Peek(t.Context(), s); err != nil || !bytes.Equal(got, want) {
		t.Errorf("its manifest is %q, %v", got, err)
	}
}

// TestCheckWrites: who may read and not write is told so, also of a place that is its own.
func TestCheckWrites(t *testing.T) {
	l, s := newLocal(t), newMemory()
	m := l.mirror(s)
	if err := m.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	denied := errors.New("denied")
	s.set(func(_ int, call, _ string) error {
		if call == "put" {
			return denied
		}
		return nil
	}, nil)
	if err := m.Check(t.Context()); !errors.Is(err, denied) {
		t.Errorf("got %v", err)
	}
}

// TestEmptied: a bucket that was removed and made again gets all of the archive again.
func TestEmptied(t *testing.T) {
	l, s, m := mirrored(t)
	s.set(func(int, string, string) error { return errors.New("the bucket does not exist") }, nil)
	l.append(100)
	m.Notify()
	eventually(t, "the status says so", func() bool { return m.Status().Err != nil })
	s.mu.Lock()
	clear(s.objects)
	s.mu.Unlock()
	s.set(nil, nil)
	l.append(100)
	m.Notify()
	eventually(t, "the bucket is the archive's again", func() bool {
		id, err := Whose(context.Background(), s)
		return err == nil && id == testArchive
	})
	if err := m.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored(t, l, s)
	if st := m.Status(); st.Lag != 0 || st.Err != nil || st.Uploaded != l.log.End() {
		t.Errorf("the status is %+v", st)
	}
}
