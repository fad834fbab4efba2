package contract

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/exporter"
)

// at times are metrics that an instance has at times only: while its volume grows, while the machine swaps, on a wheatfs, or
// with a bucket. The other tests of metrics, and the scripts swap, room and wheatfs, have them.
var atTimes = []string{
	"ramaria_volume_full_in_seconds", "ramaria_data_swapped_bytes", "ramaria_server_swapped_bytes", "ramaria_tmpdir_ram_bytes",
	"ramaria_tmpdir_disk_bytes", "ramaria_durable_bucket_lag_seconds", "ramaria_durable_bucket_failed",
}

var metric = regexp.MustCompile(`\bramaria_[a-z_]+`)

// TestMonitoring finds every metric of the dashboard, the alerts and the Zabbix template on the page of an exporter with an
// ordinary and a durable instance.
func TestMonitoring(t *testing.T) {
	c, durable := instance(t), instance(t, "--durable")
	if _, err := c.PutTemplate(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	d, err := c.NewDatabase(t.Context(), client.DatabaseRequest{Template: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ResetDatabase(t.Context(), d.Name, client.RestoreCounters); err != nil {
		t.Fatal(err)
	}
	e := &exporter.Exporter{List: func() ([]exporter.Target, error) {
		return []exporter.Target{{Name: "shop", Phase: "running", Socket: c.Socket()}, {Name: "ledger", Phase: "running", Socket: durable.Socket()}, {Name: "old", Phase: "stopped"}}, nil
	}}
	defer e.Close()
	var page string
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { // the archivist and the watch have yet to look
		var b strings.Builder
		if err := e.Write(t.Context(), &b, false); err != nil {
			t.Fatal(err)
		}
		page = b.String()
		if strings.Contains(page, "\nramaria_durable_recovery_seconds{") && strings.Contains(page, "\nramaria_volume_level{") || time.Now().After(end) {
			break
		}
	}
	for _, want := range []string{`ramaria_up{name="shop"} 1`, `ramaria_up{name="ledger"} 1`, `ramaria_up{name="old"} 0`, `ramaria_instance_phase{name="old",phase="stopped"} 1`} {
		if !strings.Contains(page, "\n"+want+"\n") {
			t.Errorf("there is no %q", want)
		}
	}
	missing := func(text string) (list []string) {
		for _, name := range metric.FindAllString(text, -1) {
			if !slices.Contains(atTimes, name) && !strings.Contains(page, "\n"+name+"{") && !strings.Contains(page, "\n"+name+" ") {
				list = append(list, name)
			}
		}
		return list
	}
	if got := missing("rate(ramaria_server_querys_total[1m]) / ramaria_up"); !slices.Equal(got, []string{"ramaria_server_querys_total"}) {
		t.Errorf("of a misspelled metric it finds %q", got) // negative control
	}
	for _, name := range []string{"ramaria-dashboard.json", "ramaria-alerts.yml", "ramaria-alerts_test.yml", "zabbix-template.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "monitoring", name))
		if err != nil {
			t.Fatal(err)
		}
		if len(metric.FindAll(text, -1)) == 0 {
			t.Errorf("%s names no metric", name)
		}
		if list := missing(string(text)); len(list) > 0 {
			t.Errorf("%s: the page has no %q", name, list)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}
