package supervisor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/room"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// roomInterval is the least time between two writings of room.json while the level stays.
const roomInterval = 10 * time.Second

// roomOf is the room that a volume has for servers.
func roomOf(v volume.Volume, u volume.Usage) room.Room {
	r := room.Room{Used: u.Used, Free: u.Free, Least: fullRoom}
	if brakes(v) {
		r.Kept = brakeRoom(v, u)
	}
	return r
}

// RoomLevel says how full a volume is.
func RoomLevel(v volume.Volume, u volume.Usage) room.Level { return roomOf(v, u).Level() }

// RoomWarnings says in words when a volume is full, or nearly.
func RoomWarnings(v volume.Volume, u volume.Usage) []string {
	if level := RoomLevel(v, u); level >= room.Warning {
		return []string{roomText(level, v, u)}
	}
	return nil
}

// roomText says of a level from Notice on what goes on and what to do.
func roomText(level room.Level, v volume.Volume, u volume.Usage) string {
	r := roomOf(v, u)
	numbers := fmt.Sprintf("%s used, %s free, bound by %s", volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.BoundBy())
	if level == room.Full {
		return fmt.Sprintf("volume %s is full: %s; writes fail or wait until there is room\nhint: %s", v.Kind(), numbers, moreRoom(v, u))
	}
	then := "writes fail when it is full"
	if r.Kept > 0 {
		then = fmt.Sprintf("below %s its servers become read-only", volume.FormatBytes(r.Kept))
		if level == room.Last {
			then = fmt.Sprintf("its servers are about to become read-only, when less than %s are free", volume.FormatBytes(r.Kept))
		}
	}
	return fmt.Sprintf("volume %s is %d %% full: %s; %s\nhint: %s", v.Kind(), percent(r), numbers, then, moreRoom(v, u))
}

// percent is the share that is used, rounded down, so that 90 is said from 90 on.
func percent(r room.Room) int { return int(100*r.Share() + 1e-9) }

// moreRoom is how there will be more.
func moreRoom(v volume.Volume, u volume.Usage) string {
	return strings.Join(lessUse(v), ", ") + ", or " + larger(v, u)
}

// lessUse is what makes room in a volume.
func lessUse(v volume.Volume) []string {
	ways := []string{"ramaria down another instance with --rm"}
	if images := volume.FreesImages(v.Dir()); images != "" {
		ways = append(ways, images)
	}
	return ways
}

// larger says how what binds is raised.
func larger(v volume.Volume, u volume.Usage) string {
	switch {
	case v.Kind().Mounted() && (u.Bound == volume.ByLimit || u.Bound == volume.ByFilesystem):
		return fmt.Sprintf("a larger volume (ramaria volume grow %s SIZE)", v.Kind())
	case v.Kind() == volume.Shm && u.Bound == volume.ByFilesystem:
		return "a larger /dev/shm (mount -o remount,size=SIZE /dev/shm as root, docker run --shm-size)"
	case u.Bound == volume.ByMemory:
		return "give the machine more memory"
	case u.Bound == volume.ByCgroup:
		return "raise the control group's limit (docker run --memory, systemd MemoryMax)"
	}
	return "raise what binds"
}

// lookAtRoom settles what there is to say about the room in the volume. The words hold numbers
// that change with every write: they stay until the level is another.
func (w *watch) lookAtRoom(now time.Time) error {
	u, err := w.usage()
	if err != nil {
		return err
	}
	w.used = u.Used
	r, was := roomOf(w.volume, u), w.gauge.Level()
	level := w.gauge.Set(r)
	if level != was {
		w.room = ""
		if level > room.Ample {
			w.room = roomText(level, w.volume, u)
		}
	}
	if level != was {
		w.recount() // whoever reads of it wants to know
	} else if now.Sub(w.roomTold) < roomInterval && w.contents.Load() == w.contentsTold {
		return nil
	}
	if w.kept.of != u.Used || w.kept.bytes == 0 { // else nothing was written
		logs, err := keptLogs(w.volume.Dir())
		if err != nil {
			return err
		}
		w.kept.of, w.kept.bytes = u.Used, logs
	}
	w.sample(now, u.Used-w.kept.bytes)
	return w.tellRoom(now, u, r, level)
}

// sample notes how much is used. All supervisors of a volume put their samples into one file, so that
// they foretell the same of it, whichever began when. Where there is no room to write it, each has its own.
func (w *watch) sample(now time.Time, used int64) {
	var of []room.Sample
	if instance.ReadJSON(volume.SamplesPath(w.volume), &of) == nil {
		w.growth.Merge(of, now)
	}
	w.growth.Add(now, used)
	if all := w.growth.Samples(); !w.gone() && !slices.EqualFunc(all, of, func(a, b room.Sample) bool { return a.Bytes == b.Bytes && a.At.Equal(b.At) }) {
		_ = volume.SaveSamples(w.volume, all)
	}
}

// usage is the room in the volume, as the brake has just read it if that is good enough: it must not be
// fuller than is known.
func (w *watch) usage() (volume.Usage, error) {
	enough := func(r volume.Reading) bool { return roomOf(w.volume, r.Worst).Level() <= w.gauge.Level() }
	if r := w.read; r != nil && enough(*r) {
		return r.Usage, nil
	}
	r, err := w.meter.Read(enough)
	return r.Usage, err
}

// tellRoom writes room.json.
func (w *watch) tellRoom(now time.Time, u volume.Usage, r room.Room, level room.Level) error {
	told := &client.Room{
		At: now, Level: level.String(), UsedPercent: percent(r), UsedBytes: u.Used, FreeBytes: u.Free, KeptBytes: r.Kept, Bound: string(u.Bound), Cgroup: cgroupOf(u),
		GrowthBytesPerHour: w.growth.PerHour(), Contents: w.contents.Load(), Swap: w.swapped.Load(),
	}
	if in, ok := room.FullIn(r.Left(), told.GrowthBytesPerHour); ok {
		seconds := in.Seconds()
		told.FullSeconds = &seconds
	}
	w.roomTold, w.contentsTold = now, told.Contents
	w.countOOM()
	w.swaps = swapsNow(told.Swap, w.swaps)
	if used := (host.Host{}).SwapUsed(); max(used-w.swapSeen, w.swapSeen-used) >= leastSwapped || (used == 0) != (w.swapSeen == 0) {
		w.swapSeen = used
		w.recount()
	}
	w.Supervisor.room.Store(told)
	if w.gone() {
		return nil
	}
	return instance.WriteJSON(w.inst.RoomPath(), told)
}

// cgroupOf is the control group that binds, nil if none does.
func cgroupOf(u volume.Usage) *client.Cgroup {
	if u.Bound != volume.ByCgroup {
		return nil
	}
	return &client.Cgroup{Path: u.Cgroup.Path, LimitBytes: u.Cgroup.Limit}
}

// keptLogs is what the binary logs in a volume take that come and go: the files that are always
// kept, and the one that is about to be purged. Whatever is beyond these grows.
func keptLogs(dir string) (bytes int64, err error) {
	all, err := sys.Glob(filepath.Join(dir, "instances"), "*")
	if err != nil {
		return 0, err
	}
	for _, i := range all {
		n, err := binlog.Size(filepath.Join(i, "data"), server.BinlogName)
		if err != nil {
			return 0, err
		}
		bytes += min(n, (keepBinlogs+1)*server.BinlogFileSize)
	}
	return bytes, nil
}

// grows puts growth in words: +420 MB an hour, full in 3 h 20 min at this rate.
func grows(r client.Room) string {
	text := "+" + volume.FormatBytes(r.GrowthBytesPerHour) + " an hour"
	if r.FullSeconds != nil {
		text += ", full in " + room.Say(time.Duration(*r.FullSeconds*float64(time.Second))) + " at this rate"
	}
	return text
}
