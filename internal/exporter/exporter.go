// Package exporter shows what all instances measure on one page for Prometheus.
//
// The invariant: a page comes within patience and a little, whatever instances do. One that does not answer is down on
// it, and the others are there.
package exporter

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/metrics"
)

const (
	// patience is how long an instance may take to answer. Prometheus waits for ten seconds.
	patience = time.Second
	// atOnce is how many instances are asked at the same time.
	atOnce = 64
)

// phases are those that an instance may be in: all of them are on the page, for those who count.
var phases = []string{"starting", "running", "stopping", "stopped", "crashed", "gone"}

// Target is an instance.
type Target struct {
	Name, Phase string
	// Socket is that of its API while it runs, else "".
	Socket string
}

// Exporter asks instances. Several goroutines may use it at once; they have their turns.
type Exporter struct {
	// List returns the instances that there are now.
	List func() ([]Target, error)
	// Version and Commit are of the program.
	Version, Commit string

	mu sync.Mutex
	// clients are kept by socket, since they keep connections open.
	clients map[string]*client.Client
	errors  int64
}

// Close closes the connections to instances.
func (e *Exporter) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forget(nil)
}

// Write writes a page in Prometheus' text format, or in OpenMetrics'.
func (e *Exporter) Write(ctx context.Context, to io.Writer, open bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	began := time.Now()
	all, err := e.List()
	if err != nil {
		return err
	}
	answers := e.ask(ctx, all)
	if err := ctx.Err(); err != nil { // who asked has gone, and no instance is down for that
		return err
	}
	p := newPage()
	p.add(e.own(all, answers, began), "")
	for i, t := range all {
		p.add(answers[i].text, t.Name)
	}
	return p.write(to, open)
}

// answer is what an instance said: no text if it did not answer.
type answer struct {
	text []byte
	took time.Duration
	err  error
}

func (e *Exporter) ask(ctx context.Context, all []Target) []answer {
	e.forget(all)
	answers, turns := make([]answer, len(all)), make(chan struct{}, atOnce)
	var asked sync.WaitGroup
	for i, t := range all {
		c := e.clients[t.Socket]
		if c == nil {
			continue
		}
		turns <- struct{}{}
		asked.Go(func() {
			defer func() { <-turns }()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			began := time.Now()
			text, err := c.Metrics(ctx)
			if err != nil {
				text = nil
			}
			answers[i] = answer{text, time.Since(began), err}
		})
	}
	asked.Wait()
	return answers
}

// forget closes the clients of instances that do not run any more, and makes those of new ones.
func (e *Exporter) forget(all []Target) {
	now := map[string]*client.Client{}
	for _, t := range all {
		if t.Socket == "" {
			continue
		}
		if now[t.Socket] = e.clients[t.Socket]; now[t.Socket] == nil {
			now[t.Socket] = client.New(t.Socket)
		}
	}
	for socket, c := range e.clients {
		if now[socket] == nil {
			c.Close()
		}
	}
	e.clients = now
}

// own is what the exporter itself has to say.
func (e *Exporter) own(all []Target, answers []answer, began time.Time) []byte {
	var b bytes.Buffer
	w := metrics.Writer{Writer: &b}
	w.Head("ramaria_exporter_build_info", "gauge", "The program; the value is always 1.")
	w.Sample("ramaria_exporter_build_info", 1, metrics.Label("version", e.Version), metrics.Label("revision", e.Commit))
	w.Head("ramaria_up", "gauge", "1 if the instance answers, 0 if it does not or is stopped.")
	for i, t := range all {
		up := 0.0
		if answers[i].text != nil {
			up = 1
		}
		if answers[i].err != nil {
			e.errors++
		}
		w.Sample("ramaria_up", up, metrics.Label("name", t.Name))
	}
	w.Head("ramaria_instance_phase", "gauge", "1 for the phase that the instance is in.")
	for _, t := range all {
		for _, phase := range phases {
			is := 0.0
			if phase == t.Phase {
				is = 1
			}
			w.Sample("ramaria_instance_phase", is, metrics.Label("name", t.Name), metrics.Label("phase", phase))
		}
	}
	w.Head("ramaria_exporter_answer_seconds", "gauge", "How long the instance took to answer.")
	for i, t := range all {
		if answers[i].took > 0 {
			w.Sample("ramaria_exporter_answer_seconds", answers[i].took.Seconds(), metrics.Label("name", t.Name))
		}
	}
	w.Counter("ramaria_exporter_errors_total", "How often an instance that runs did not answer.", float64(e.errors))
	w.Gauge("ramaria_exporter_scrape_seconds", "How long it took to ask all instances.", time.Since(began).Seconds())
	return b.Bytes()
}
