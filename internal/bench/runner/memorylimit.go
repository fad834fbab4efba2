package runner

import (
	"fmt"

	"github.com/ramaria-db/ramaria/internal/host"
)

// NewMemoryLimit makes a group whose members, and the files in memory that they write, have so many
// bytes of memory; what is over that is swapped out, up to swap bytes. ErrUnavailable says that this
// machine or user cannot.
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
func NewMemoryLimit(h host.Host, memory, swap int64) (*Throttle, error) {
	t, err := newThrottle("memory", memoryGroups(h, memory, swap))
	if err != nil {
		return nil, fmt.Errorf("limit memory: %w", err)
	}
	return t, nil
}

func memoryGroups(h host.Host, memory, swap int64) []controlGroup {
	return []controlGroup{
		{rooted(h, "/sys/fs/cgroup"), []string{"memory"}, map[string]string{"memory.max": fmt.Sprint(memory), "memory.swap.max": fmt.Sprint(swap)}},
		{rooted(h, "/sys/fs/cgroup/memory"), nil, map[string]string{"memory.limit_in_bytes": fmt.Sprint(memory)}},
	}
}
