package supervisor

import (
	"errors"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/host"
)

// remembers is a machine with so much memory.
func remembers(m host.Memory) func() (host.Memory, error) {
	return func() (host.Memory, error) { return m, nil }
}

func TestNextPool(t *testing.T) {
	const mb, gb = int64(1 << 20), int64(1 << 30)
	plenty := host.Memory{Total: 24 * gb, Available: 16 * gb}
	full := func(bytes int64) dbconn.BufferPool {
		return dbconn.BufferPool{Bytes: bytes, Total: 8192, Free: 1500}
	}
	for _, c := range []struct {
		name   string
		pool   dbconn.BufferPool
		reads  int64
		memory host.Memory
		data   int64
		want   int64
	}{
		{"misses, and data", full(128 * mb), 5000, plenty, 10 * gb, 256 * mb},
		{"no misses", full(128 * mb), 10, plenty, 10 * gb, 128 * mb},
		{"free pages", dbconn.BufferPool{Bytes: 128 * mb, Total: 8192, Free: 6000}, 5000, plenty, 10 * gb, 128 * mb},
		{"all data fits", full(128 * mb), 5000, plenty, 90 * mb, 128 * mb},
		{"no more than the data", full(256 * mb), 5000, plenty, 250 * mb, 384 * mb},
		{"no more than its part of the machine", full(6 * gb), 5000, plenty, 100 * gb, 6 * gb},
		{"no more than its part of the control group", full(256 * mb), 5000, host.Memory{Total: 24 * gb, Available: 16 * gb, Cgroup: host.Cgroup{Limit: gb}}, 10 * gb, 256 * mb},
		{"not where memory is short", full(128 * mb), 5000, host.Memory{Total: 24 * gb, Available: 900 * mb}, 10 * gb, 128 * mb},
		{"back where it is shorter still", full(2 * gb), 5000, host.Memory{Total: 24 * gb, Available: gb}, 10 * gb, 128 * mb},
		{"back without misses too", full(2 * gb), 0, host.Memory{Total: 24 * gb, Available: gb}, 10 * gb, 128 * mb},
		{"never below what it began with", full(128 * mb), 0, host.Memory{Total: gb, Available: 0}, 10 * gb, 128 * mb},
	} {
		got, err := nextPool(c.pool, c.reads, remembers(c.memory), func() (int64, error) { return c.data, nil })
		if err != nil || got != c.want {
			t.Errorf("%s: got %d MB, %v, want %d MB", c.name, got/mb, err, c.want/mb)
		}
	}
	if _, err := nextPool(full(128*mb), 5000, remembers(plenty), func() (int64, error) { return 0, errors.New("no data") }); err == nil {
		t.Error("an error is lost")
	}
	if got := mostPool(host.Memory{Total: 100 * mb}); got != dbconn.MinBufferPool {
		t.Errorf("on a small machine the pool is at most %d", got)
	}
}
