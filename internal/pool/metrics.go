package pool

import (
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/metrics"
	"github.com/ramaria-db/ramaria/internal/reset"
)

// counters are what a Pool counts.
type counters struct {
	mu     sync.Mutex
	leases metrics.Histogram
	resets map[reset.Way]*metrics.Histogram
}

func newCounters() *counters { return &counters{resets: map[reset.Way]*metrics.Histogram{}} }

func (c *counters) lease(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases.Observe(took)
}

func (c *counters) reset(way reset.Way, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.resets[way]
	if h == nil {
		h = &metrics.Histogram{}
		c.resets[way] = h
	}
	h.Observe(took)
}

func (c *counters) write(w metrics.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Head("ramaria_reset_seconds", "histogram", "How long resets took, by the way in which they were done.")
	for _, way := range slices.Sorted(maps.Keys(c.resets)) {
		w.Histogram("ramaria_reset_seconds", c.resets[way], metrics.Label("way", string(way)))
	}
	w.Head("ramaria_lease_seconds", "histogram", "How long requests for a database took, with their wait.")
	w.Histogram("ramaria_lease_seconds", &c.leases)
}

// Activity is what goes on in a pool, and what it has done since the server started.
type Activity struct {
	// Used is how many databases are in use, of Max at most, and Waiting how many requests wait.
	Used, Max, Waiting int
	// Granted is how many leases were given, and Resets how many were put back.
	Granted, Resets int64
}

// Activity returns what goes on in the pool.
func (p *Pool) Activity() (a Activity) {
	p.counters.mu.Lock()
	a.Granted = int64(p.counters.leases.Count())
	for _, h := range p.counters.resets {
		a.Resets += int64(h.Count())
	}
	p.counters.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	a.Used, a.Waiting = p.queue.counts()
	a.Max = p.limits.MaxDatabases
	return a
}

// WriteMetrics writes the pool's counters since the server started, and its present state, in
// the text format of Prometheus.
func (p *Pool) WriteMetrics(to io.Writer) {
	w := metrics.Writer{Writer: to}
	p.counters.write(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	used, waiting := p.queue.counts()
	w.Gauge("ramaria_pool_max_databases", "How many databases may be in use.", float64(p.limits.MaxDatabases))
	w.Gauge("ramaria_pool_used_databases", "How many databases are in use.", float64(used))
	w.Gauge("ramaria_pool_waiting_requests", "How many requests wait since the pool is full.", float64(waiting))
	names := slices.Sorted(maps.Keys(p.templates))
	w.Head("ramaria_template_leases", "gauge", "How many clones of a template are in use.")
	for _, name := range names {
		w.Sample("ramaria_template_leases", float64(p.leases.count(name)), metrics.Label("template", name))
	}
	w.Head("ramaria_template_spare", "gauge", "How many clones of a template are ready for requests.")
	for _, name := range names {
		w.Sample("ramaria_template_spare", float64(p.spares.view(p.templates[name].supply).ready), metrics.Label("template", name))
	}
}
