package report

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// heldResult has two panels: servers and threads over the writes of a disk.
func heldResult() runner.Result {
	r := runner.Result{
		Scenario: "durable", Title: "transactions of sysbench, by what a power failure may take", Unit: runner.PerSecond, XName: "writes a second of the disk",
		Beside: []runner.Measure{{Name: "p99 latency", Unit: runner.Seconds}},
	}
	for _, panel := range []string{"oltp_update_index", "oltp_write_only"} {
		for t, threads := range []string{"1 thread", "8 threads", "32 threads"} {
			for i, x := range []float64{500, 3000, 40000} {
				base := fmt.Sprintf("stock, %s, %s, %g", panel, threads, x)
				for s, server := range []string{"stock", "by hand", "ramaria --durable"} {
					row := rowWith(r.Unit, fmt.Sprintf("%s, %s, %s, %g", server, panel, threads, x), float64(100*(i+1)*(t+1)*(s+1)))
					row.Series, row.X, row.Panel, row.Base, row.Ours = server+", "+panel+", "+threads, x, panel, base, s == 2
					row.Beside = map[string]float64{"p99 latency": 0.1 / float64(s+i+1)}
					r.Rows = append(r.Rows, row)
				}
			}
		}
	}
	return compare(r)
}

// TestPanels: each panel is drawn by its ratios, without what they are to, and has its latencies below.
func TestPanels(t *testing.T) {
	r := heldResult()
	plots := Plots(&r)
	var names []string
	for _, p := range plots {
		names = append(names, p.Name)
	}
	want := []string{`median rate, times that of "stock", oltp_update_index`, "p99 latency, oltp_update_index", `median rate, times that of "stock", oltp_write_only`, "p99 latency, oltp_write_only"}
	if strings.Join(names, "; ") != strings.Join(want, "; ") {
		t.Fatalf("the plots are %q, want %q", names, want)
	}
	var b strings.Builder
	b.Write(svgOf(t, plots[0]))
	golden(t, "panel.svg", []byte(b.String()))
	for text, there := range map[string]bool{"ramaria": true, "stock, 8": false, ">500<": true, ">3000<": true, ">40000<": true} {
		if strings.Contains(b.String(), text) != there {
			t.Errorf("%q is in the plot: %t", text, !there)
		}
	}
	b.Reset()
	if err := Bars(&b, &r, 80, false); err != nil {
		t.Fatal(err)
	}
	golden(t, "panel.txt", []byte(b.String()))
	if !strings.HasPrefix(b.String(), "Ratio by writes a second of the disk\n") || strings.Contains(strings.SplitN(b.String(), "Median rate", 2)[0], "stock") {
		t.Errorf("there is no table of ratios\n%s", b.String())
	}
	golden(t, "panel-p99.svg", svgOf(t, plots[1]))
}

func svgOf(t *testing.T, p Plot) []byte {
	t.Helper()
	var b strings.Builder
	if err := WriteSVG(io.Writer(&b), p); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}
