package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// BaseOrder is what a new base is called, and whose.
type BaseOrder struct {
	Archive archive.ID
	// Number is its id, Prev that of the one before, 0 for none.
	Number, Prev uint32
}

// NextBase is what the next base is called, which is begun now: what the log grows by from here on counts as while it
// was made (Policy.Due).
func (k *Keeper) NextBase() BaseOrder {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	m := k.Archive.Manifest
	k.gate().meter.begin()
	k.began = k.work()
	return BaseOrder{Archive: m.ID, Number: max(1, m.NextBase), Prev: lastBase(m)}
}

// lastBase is the base that the next one takes pages from, 0 if there is none in the archive.
func lastBase(m *archive.Manifest) uint32 {
	if n := len(m.Bases); n > 0 && m.Bases[n-1].Dir == "" {
		return m.Bases[n-1].ID
	}
	return 0
}

// awaitPatience is how long a base may wait for the log, beyond what commits may.
const awaitPatience = 10 * time.Second

// Await waits until the archive has all that the log has now, as a base does that was taken before.
func (k *Keeper) Await(ctx context.Context) error {
	_, interval := k.Instance.Spec.Durability()
	limited, cancel := context.WithTimeout(ctx, interval+awaitPatience)
	defer cancel()
	at, err := k.Written()
	if err != nil {
		return err
	}
	for k.Shipped().Before(at) {
		if err := k.Lost(); err != nil {
			return err
		}
		select {
		case <-limited.Done():
			return errors.Join(fmt.Errorf("wait for the log to be archived up to %s: it is up to %s", at, k.Shipped()), k.Trouble(), ctx.Err())
		case <-time.After(awaitPause):
		}
	}
	return nil
}

// awaitPause is the pause between two looks of Await.
const awaitPause = 5 * time.Millisecond

// AddBase has the manifest know a base that lasts, of the epoch that goes on. The log must have all that the base
// has: nothing leads from an older base to what comes after a gap, and no recovery to a base behind the end.
func (k *Keeper) AddBase(b archive.Base) (archive.Base, error) {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	if !k.ship.Still() { // then the position is one in another log
		return b, fmt.Errorf("add a base: %w", shipper.ErrRemoved)
	}
	if end := k.ship.Shipped(); end.Before(b.At) {
		return b, fmt.Errorf("add a base at %s: the log is archived up to %s", b.At, end)
	}
	total, known := k.log.TotalAt(b.At)
	if !known {
		return b, fmt.Errorf("add a base at %s: the log has no such file", b.At)
	}
	b.Epoch, b.Total, b.Fences = k.Archive.Manifest.Last().Number, total, k.fences.before(b.At)
	noted, blind := k.newBreaches(), k.Blind()
	_, more := blind.untold(k.Archive.Manifest)
	if !blind.Since.IsZero() {
		b.Outside = append(b.Outside, fmt.Sprintf("what the log behind it lacks since %s: %s", blind.Since.Local().Format(time.DateTime), BlindWhat(blind.Why)))
	}
	err := k.Archive.save(func(m *archive.Manifest) {
		m.Add(b)
		noteAll(m, noted, blind)
		for i := range m.Breaches {
			if br := &m.Breaches[i]; br.Base == 0 && (b.Time.After(br.To) || br.Open && b.Time.After(br.From)) {
				br.Base = b.ID
			}
		}
	})
	if err == nil {
		k.savedBreaches(len(noted), more)
		k.wanted.Store(false)
		k.meanwhile = max(0, k.work()-k.began)
		k.fences.meter.based()
		k.fences.covered(b.At)
	}
	return b, err
}

// newest is the base that recovery would begin with, and how many bytes of the log come after it.
func (k *Keeper) newest() (b archive.Base, since int64, ok bool) {
	b, _, err := k.Archive.Manifest.Newest()
	if err != nil {
		return b, 0, false
	}
	return b, k.Archive.Manifest.Since(b, k.log.Total()), true
}

// basedAt is up to where the newest base has an epoch's log, zero if it has none of it.
func (a *Archive) basedAt(epoch uint32) archive.Position {
	b, _, err := a.Manifest.Newest()
	if err != nil || b.Epoch != epoch {
		return archive.Position{}
	}
	return b.At
}

// dueNow says that a base is to be made at once.
func (k *Keeper) dueNow() {
	select {
	case k.DueNow <- struct{}{}:
	default:
	}
}

// WantBase has a base made at once: the data has what no log has, and what the log goes on with needs it.
func (k *Keeper) WantBase() {
	k.wanted.Store(true)
	k.dueNow()
}

// BesideLog is what the newest base has that is in no log. It waits for no disk: while the manifest is written it is as
// it was before. It is for one goroutine.
func (k *Keeper) BesideLog() []string {
	if k.manifest.TryLock() {
		b, _, _ := k.newest()
		k.beside = b.BesideLog
		k.manifest.Unlock()
	}
	return k.beside
}

// Due reports whether a base is to be made, so that recovery does not take too long.
func (k *Keeper) Due() bool {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	b, _, ok := k.newest()
	return !ok || b.Dir != "" || k.Fenced() || k.Archive.Manifest.Unmended() || len(k.newBreaches()) > 0 || k.wanted.Load() || k.Policy.Due(k.Archive.Manifest, b, k.work(), k.meanwhile)
}

// measurable is how many bytes of the log say how fast they are replayed.
const measurable = 64 << 20

// VerifyDue reports whether the last comparison is too long ago, or there was none yet and the log has enough to
// measure how fast it is replayed, which depends on what is in it.
func (k *Keeper) VerifyDue(every time.Duration) bool {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	m := k.Archive.Manifest
	last := m.Created
	if v := m.Verified; v != nil {
		last = v.Time
	}
	if time.Since(last) > every {
		return true
	}
	_, since, ok := k.newest()
	return ok && m.Verified == nil && m.ReplayScale == 0 && since >= measurable
}

// Prune removes what the history does not need.
func (k *Keeper) Prune() (Pruned, error) {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	return k.Archive.prune(k.Policy.Keep(k.Archive.Manifest, time.Now()))
}

// SetVerified notes that the archive gave what the instance had, and how fast.
func (k *Keeper) SetVerified(v Verification) error {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	return k.Archive.save(func(m *archive.Manifest) {
		m.Verified = &archive.Verified{Time: v.Time, Epoch: m.Last().Number, At: v.At}
		v.Recovered.rates(m)
	})
}
