package supervisor

import (
	"maps"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/metrics"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// writeDurableMetrics writes how a durable instance keeps its promise. Nothing in it waits for the archive's disk.
func (s *Supervisor) writeDurableMetrics(w metrics.Writer) error {
	k := s.keeper
	if k == nil {
		return nil
	}
	_, interval := s.inst.Spec.Durability()
	w.Gauge("ramaria_durable_interval_seconds", "How old an acknowledged commit may be that a power cut takes; 0 where none is lost.", interval.Seconds())
	bytes, waited, err := k.Lag()
	if err != nil {
		return err
	}
	w.Gauge("ramaria_durable_lag_bytes", "How much of the log is not archived yet.", float64(bytes))
	w.Gauge("ramaria_durable_lag_seconds", "How long at most the oldest of that has waited.", waited.Seconds())
	w.Gauge("ramaria_durable_stuck", "1 while the log cannot be archived: commits wait.", truth(k.Trouble() != nil))
	w.Gauge("ramaria_durable_blind", "1 while a session may commit what the log does not have, and what a power cut takes.", truth(s.blindSince() != nil))
	writePace(w, k.Pace())
	if err := writeFenceMetrics(w, k); err != nil {
		return err
	}
	w.Counter("ramaria_durable_base_backups_total", "Base backups that were made.", float64(s.counters.bases.Load()))
	if err := writeBucketMetrics(w, &s.inst.Record); err != nil {
		return err
	}
	st := s.standing.Load()
	if st == nil { // the archivist has yet to look
		return nil
	}
	w.Gauge("ramaria_durable_base_backups", "How many base backups the archive has.", float64(st.Bases))
	w.Gauge("ramaria_durable_base_backup_timestamp_seconds", "When the newest base backup was made.", unixTime(st.Newest.Time))
	w.Gauge("ramaria_durable_base_backup_failed", "1 if the last attempt at a base backup has failed.", truth(st.BaseFailed))
	w.Gauge("ramaria_durable_since_base_bytes", "How much log there is behind the newest base backup.", float64(st.Since))
	w.Gauge("ramaria_durable_recovery_seconds", "How long a recovery would take.", st.Recovery.Seconds())
	w.Gauge("ramaria_durable_recover_within_seconds", "How long it may take (--recover-within).", st.Within.Seconds())
	w.Gauge("ramaria_durable_verified_timestamp_seconds", "When what the archive gives was last compared with the instance; 0 for never.", unixTime(st.Verified))
	w.Gauge("ramaria_durable_verification_failed", "1 if the last attempt at that has failed.", truth(st.VerifyFailed))
	w.Gauge("ramaria_durable_archive_free_bytes", "What can still be written to the archive.", float64(st.Room))
	w.Gauge("ramaria_durable_archive_used_bytes", "What the archive takes on its disk; measured once a minute.", float64(st.Used))
	w.Counter("ramaria_durable_breaches_total", "How often the server was set so that commits could be lost.", float64(st.Breached))
	return nil
}

// writePace writes whether commits are slowed, so that no more than an interval of them is lost.
func writePace(w metrics.Writer, p shipper.Pace) {
	w.Gauge("ramaria_durable_ahead_bytes", "By how much log commits may be ahead of the archive; those behind that wait. 0 where none is lost.", float64(p.Budget))
	w.Gauge("ramaria_durable_slowed", "1 while commits wait for the archive's disk, so that no more than the interval is lost.", truth(!p.Since.IsZero()))
	w.Counter("ramaria_durable_slowed_seconds_total", "For how long commits had to wait for that.", p.Slowed.Seconds())
}

// writeFenceMetrics writes how many statements wait, and have waited, for a base backup.
func writeFenceMetrics(w metrics.Writer, k *durable.Keeper) error {
	open, kinds := k.Fences()
	waited := 0.0
	if len(open) > 0 {
		waited = time.Since(open[0].Seen).Seconds()
	}
	w.Gauge("ramaria_durable_fences_waiting", "How many statements wait for a base backup, since the log may not repeat them.", float64(len(open)))
	w.Gauge("ramaria_durable_fences_waiting_seconds", "How long the first of them has waited.", waited)
	w.Head("ramaria_durable_fences_total", "counter", "How many statements have waited for a base backup, by kind.")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		w.Sample("ramaria_durable_fences_total", float64(kinds[kind]), metrics.Label("kind", kind))
	}
	return nil
}

// writeBucketMetrics writes how far copies of the archive are behind it.
func writeBucketMetrics(w metrics.Writer, r *instance.Record) error {
	list, err := durable.Buckets(r, "")
	if err != nil || len(list) == 0 {
		return err
	}
	w.Head("ramaria_durable_bucket_lag_seconds", "gauge", "How long the oldest of what a bucket lacks has waited.")
	for _, b := range list {
		w.Sample("ramaria_durable_bucket_lag_seconds", b.LagSeconds, metrics.Label("bucket", b.URL))
	}
	w.Head("ramaria_durable_bucket_failed", "gauge", "1 if the last attempt at a bucket has failed.")
	for _, b := range list {
		w.Sample("ramaria_durable_bucket_failed", truth(b.Error != ""), metrics.Label("bucket", b.URL))
	}
	return nil
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// unixTime is a time as Prometheus has it, 0 for none.
func unixTime(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}
