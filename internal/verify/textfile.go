package verify

import (
	"strings"

	"github.com/ramaria-db/ramaria/internal/metrics"
)

// Metrics writes a report for the textfile collector of Prometheus' node_exporter. name is what the backup is called
// in all runs, whatever its file is called today.
func (r *Report) Metrics(name string) string {
	var b strings.Builder
	w := metrics.Writer{Writer: &b}
	label := metrics.Label("backup", name)
	gauge := func(metric, help string, value float64) {
		w.Head(metric, "gauge", help)
		w.Sample(metric, value, label)
	}
	truth := map[bool]float64{true: 1}
	gauge("ramaria_verify_success", "Whether the last verification found the backup good.", truth[r.Status == Good])
	gauge("ramaria_verify_restorable", "Whether the last verification could restore the backup.", truth[r.Status == Good || r.Status == Faulty])
	gauge("ramaria_verify_timestamp_seconds", "When the last verification began.", float64(r.Verified.Unix()))
	gauge("ramaria_verify_problems", "How many problems the last verification found.", float64(len(r.Problems)))
	if r.Status == Good || r.Status == Faulty {
		gauge("ramaria_verify_restore_seconds", "How long it took until a server answered with all data.", r.RestoreSeconds)
		gauge("ramaria_verify_check_seconds", "How long it took to check every table.", r.CheckSeconds)
		gauge("ramaria_verify_tables", "How many tables the backup has.", float64(len(r.Tables)))
		gauge("ramaria_verify_rows", "How many rows the backup has.", float64(r.Rows))
	}
	if r.LastChange != nil {
		gauge("ramaria_verify_last_change_timestamp_seconds", "When what the backup holds last changed, at the latest.", float64(r.LastChange.Unix()))
	}
	return b.String()
}
