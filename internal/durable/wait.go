package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/server"
)

// wait measures for how long nothing was archived although there is something to archive.
type wait struct {
	at    archive.Position
	since time.Time // zero while all is archived
}

// look takes one look: up to where the log is archived, and whether the server has written more.
func (w *wait) look(now time.Time, archived archive.Position, more bool) time.Duration {
	switch {
	case !more:
		w.since = time.Time{}
	case w.since.IsZero() || archived != w.at:
		w.since = now
	}
	w.at = archived
	if w.since.IsZero() {
		return 0
	}
	return now.Sub(w.since)
}

// stalledAfter is for how long nothing is archived of a server that is to stop until it counts as stalled.
const stalledAfter = time.Second

// Stalled reports whether the log waits to be archived, and nothing happens. It waits for up to a second.
func (k *Keeper) Stalled() bool {
	from := k.ship.Shipped()
	for began := time.Now(); k.behind(); time.Sleep(stalledAfter / 100) {
		switch {
		case k.ship.Shipped() != from:
			return false
		case time.Since(began) >= stalledAfter:
			return true
		}
	}
	return false
}

// Waiting is for how long bytes of the log have waited to be archived while none were, as when a disk hangs:
// no error comes then. It is to be asked again and again, by one goroutine.
func (k *Keeper) Waiting() time.Duration {
	return k.wait.look(time.Now(), k.ship.Shipped(), k.behind())
}

// behind reports whether the server has written what is not archived.
func (k *Keeper) behind() bool {
	p := k.ship.Shipped()
	p.File = max(1, p.File)
	size := func(n uint32) int64 {
		fi, err := os.Lstat(filepath.Join(k.Instance.DataDir(), fmt.Sprintf("%s.%06d", server.BinlogName, n)))
		if err != nil {
			return 0
		}
		return fi.Size()
	}
	return size(p.File) > p.Offset || size(p.File+1) > 0
}
