package scenario

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Options narrow or widen what the scenarios measure. The zero value is the standard.
type Options struct {
	// Places are those that servers are put in, as --place names them; none are those that a
	// scenario chooses itself.
	Places []string
	// Volumes are the volumes of ramaria's own rows; none is the one that `up` would choose.
	Volumes []volume.Kind
	// Threads are those of the oltp scenario; none are powers of 2 up to 64.
	Threads []int
	// Scale multiplies numbers of rows and sizes; 0 is 1.
	Scale float64
	// Dump is the user's own, "" for the generated one.
	Dump string
	// Quick leaves out what takes minutes to prepare, and makes the rest small.
	Quick bool
	// Flags are the others that were typed, for commands that repeat a row: " --rounds 5".
	Flags string
}

// quickScale is what a quick run makes of sizes.
const quickScale = 0.05

// scaled is a number of rows at the scale that was asked for, less in a quick run, at least 1.
func (o Options) scaled(n int) int {
	if o.Quick {
		return o.sized(float64(n) * quickScale)
	}
	return o.sized(float64(n))
}

// sized is scaled for what is quick as it is.
func (o Options) sized(n float64) int {
	if o.Scale > 0 {
		n *= o.Scale
	}
	return max(int(n), 1)
}

// place is where a server keeps its data, with the settings that go with it.
type place struct {
	name string // as --place has it
	row  string // as tables have it
	says string // settings in words
	// ramaria says that the server is an instance of ramaria's on volume kind; else one
	// with stock settings, set up by hand in a directory of parent.
	ramaria bool
	kind    volume.Kind
	parent  func(*Lab) (string, error)
	// set are settings over those.
	set map[string]string
	// logOff starts the instance without a binary log.
	logOff bool
	// rate is how many I/O operations a second the disk is made to give, 0 for all it has.
	rate int
}

func onDisk(l *Lab) (string, error) { return l.Dir, nil }

// inShm is a directory in shared memory that is the lab's own. A container may have so
// little of it that no server fits.
func inShm(l *Lab) (string, error) {
	v, err := l.fitting(context.Background(), volume.Shm)
	if err != nil {
		return "", err
	}
	room, err := v.Usage()
	if err := errors.Join(err, v.Close()); err != nil {
		return "", err
	}
	if need := l.freshBytes(); room.Free < need {
		return "", fmt.Errorf("%w: %s has room for %s, and a stock server takes up to %s", bench.ErrUnavailable, v.Dir(), bench.Bytes.Format(float64(room.Free)), bench.Bytes.Format(float64(need)))
	}
	return v.Dir(), nil
}

// fitting opens a volume of the lab; one that this machine or user cannot have is
// ErrUnavailable.
func (l *Lab) fitting(ctx context.Context, kind volume.Kind) (volume.Volume, error) {
	v, err := l.volume(ctx, kind)
	if errors.Is(err, volume.ErrUnfit) || kind == volume.Shm && errors.Is(err, fs.ErrNotExist) { // not every machine has a /dev/shm
		err = fmt.Errorf("%w: %w", bench.ErrUnavailable, err)
	}
	return v, err
}

// Names of the standard places, as --place has them.
const (
	placeDisk        = "disk"
	placeRelaxed     = "disk-relaxed"
	placeRAMByHand   = "shm-by-hand"
	PlaceRamaria     = "ramaria"
	placeRamariaDisk = "ramaria-disk"
	PlaceLogOff      = "ramaria-log-off"
	placeEmulated    = "emulated:"
)

// relaxed are the settings by which a server leaves it to the system when to write.
func relaxed() map[string]string {
	return map[string]string{"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}
}

// PlaceNames are the places that --place takes.
func PlaceNames() []string {
	return []string{placeDisk, placeRelaxed, placeRAMByHand, PlaceRamaria, PlaceLogOff, placeRamariaDisk, placeEmulated + "OPERATIONS"}
}

// CheckPlaces returns an error if a name of a place is none.
func CheckPlaces(names []string) error {
	for _, name := range names {
		if _, err := placeNamed(name); err != nil {
			return err
		}
	}
	return nil
}

func placeNamed(name string) (place, error) {
	p := place{name: name}
	switch name {
	case placeDisk:
		p.row, p.says, p.parent = "stock, disk", "stock settings", onDisk
	case placeRelaxed:
		p.row, p.says, p.parent, p.set = "relaxed, disk", "stock settings but flush_log_at_trx_commit=2, sync_binlog=0", onDisk, relaxed()
	case placeRAMByHand:
		p.row, p.says, p.parent = "stock, /dev/shm", "stock settings, data directory in shared memory, by hand", inShm
	case PlaceRamaria:
		p.row, p.says, p.ramaria = "ramaria", "ramaria's settings, supervised, with a binary log and a small redo log, which cost what this row loses to /dev/shm by hand: --log off has neither", true
	case PlaceLogOff:
		p.row, p.says, p.ramaria, p.logOff = "ramaria, --log off", "ramaria's settings, supervised, without a binary log (--log off): nothing can be reset", true, true
	case placeRamariaDisk:
		p.row, p.says, p.ramaria, p.kind = "ramaria's settings, disk", "ramaria's settings, supervised, on disk, which it does not wait for", true, volume.Disk
	default:
		rate, err := strconv.Atoi(strings.TrimPrefix(name, placeEmulated))
		if !strings.HasPrefix(name, placeEmulated) || err != nil || rate < bench.MinRate {
			return place{}, fmt.Errorf("use place %q: it is none\nhint: %s (%d or more)", name, strings.Join(PlaceNames(), ", "), bench.MinRate)
		}
		p.row, p.says = fmt.Sprintf("stock, disk EMULATED %d io/s", rate), fmt.Sprintf("stock settings, the disk held to %d operations a second each way, in bursts; what is left in the page cache and the file system's journal escape that", rate)
		p.parent, p.rate = onDisk, rate
	}
	return p, nil
}

// chosen returns the places that the user asked for, or the named ones, of which ramaria's are
// there once for each volume.
func (l *Lab) chosen(ctx context.Context, names ...string) []place {
	if len(l.Options.Places) > 0 {
		names = l.Options.Places
	}
	var list []place
	for _, name := range Unique(names) {
		p, err := placeNamed(name)
		if err != nil {
			continue // CheckPlaces has told
		}
		if !p.ramaria || p.kind != "" {
			list = append(list, p)
			continue
		}
		for _, kind := range l.ramKinds(ctx) {
			p.kind, p.row = kind, "ramaria, "+string(kind)
			if p.logOff {
				p.row += ", --log off"
			}
			list = append(list, p)
		}
	}
	return list
}

// ramKinds are the volumes of ramaria's rows.
func (l *Lab) ramKinds(ctx context.Context) []volume.Kind {
	if len(l.Options.Volumes) > 0 {
		return Unique(l.Options.Volumes)
	}
	kind, err := l.ramKind(ctx)
	if err != nil {
		kind = volume.Shm // which says why it cannot be
	}
	return []volume.Kind{kind}
}

// Unique leaves out what was there before: rows have names of their own.
func Unique[T comparable](list []T) []T {
	var once []T
	for _, v := range list {
		if !slices.Contains(once, v) {
			once = append(once, v)
		}
	}
	return once
}

// with returns the place with further settings; how the row is called then is the caller's.
func (p place) with(set map[string]string) place {
	all := maps.Clone(p.set)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, set)
	p.set = all
	for _, name := range slices.Sorted(maps.Keys(set)) {
		p.says += ", " + name + "=" + set[name]
	}
	return p
}
