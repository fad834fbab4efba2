package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/host"
)

// MaxWrites is the most writes a second that a disk can be held to: more than a disk makes.
const MaxWrites = 10_000_000

// NewWriteThrottle makes a Throttle for the device below path, of writes alone, which holds nothing back
// before HoldWrites says to what rate. ErrUnavailable says that this machine or user cannot.
//
// What the kernel counts are requests to write, whatever their size, and requests that the disk empty its
// cache: a synchronous write is two of them, unless the disk takes writes past its cache (FUA).
func NewWriteThrottle(h host.Host, path string) (*Throttle, error) {
	number, err := diskBelow(h, path)
	if err != nil {
		return nil, err
	}
	two := func(rate int) string { return fmt.Sprintf("%s wiops=%s", number, orMax(rate)) }
	one := func(rate int) string { return fmt.Sprintf("%s %d", number, rate) }
	groups := controlGroups(h, number, 0)
	groups[0].limits = map[string]string{writesTwo: two(0)}
	groups[1].limits = map[string]string{writesOne: one(0)}
	t, err := newThrottle("I/O", groups)
	if err != nil {
		return nil, fmt.Errorf("hold back writes to device %s: %w", number, err)
	}
	t.writes, t.writeLimit = writesTwo, two
	if filepath.Dir(t.dir) == groups[1].root {
		t.writes, t.writeLimit = writesOne, one
	}
	return t, nil
}

// The files of a group that hold writes to a device, of version 2 and of version 1.
const (
	writesTwo = "io.max"
	writesOne = "blkio.throttle.write_iops_device"
)

// orMax is how version 2 says that there is no limit.
func orMax(rate int) string {
	if rate == 0 {
		return "max"
	}
	return strconv.Itoa(rate)
}

// HoldWrites holds the members of a throttle of NewWriteThrottle to so many writes a second; 0 lets go of them.
func (t *Throttle) HoldWrites(rate int) error {
	if err := os.WriteFile(filepath.Join(t.dir, t.writes), []byte(t.writeLimit(rate)), 0o644); err != nil {
		return fmt.Errorf("hold writes to %s a second: %w", orMax(rate), err)
	}
	return nil
}

// AddTree puts a process under it, and all that it has begun; what these begin from now on is there by itself.
func (t *Throttle) AddTree(h host.Host, pid int) error {
	if err := t.Add(pid); err != nil {
		return err
	}
	threads, err := os.ReadDir(rooted(h, fmt.Sprintf("/proc/%d/task", pid)))
	if err != nil {
		return fmt.Errorf("hold back what process %d has begun: %w", pid, err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(rooted(h, fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name())))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread has ended
		}
		if err != nil {
			return fmt.Errorf("hold back what process %d has begun: %w", pid, err)
		}
		for _, child := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				return fmt.Errorf("hold back what process %d has begun: %w", pid, err)
			}
			if err := t.AddTree(h, n); err != nil && !gone(h, n) {
				return err
			}
		}
	}
	return nil
}

func gone(h host.Host, pid int) bool { return !isThere(rooted(h, fmt.Sprintf("/proc/%d", pid))) }

// Counts says whether a process is among the members.
func (t *Throttle) Counts(pid int) (bool, error) {
	text, err := os.ReadFile(t.Procs())
	if err != nil {
		return false, fmt.Errorf("read who is held back: %w", err)
	}
	for _, member := range strings.Fields(string(text)) {
		if member == strconv.Itoa(pid) {
			return true, nil
		}
	}
	return false, nil
}
