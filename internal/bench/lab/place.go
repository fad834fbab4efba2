package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Place is where a server keeps its data, with the settings that go with it.
type Place struct {
	Name  string // as --place has it
	Row   string // as tables have it
	About string // settings in words
	// ramaria says that the server is an instance of ramaria's on volume kind; else one
	// with stock settings, set up by hand in a directory of parent.
	Ramaria bool
	Kind    volume.Kind
	Parent  func(*Lab) (string, error)
	// set are settings over those.
	Set map[string]string
	// LogOff starts the instance without a binary log.
	LogOff bool
	// Durable is what --durable says of the instance, "" for nothing. Its archive is on the disk.
	Durable string
	// SyncedLog says that a stock server syncs each commit, and keeps a binary log on the disk.
	SyncedLog bool
	// rate is how many I/O operations a second the disk is made to give, 0 for all it has.
	Rate int
}

// DiskDir is a directory on the disk that is measured.
func DiskDir(l *Lab) (string, error) { return l.Dir, nil }

// ShmDir is a directory in shared memory that is the lab's own. A container may have so
// little of it that no server fits.
func ShmDir(l *Lab) (string, error) {
	v, err := l.AvailableVolume(context.Background(), volume.Shm)
	if err != nil {
		return "", err
	}
	room, err := v.Usage()
	if err := errors.Join(err, v.Close()); err != nil {
		return "", err
	}
	if need := l.FreshBytes(); room.Free < need {
		return "", fmt.Errorf("%w: %s has room for %s, and a stock server takes up to %s", runner.ErrUnavailable, v.Dir(), runner.Bytes.Format(float64(room.Free)), runner.Bytes.Format(float64(need)))
	}
	return v.Dir(), nil
}

// Names of the standard places, as --place has them.
const (
	PlaceDisk        = "disk"
	PlaceRelaxed     = "disk-relaxed"
	PlaceRAMByHand   = "shm-by-hand"
	PlaceRAMRelaxed  = "shm-relaxed"
	PlaceRamaria     = "ramaria"
	PlaceRamariaDisk = "ramaria-disk"
	PlaceLogOff      = "ramaria-log-off"
	PlaceEmulated    = "emulated:"
)

// relaxed are the settings by which a server leaves it to the system when to write.
func relaxed() map[string]string {
	return map[string]string{"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}
}

// relaxedInRAM are the settings that people give a server whose data may be lost at any time.
func relaxedInRAM() map[string]string {
	return map[string]string{"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0", "innodb_doublewrite": "OFF"}
}

// PlaceNames are the places that --place takes.
func PlaceNames() []string {
	return []string{PlaceDisk, PlaceRelaxed, PlaceRAMByHand, PlaceRAMRelaxed, PlaceRamaria, PlaceLogOff, PlaceRamariaDisk, PlaceEmulated + "OPERATIONS"}
}

// CheckPlaces returns an error if a name of a place is none.
func CheckPlaces(names []string) error {
	for _, name := range names {
		if _, err := PlaceNamed(name); err != nil {
			return err
		}
	}
	return nil
}

// PlaceNamed is the place of a name, as --place has it.
func PlaceNamed(name string) (Place, error) {
	p := Place{Name: name}
	switch name {
	case PlaceDisk:
		p.Row, p.About, p.Parent = "stock, disk", "stock settings", DiskDir
	case PlaceRelaxed:
		p.Row, p.About, p.Parent, p.Set = "relaxed, disk", "stock settings but flush_log_at_trx_commit=2, sync_binlog=0", DiskDir, relaxed()
	case PlaceRAMByHand:
		p.Row, p.About, p.Parent = "stock, /dev/shm", "stock settings, data directory in shared memory, by hand", ShmDir
	case PlaceRAMRelaxed:
		p.Row, p.About, p.Parent, p.Set = "relaxed, /dev/shm", "flush_log_at_trx_commit=0, sync_binlog=0, no doublewrite buffer, data directory in shared memory, by hand", ShmDir, relaxedInRAM()
	case PlaceRamaria:
		p.Row, p.About, p.Ramaria = "ramaria", "ramaria's settings, supervised, with a binary log and a small redo log, which cost what this row loses to /dev/shm by hand: --log off has neither", true
	case PlaceLogOff:
		p.Row, p.About, p.Ramaria, p.LogOff = "ramaria, --log off", "ramaria's settings, supervised, without a binary log (--log off): nothing can be reset", true, true
	case PlaceRamariaDisk:
		p.Row, p.About, p.Ramaria, p.Kind = "ramaria's settings, disk", "ramaria's settings, supervised, on disk, which it does not wait for", true, volume.Disk
	default:
		rate, err := strconv.Atoi(strings.TrimPrefix(name, PlaceEmulated))
		if err != nil || rate < runner.MinRate || name != PlaceEmulated+strconv.Itoa(rate) { // written in one way, so that it is one place
			return Place{}, fmt.Errorf("use place %q: it is none\nhint: %s (%d or more)", name, strings.Join(PlaceNames(), ", "), runner.MinRate)
		}
		p.Row, p.About = fmt.Sprintf("stock, disk EMULATED %d io/s", rate), fmt.Sprintf("stock settings, the disk held to %d operations a second each way, in bursts; what is left in the page cache and the file system's journal escape that", rate)
		p.Parent, p.Rate = DiskDir, rate
	}
	return p, nil
}

// Places returns the places that the user asked for, or the named ones, of which ramaria's are
// there once for each volume.
func (l *Lab) Places(ctx context.Context, names ...string) []Place {
	if len(l.Options.Places) > 0 {
		names = l.Options.Places
	}
	return l.PlacesNamed(ctx, names...)
}

// PlacesNamed are the named places, whatever the user asked for.
func (l *Lab) PlacesNamed(ctx context.Context, names ...string) []Place {
	var list []Place
	for _, name := range Unique(names) {
		p, err := PlaceNamed(name)
		if err != nil {
			continue // CheckPlaces has told
		}
		if !p.Ramaria || p.Kind != "" {
			list = append(list, p)
			continue
		}
		for _, kind := range l.ramKinds(ctx) {
			p.Kind, p.Row = kind, "ramaria, "+string(kind)
			if p.LogOff {
				p.Row += ", --log off"
			}
			list = append(list, p)
		}
	}
	return list
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

// With returns the place with further settings; how the row is called then is the caller's.
func (p Place) With(set map[string]string) Place {
	all := maps.Clone(p.Set)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, set)
	p.Set = all
	for _, name := range slices.Sorted(maps.Keys(set)) {
		p.About += ", " + name + "=" + set[name]
	}
	return p
}

// ByHandInRAM says that it is a plain server with its data directory in shared memory.
func (p Place) ByHandInRAM() bool { return p.Name == PlaceRAMByHand || p.Name == PlaceRAMRelaxed }

// InRAM says that what a server writes here goes to memory, a block device or not.
func (p Place) InRAM() bool {
	return p.ByHandInRAM() || p.Ramaria && p.Kind != volume.Disk
}

// NotInRAM is the opposite of ramPlace.
func NotInRAM(p Place) bool { return !p.InRAM() }

// RepeatCommand is the command that repeats a row of a place.
func (l *Lab) RepeatCommand(scenario string, p Place, more ...string) string {
	argv := []string{"ramaria bench", scenario + l.Options.Flags, "--place", p.Name}
	if p.Name == PlaceRamaria || p.Name == PlaceLogOff {
		argv = append(argv, "--volume", string(p.Kind))
	}
	argv = append(argv, more...)
	return strings.Join(argv, " ")
}
