package supervisor

import (
	"context"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// A page that the buffer pool lacks comes through the loop device on xfs, past the page cache, at
// ten times the cost of one that it has. So the pool grows with the data that is worked on: a server
// that starts, and one with little data, pays nothing for that. Pages take memory once they are
// used, and what describes them, 2 % of the pool in MariaDB and 8 % in MySQL, at once.
const (
	// poolSetting is what the user says the size by, who has the last word.
	poolSetting = "innodb_buffer_pool_size"
	// fullShare is the part of the pool, one in so many, that is free at least in one that lacks nothing:
	// InnoDB keeps up to a fifth of a small one free when it is full.
	fullShare = 2
	// fewReads is how many pages may be read between two looks without the pool growing.
	fewReads = 256
	// poolShare is the part of the machine's memory, or of the control group's, that a pool is
	// at most, one in so many, and stepShare that of the memory that is free now that it may
	// grow by at once: others may grow at the same time.
	poolShare, stepShare = 4, 8
)

// mostPool is the size in bytes that a pool may grow to.
func mostPool(m host.Memory) int64 {
	total := m.Total
	if m.Cgroup.Limit > 0 {
		total = min(total, m.Cgroup.Limit)
	}
	return max(total/poolShare/dbconn.MinBufferPool*dbconn.MinBufferPool, dbconn.MinBufferPool)
}

// mostPool is mostPool of this machine, 0 if that cannot be told.
func (s *Supervisor) mostPool() int64 {
	m, err := host.Host{}.Memory()
	if err != nil {
		s.log.Warn("cannot tell how far the buffer pool may grow", "error", err)
		return 0
	}
	return mostPool(m)
}

// nextPool is the size that a pool of the given size is to have: twice as much if it is full and
// still misses pages, as long as there is more data than it holds and memory for it; and what it
// began with when the others run short of memory. memory and data measure the machine and the data
// directory.
func nextPool(b dbconn.BufferPool, reads int64, memory func() (host.Memory, error), data func() (int64, error)) (int64, error) {
	enough := reads < fewReads || b.Free > b.Total/fullShare
	if enough && b.Bytes <= dbconn.MinBufferPool {
		return b.Bytes, nil
	}
	m, err := memory()
	if err != nil {
		return 0, err
	}
	room, _ := m.Room()
	if b.Bytes > dbconn.MinBufferPool && room < b.Bytes-dbconn.MinBufferPool {
		return dbconn.MinBufferPool, nil
	}
	if enough {
		return b.Bytes, nil
	}
	size, err := data()
	if err != nil {
		return 0, err
	}
	// A quarter more: the pool holds more than pages of files.
	whole := (size + size/4 + dbconn.MinBufferPool) / dbconn.MinBufferPool * dbconn.MinBufferPool
	next := min(2*b.Bytes, whole, mostPool(m))
	if next <= b.Bytes || next-b.Bytes > room/stepShare {
		return b.Bytes, nil
	}
	return next, nil
}

// resizeBufferPool makes the buffer pool as large as the data needs and the memory allows.
func (w *watch) resizeBufferPool(ctx context.Context) error {
	if _, set := server.Setting(w.inst.Spec.Set, poolSetting); set {
		return nil
	}
	if w.poolIdle && time.Since(w.poolAsked) < poolInterval {
		return nil
	}
	w.poolAsked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	b, err := dbconn.ReadBufferPool(ctx, w.db)
	if err != nil {
		return err
	}
	reads := b.Reads - w.poolReads
	if w.poolReads == 0 { // the first look: what a start reads says nothing
		reads = 0
	}
	w.poolReads, w.poolIdle = max(b.Reads, 1), reads == 0 && b.Bytes <= dbconn.MinBufferPool
	next, err := nextPool(b, reads, host.Host{}.Memory, func() (int64, error) { return sys.DiskUsage(w.inst.DataDir()) })
	if err != nil || next == b.Bytes {
		return err
	}
	w.log.Info("buffer pool resized", "from", b.Bytes, "to", next)
	return dbconn.ResizeBufferPool(ctx, w.db, next)
}
