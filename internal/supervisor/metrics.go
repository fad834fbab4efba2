package supervisor

import (
	"io"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/metrics"
	"github.com/ramaria-db/ramaria/internal/room"
)

// writeMetrics writes what is known of the instance, besides its pool.
func (s *Supervisor) writeMetrics(to io.Writer) error {
	u, err := s.meter.Read(nil)
	if err != nil {
		return err
	}
	w := metrics.Writer{Writer: to}
	i := s.inst
	w.Head("ramaria_instance_info", "gauge", "The instance; the value is always 1.")
	w.Sample("ramaria_instance_info", 1, metrics.Label("name", i.Name), metrics.Label("flavour", string(i.Server.Flavour)),
		metrics.Label("version", i.Server.Version.String()), metrics.Label("volume", string(s.volume.Kind())))
	w.Gauge("ramaria_volume_size_bytes", "The limit of the volume, which instances share.", float64(u.Size))
	w.Gauge("ramaria_volume_used_bytes", "What the files of the volume hold.", float64(u.Used))
	w.Gauge("ramaria_volume_free_bytes", "What can still be written to the volume.", float64(u.Free))
	w.Gauge("ramaria_volume_read_only_below_bytes", "The free room below which servers become read-only; 0 for a volume on disk.", float64(roomOf(s.volume, u.Usage).Kept))
	if r := s.room.Load(); r != nil { // the watch has looked
		w.Gauge("ramaria_volume_level", "How full the volume is: 0 ample, 1 from 80 %, 2 from 90 %, 3 from 95 %, 4 full.", float64(room.Parse(r.Level)))
		w.Gauge("ramaria_volume_growth_bytes_per_second", "By how much the use of the volume grows; 0 if it does not.", float64(r.GrowthBytesPerHour)/time.Hour.Seconds())
		if r.FullSeconds != nil {
			w.Gauge("ramaria_volume_full_in_seconds", "When the volume will be full at that rate; absent while it does not grow.", *r.FullSeconds)
		}
	}
	if swap := s.swapped.Load(); swap != nil {
		if swap.FilesBytes != nil {
			w.Gauge("ramaria_data_swapped_bytes", "How much of the instance's data is swapped out; absent while nothing on the machine is.", float64(*swap.FilesBytes))
		}
		w.Gauge("ramaria_server_swapped_bytes", "How much of the server's own memory is swapped out; absent while nothing on the machine is.", float64(swap.ServerBytes))
	}
	st, err := i.State()
	if err != nil {
		return err
	}
	if rss, err := host.Resident(st.ServerPID); err == nil { // it may just have ended
		w.Gauge("ramaria_server_resident_bytes", "The memory that is resident of the server process.", float64(rss))
	}
	if t := st.TmpDir; t.Kind == string(tmpWheat) {
		w.Gauge("ramaria_tmpdir_ram_bytes", "What temporary files take of the memory.", float64(t.RAM))
		w.Gauge("ramaria_tmpdir_ram_limit_bytes", "What they may take of it now.", float64(t.Limit))
		w.Gauge("ramaria_tmpdir_disk_bytes", "What of them lies on the disk.", float64(t.Disk))
	}
	writeTraffic(w, s.trafficNow())
	w.Counter("ramaria_branches_total", "Branches that were made of the instance.", float64(s.counters.branches.Load()))
	w.Counter("ramaria_marks_total", "Marks that were made in the instance.", float64(s.counters.marks.Load()))
	w.Counter("ramaria_rewinds_total", "Rewinds to marks.", float64(s.counters.rewinds.Load()))
	if r := replicaNow(&i.Record); r != nil {
		w.Gauge("ramaria_replica_following", "1 if the replica follows its source; 0 if it has stopped, as where its volume is full, or cannot reach that.", truth(r.State == replicaFollows))
		if r.LagSeconds != nil {
			w.Gauge("ramaria_replica_lag_seconds", "By how much the replica is behind its source; absent where that is not known.", *r.LagSeconds)
		}
		w.Gauge("ramaria_replica_diverged", "1 if the replica may differ from its source.", truth(r.Diverged != nil))
	}
	return s.writeDurableMetrics(w)
}
