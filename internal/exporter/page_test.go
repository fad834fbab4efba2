package exporter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const one = `# HELP a_total Of each.
# TYPE a_total counter
a_total 1
# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_bucket{le="1"} 1
b_seconds_bucket{le="+Inf"} 1
b_seconds_sum 0.5
b_seconds_count 1
# HELP info What.
# TYPE info gauge
info{name="x",flavour="a{b} c"} 1
`

func TestPage(t *testing.T) {
	p := newPage()
	p.add([]byte(one), "x")
	p.add([]byte(strings.ReplaceAll(one, `name="x"`, `name="y"`)), "y")
	const text = `# HELP a_total Of each.
# TYPE a_total counter
a_total{name="x"} 1
a_total{name="y"} 1
# HELP b_seconds How long.
# TYPE b_seconds histogram
b_seconds_bucket{name="x",le="1"} 1
b_seconds_bucket{name="x",le="+Inf"} 1
b_seconds_sum{name="x"} 0.5
b_seconds_count{name="x"} 1
b_seconds_bucket{name="y",le="1"} 1
b_seconds_bucket{name="y",le="+Inf"} 1
b_seconds_sum{name="y"} 0.5
b_seconds_count{name="y"} 1
# HELP info What.
# TYPE info gauge
info{name="x",flavour="a{b} c"} 1
info{name="y",flavour="a{b} c"} 1
`
	open := strings.NewReplacer("# HELP a_total", "# HELP a", "# TYPE a_total", "# TYPE a", `le="1"`, `le="1.0"`).Replace(text) + "# EOF\n"
	for name, want := range map[string]string{"text": text, "OpenMetrics": open} {
		var b strings.Builder
		if err := p.write(&b, name == "OpenMetrics"); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, b.String()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestWantsOpen(t *testing.T) {
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "text/plain": false, "application/openmetrics-text": true,
		"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1": true,
		"application/openmetrics-text;version=0.0.1": false, "application/openmetrics-text;version=1.0.0;q=0": false,
	} {
		if got := wantsOpen(accept); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}
