package binlog

import (
	"maps"
	"slices"
	"sync"
)

// Consumers are the readers of a server's binary log, by name. What one of them has not read yet
// must not be purged. The zero value has none. It may be used by several goroutines.
type Consumers struct {
	mu        sync.Mutex
	positions map[string]func() Position
}

// Set registers a consumer, in place of an earlier one of that name. position is asked before each
// purge, and may read on first: the consumer needs the file that it names, and all later ones. The
// zero Position needs none.
func (c *Consumers) Set(name string, position func() Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.positions == nil {
		c.positions = map[string]func() Position{}
	}
	c.positions[name] = position
}

// Remove ends that a consumer keeps files. One that is not registered is no error.
func (c *Consumers) Remove(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.positions, name)
}

// Needed returns how many of files, the names of a log as Files lists them, the slowest consumer
// needs: so many of the last ones. A position in a file that is not among them keeps none: either
// that is a later one, or it is gone already.
func (c *Consumers) Needed(files []string) int {
	c.mu.Lock()
	positions := slices.Collect(maps.Values(c.positions))
	c.mu.Unlock()
	needed := 0
	for _, position := range positions {
		if at := slices.Index(files, position().File); at >= 0 {
			needed = max(needed, len(files)-at)
		}
	}
	return needed
}
