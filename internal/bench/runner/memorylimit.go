package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
)

// NewMemoryLimit makes a group whose members, and the files in memory that they write, have so many
// bytes of memory; what is over that is swapped out, up to swap bytes. ErrUnavailable says that this
// machine or user cannot.
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
func NewMemoryLimit(h host.Host, memory, swap int64) (*Throttle, error) {
	groups := memoryGroups(h, memory, swap)
	t, err := newThrottle("memory", groups)
	if err != nil {
		return nil, fmt.Errorf("limit memory: %w", err)
	}
	t.memory, t.limit, t.none = "memory.max", fmt.Sprint(memory), "max"
	if filepath.Dir(t.dir) == groups[1].root {
		t.memory, t.none = oneLimit, "-1"
	}
	return t, nil
}

// oneLimit is the limit of version 1.
const oneLimit = "memory.limit_in_bytes"

// Limited calls work with the limit, and without it afterwards: what was swapped out cannot come back to a
// group that is full. The error is that of work, or of the limit.
func (t *Throttle) Limited(work func() error) error {
	if err := t.setMemory(t.limit); err != nil {
		return err
	}
	return errors.Join(work(), t.setMemory(t.none))
}

// memoryPatience is how long a group may take to give up what it has over its limit.
const memoryPatience = 5 * time.Second

func (t *Throttle) setMemory(limit string) error {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := os.WriteFile(filepath.Join(t.dir, t.memory), []byte(limit), 0)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Since(began) > memoryPatience {
			return fmt.Errorf("limit memory: %w", err)
		}
	}
}

func memoryGroups(h host.Host, memory, swap int64) []controlGroup {
	return []controlGroup{
		{rooted(h, "/sys/fs/cgroup"), []string{"memory"}, map[string]string{"memory.max": fmt.Sprint(memory), "memory.swap.max": fmt.Sprint(swap)}},
		{rooted(h, "/sys/fs/cgroup/memory"), nil, map[string]string{oneLimit: fmt.Sprint(memory)}},
	}
}
