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
	t.memory, t.limit = "memory.max", fmt.Sprint(memory)
	if filepath.Dir(t.dir) == groups[1].root {
		t.memory = oneLimit
	}
	return t, nil
}

// oneLimit is the limit of version 1.
const oneLimit = "memory.limit_in_bytes"

// noLimits are what files say which limit nothing.
var noLimits = map[string]string{"memory.max": "max", oneLimit: "-1"}

// Limited calls work with the limit, and without it afterwards: what was swapped out cannot come back to a
// group that is full. The error is that of work, or of the limit.
func (t *Throttle) Limited(work func() error) error {
	if err := t.setMemory(t.limit); err != nil {
		return err
	}
	return errors.Join(work(), t.setMemory(noLimits[t.memory]))
}

// LiftMemoryLimits ends those of a process that is gone, or about to go: what was swapped out of their groups
// can come back.
func LiftMemoryLimits(h host.Host, pid int) error {
	dirs, err := Throttles(h, pid)
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range dirs {
		for file, none := range noLimits {
			if path := filepath.Join(dir, file); isThere(path) {
				errs = append(errs, os.WriteFile(path, []byte(none), 0))
			}
		}
	}
	return errors.Join(errs...)
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
