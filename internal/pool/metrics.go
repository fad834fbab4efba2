package pool

import (
	"io"
	"maps"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/metrics"
	"github.com/ramaria-db/ramaria/internal/reset"
)

// counters are what a Pool counts, under Pool.mu.
type counters struct {
	leases metrics.Histogram
	resets map[reset.Way]*metrics.Histogram
}

func (c *counters) reset(way reset.Way, took time.Duration) {
	h := c.resets[way]
	if h == nil {
		h = &metrics.Histogram{}
		c.resets[way] = h
	}
	h.Observe(took)
}

// WriteMetrics writes what a Pool has counted since the server was started.
func (p *Pool) WriteMetrics(to io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := metrics.Writer{Writer: to}
	w.Head("ramaria_reset_seconds", "histogram", "How long resets took, by the way in which they were done.")
	for _, way := range slices.Sorted(maps.Keys(p.counters.resets)) {
		w.Histogram("ramaria_reset_seconds", p.counters.resets[way], metrics.Label("way", string(way)))
	}
	w.Head("ramaria_lease_seconds", "histogram", "How long requests for a database took, with their wait.")
	w.Histogram("ramaria_lease_seconds", &p.counters.leases)
	w.Gauge("ramaria_pool_max_databases", "How many databases may be in use.", float64(p.limits.MaxDatabases))
	w.Gauge("ramaria_pool_used_databases", "How many databases are in use.", float64(p.used))
	w.Gauge("ramaria_pool_waiting_requests", "How many requests wait since the pool is full.", float64(len(p.queue)))
	names := slices.Sorted(maps.Keys(p.templates))
	w.Head("ramaria_template_leases", "gauge", "How many clones of a template are in use.")
	for _, name := range names {
		w.Sample("ramaria_template_leases", float64(p.leasesOf(p.templates[name])), metrics.Label("template", name))
	}
	w.Head("ramaria_template_spare", "gauge", "How many clones of a template are ready for requests.")
	for _, name := range names {
		w.Sample("ramaria_template_spare", float64(len(p.templates[name].ready)), metrics.Label("template", name))
	}
}
