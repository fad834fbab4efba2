package supervisor

import (
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// sizeShare bounds what measuring the data for Status costs, whoever asks however often: one part in so
// many of the time.
const sizeShare = 200

// sizeAge is for how long the size counts as known while the volume holds as many bytes as it did.
const sizeAge = 30 * time.Second

// dataSize is what a data directory takes: measured by asking for every file, which may be thousands, and
// so remembered for a while.
type dataSize struct {
	mu    sync.Mutex
	dir   string
	bytes int64
	until time.Time
	// used is what the volume held when it was measured, at.
	used int64
	at   time.Time
}

// of returns what the files in dir take, in bytes, in a volume that holds used bytes.
func (d *dataSize) of(dir string, used int64) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	began := time.Now()
	if d.dir == dir && (began.Before(d.until) || d.used == used && began.Sub(d.at) < sizeAge) {
		return d.bytes, nil
	}
	bytes, err := sys.DiskUsage(dir)
	if err != nil {
		return 0, err
	}
	d.used, d.at = used, began
	d.dir, d.bytes, d.until = dir, bytes, time.Now().Add(sizeShare*time.Since(began))
	return bytes, nil
}

// residentOf is the memory of the server's process, 0 if it has just ended.
func residentOf(st instance.State) int64 {
	if st.ServerPID == 0 || !st.Phase.Alive() {
		return 0
	}
	bytes, err := host.Resident(st.ServerPID)
	if err != nil {
		return 0
	}
	return bytes
}

// leases are what goes on in the pool, nil while there is none.
func (s *Supervisor) leases() *client.Leases {
	p := s.pool.Load()
	if p == nil {
		return nil
	}
	a := p.Activity()
	return &client.Leases{Used: a.Used, Max: a.Max, Waiting: a.Waiting, Granted: a.Granted, Resets: a.Resets}
}
