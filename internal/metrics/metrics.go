// Package metrics counts durations and writes measurements in the text format of
// Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/
//
// It is our own since the library, with what it depends on, costs each start of the
// program more than two milliseconds.
package metrics

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// buckets are the upper bounds of durations that are counted together, in seconds.
var buckets = [...]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, math.Inf(1)}

// Histogram counts durations. It is for one goroutine at a time.
type Histogram struct {
	counts [len(buckets)]uint64
	sum    float64
}

// Observe counts a duration.
func (h *Histogram) Observe(d time.Duration) {
	i, _ := slices.BinarySearch(buckets[:], d.Seconds())
	h.counts[i]++
	h.sum += d.Seconds()
}

// Count returns how many durations were observed.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.counts {
		n += c
	}
	return n
}

// Writer writes measurements.
type Writer struct{ io.Writer }

// Head begins a measurement: kind is gauge, counter or histogram. Its samples follow.
func (w Writer) Head(name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// Sample writes a value, with labels made by Label.
func (w Writer) Sample(name string, value float64, labels ...string) {
	all := ""
	if len(labels) > 0 {
		all = "{" + strings.Join(labels, ",") + "}"
	}
	fmt.Fprintf(w, "%s%s %v\n", name, all, value)
}

// Gauge writes a measurement of one sample.
func (w Writer) Gauge(name, help string, value float64) {
	w.Head(name, "gauge", help)
	w.Sample(name, value)
}

// Counter writes a measurement of one sample that only grows.
func (w Writer) Counter(name, help string, value float64) {
	w.Head(name, "counter", help)
	w.Sample(name, value)
}

// Histogram writes the samples of a histogram.
func (w Writer) Histogram(name string, h *Histogram, labels ...string) {
	var n uint64
	for i, bound := range buckets {
		n += h.counts[i]
		le := "+Inf"
		if !math.IsInf(bound, 1) {
			le = fmt.Sprint(bound)
		}
		w.Sample(name+"_bucket", float64(n), append(slices.Clip(labels), Label("le", le))...)
	}
	w.Sample(name+"_sum", h.sum, labels...)
	w.Sample(name+"_count", float64(n), labels...)
}

// Label is a label with its value, which may be any text.
func Label(name, value string) string {
	return name + `="` + escaper.Replace(value) + `"`
}

// escaper is made once: making it takes longer than what it does.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
