package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/metrics"
)

func TestWriter(t *testing.T) {
	var b strings.Builder
	w := metrics.Writer{Writer: &b}
	var h metrics.Histogram
	for _, d := range []time.Duration{100 * time.Microsecond, 300 * time.Microsecond, time.Minute} {
		h.Observe(d)
	}
	w.Head("seconds", "histogram", "How long.")
	w.Histogram("seconds", &h, metrics.Label("way", "noop"))
	w.Gauge("bytes", "How many.", 5e9)
	w.Head("leases", "gauge", "Of each.")
	w.Sample("leases", 2, metrics.Label("template", "a\"b\\c\nd"))
	want := `# HELP seconds How long.
# TYPE seconds histogram
seconds_bucket{way="noop",le="0.0001"} 1
seconds_bucket{way="noop",le="0.00025"} 1
seconds_bucket{way="noop",le="0.0005"} 2
seconds_bucket{way="noop",le="0.001"} 2
seconds_bucket{way="noop",le="0.0025"} 2
seconds_bucket{way="noop",le="0.005"} 2
seconds_bucket{way="noop",le="0.01"} 2
seconds_bucket{way="noop",le="0.025"} 2
seconds_bucket{way="noop",le="0.05"} 2
seconds_bucket{way="noop",le="0.1"} 2
seconds_bucket{way="noop",le="0.25"} 2
seconds_bucket{way="noop",le="0.5"} 2
seconds_bucket{way="noop",le="1"} 2
seconds_bucket{way="noop",le="2.5"} 2
seconds_bucket{way="noop",le="10"} 2
seconds_bucket{way="noop",le="+Inf"} 3
seconds_sum{way="noop"} 60.0004
seconds_count{way="noop"} 3
# HELP bytes How many.
# TYPE bytes gauge
bytes 5e+09
# HELP leases Of each.
# TYPE leases gauge
leases{template="a\"b\\c\nd"} 2
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
