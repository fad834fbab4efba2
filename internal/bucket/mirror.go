package bucket

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// Needs is what a local manifest names.
type Needs struct {
	// Files are paths in the archive, of one directory and a name: base/000001.pack. They never
	// change once they are there.
	Files []string
	// Epochs are those whose logs it takes, sorted. Later ones are always taken.
	Epochs []uint32
	// From is where in the log of an epoch that begins; without it, at its beginning. A mirror takes
	// all that the local archive has.
	From map[uint32]archive.Position
}

// Mirror keeps a bucket equal to a local archive.
type Mirror struct {
	// Archive is the id of the local archive, and Local where it lies.
	Archive [16]byte
	Local   archive.Disk
	Store   Store
	// Needs says what the local manifest names.
	Needs func(manifest []byte) (Needs, error)
	// Extra is the name of a small file, beside the manifest and of any content, that goes up with it; ""
	// for none.
	Extra string
	// Lasts says how far the log of an epoch may be read: what archive.Log.Lasts returns for the one
	// that is written, the zero place for one that is about to be, archive.All for all others. nil
	// means that nothing is written.
	Lasts func(epoch uint32) archive.Place
	// Linger is how long bytes wait for others before they go up together; 0 for DefaultLinger.
	Linger time.Duration

	once sync.Once
	wake chan struct{}
	look chan struct{} // at the manifest
	// dirty is when the oldest bytes lasted that were not read yet, in nanoseconds; 0 if there are
	// none.
	dirty atomic.Int64
	// settling is closed when nothing is waited for any more, to go up together.
	settling chan struct{}
	settled  sync.Once
	// failed says that the bucket was away since it was last looked at.
	failed  atomic.Bool
	mu      sync.Mutex
	changed chan struct{} // closed when something below has changed; guarded by mu, as all of it
	state   state
}

// state is how far a mirror has come.
type state struct {
	up   Status
	errs [2]error // of the log, of the files
	// asked counts those who wait for what lasted when they asked, and served is whom that holds for;
	// level is whom it holds for of the manifest.
	asked, served, level int
	// pending is since when the bucket has no manifest of the epoch that goes on: what it has of that cannot be
	// restored yet. Zero if it has one.
	pending time.Time
	// gap is the oldest segment that the local disk still has of a log, while that waits for a manifest
	// which needs nothing before it; nil when none waits.
	gap *logStart
	// whole are segments that will get no other part.
	whole []span
	// starts are of the manifest in the bucket; nil before one is known.
	starts map[uint32]uint64
	// reached is how far the log in the bucket goes, nil if that is not known, and named the last epoch that its manifest
	// names.
	reached *extent
	named   uint32
	// flying is when the oldest bytes lasted that were read and are not yet in the bucket; zero if
	// there are none.
	flying time.Time
}

// waits reports whether the log waits for another manifest than the one in the bucket.
func (s *state) waits() bool { return s.gap != nil && s.starts[s.gap.Epoch] < s.gap.Segment }

// Status is how far the bucket is behind.
type Status struct {
	// Epoch and Uploaded are the end of the log in the bucket.
	Epoch    uint32           `json:"epoch"`
	Uploaded archive.Position `json:"uploaded"`
	// Lag is how long the oldest byte that lasts on the local disk has waited until it can be restored from
	// the bucket.
	Lag time.Duration `json:"lag"`
	// LogBytes is how many bytes of the server's log went up, and SentBytes those of the objects with
	// them; FileBytes are those of base backups and manifests. All are since the start of this process.
	LogBytes  int64 `json:"log_bytes"`
	SentBytes int64 `json:"sent_bytes"`
	FileBytes int64 `json:"file_bytes"`
	// Manifest says when a manifest last went up, or was found to be there.
	Manifest time.Time `json:"manifest"`
	// Err is why the last attempt failed; nil when all is well. Of several it is the one that matters most.
	Err error `json:"-"`
}

const (
	// DefaultLinger leaves half of a second for the upload, so that the bucket is a second behind at
	// most; each upload costs money, whatever its size.
	DefaultLinger = 500 * time.Millisecond
	// lookAfter is the longest time without a look at the archive: it may have another manifest.
	lookAfter = time.Second
	// retryFirst and retryLast are the pauses after calls that have failed.
	retryFirst = 50 * time.Millisecond
	retryLast  = 5 * time.Second
	// refusedAfter is the pause after finding what only a human can change.
	refusedAfter = 30 * time.Second
)

func (m *Mirror) init() {
	m.once.Do(func() {
		m.wake, m.look = make(chan struct{}, 1), make(chan struct{}, 1)
		m.changed, m.settling = make(chan struct{}), make(chan struct{})
		if m.Linger == 0 {
			m.Linger = DefaultLinger
		}
	})
}

// Notify says that more of the log lasts. It returns at once.
func (m *Mirror) Notify() {
	m.init()
	if m.dirty.Load() == 0 {
		m.dirty.CompareAndSwap(0, time.Now().UnixNano())
	}
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Status says how far the bucket is behind.
func (m *Mirror) Status() Status {
	m.init()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.up
	for _, err := range m.state.errs {
		if s.Err == nil || refused(err) {
			s.Err = cmp.Or(err, s.Err)
		}
	}
	if at := m.state.flying; !at.IsZero() {
		s.Lag = time.Since(at)
	} else if at := m.dirty.Load(); at != 0 {
		s.Lag = time.Since(time.Unix(0, at))
	}
	if at := m.state.pending; !at.IsZero() {
		s.Lag = max(s.Lag, time.Since(at))
	}
	return s
}

// set changes the state, and tells who waits for that.
func (m *Mirror) set(f func(*state)) {
	m.init()
	m.mu.Lock()
	f(&m.state)
	close(m.changed)
	m.changed = make(chan struct{})
	m.mu.Unlock()
}

// until waits for a state.
func (m *Mirror) until(ctx context.Context, f func(*state) bool) error {
	for {
		m.mu.Lock()
		is, changed := f(&m.state), m.changed
		m.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// What a mirror is at when a call fails.
const (
	atLog = iota
	atFiles
)

// Check makes the prefix this archive's, or says why it cannot be: ErrForeign if something else is
// there. It tries once.
func (m *Mirror) Check(ctx context.Context) error {
	if err := m.claim(ctx); err != nil {
		return err
	}
	return m.own(ctx) // once more, if it was: who can read cannot always write
}

// Release gives up a prefix that Check has made this archive's and that holds nothing else.
func (m *Mirror) Release(ctx context.Context) error {
	there, err := ownerOf(ctx, m.Store)
	if err != nil || there != m.Archive {
		return err
	}
	for o, err := range m.Store.List(ctx, "", "") {
		if err != nil || o.Name != ownerName {
			return err
		}
	}
	return m.Store.Remove(ctx, ownerName)
}

// Settle waits until the bucket has all that lasts now, and the manifest that there is now, while Run is at
// work. Nothing waits from then on to go up with others.
func (m *Mirror) Settle(ctx context.Context) error {
	m.init()
	m.settled.Do(func() { close(m.settling) })
	var mine int
	m.set(func(s *state) {
		s.asked++
		mine = s.asked
	})
	m.Notify()
	select {
	case m.look <- struct{}{}:
	default:
	}
	return m.until(ctx, func(s *state) bool { return s.served >= mine && s.level >= mine })
}

// Run mirrors until ctx ends, whatever happens to the bucket or on the way there: it tries again.
func (m *Mirror) Run(ctx context.Context) {
	m.init()
	for claim := m.claim; ctx.Err() == nil; claim = m.reclaim {
		if m.again(ctx, atLog, claim) != nil {
			return
		}
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return m.again(ctx, atLog, m.followLog) })
		g.Go(func() error { return m.again(ctx, atFiles, m.followFiles) })
		_ = g.Wait() // ctx has ended, or all begins again
		m.set(func(s *state) { s.forget() })
	}
}

// errEmptied says that what was in the bucket is not there any more, as when it was removed and made again.
var errEmptied = errors.New("the bucket was emptied")

// forget forgets what is in the bucket.
func (s *state) forget() {
	s.gap, s.whole, s.starts, s.errs = nil, nil, nil, [2]error{}
	s.reached, s.named = nil, 0
	s.up.Epoch, s.up.Uploaded, s.up.Manifest = 0, archive.Position{}, time.Time{}
}

// Catch mirrors what there is now, and returns.
func (m *Mirror) Catch(ctx context.Context) error {
	m.init()
	if err := m.claim(ctx); err != nil {
		return err
	}
	g, all := errgroup.WithContext(ctx)
	log, done := context.WithCancel(all)
	g.Go(func() error {
		if err := m.followLog(log); log.Err() == nil {
			return err
		}
		return nil
	})
	g.Go(func() error {
		defer done()
		if err := (&files{Mirror: m}).sync(all); err != nil {
			return err
		}
		return m.caughtUp(all)
	})
	return g.Wait()
}

// again calls f until it succeeds or ctx ends, or what is in the bucket is not what it was.
func (m *Mirror) again(ctx context.Context, at int, f func(context.Context) error) error {
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		err := f(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.set(func(s *state) { s.errs[at] = err })
		if err == nil || errors.Is(err, errEmptied) {
			return err
		}
		m.failed.Store(true)
		if refused(err) {
			wait = refusedAfter
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// refused reports whether an error is one that trying again does not mend.
func refused(err error) bool { return errors.Is(err, ErrForeign) || errors.Is(err, ErrOther) }

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
