package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// Where clones share blocks, a full volume cannot take a write to a page that is there
// already, since it needs a block of its own: InnoDB then aborts, in every instance of
// the volume. A ramfs has no limit at all that the kernel would keep: a server that goes
// on writing to one takes the whole machine's memory.
//
// So in these volumes servers are made read-only while there is room left for what they
// still have to write. On a ramfs the last room is not given away at all: the server is
// killed, to be recovered when there is room again. The others live on.
const (
	// brakeInterval is the time between two looks: a server writes 1 GB a second at most.
	brakeInterval = 100 * time.Millisecond
	// brakeShare is the part of a volume, one in so many, below which servers are made
	// read-only; in bytes at least leastBrake, at most mostBrake. They may write again when
	// there is half as much more.
	brakeShare            = 8
	leastBrake, mostBrake = 64 << 20, 512 << 20
	// lastShare is the part of that below which a server is killed.
	lastShare = 4
	// brakeTime is how long the server may take to become read-only: statements that
	// write must end first.
	brakeTime = 2 * brakeInterval
)

// brake is what keeps a volume from becoming full.
type brake struct {
	*Supervisor
	// on says that there is too little room, held that the server obeys.
	on, held bool
	// before is whether the server was read-only by itself.
	before bool
	// pid is the server that on and held are about: a rewind starts another.
	pid int
}

// brakes reports whether a volume needs one.
func brakes(v volume.Volume) bool { return v.Kind() == volume.Ramfs || inRAM(v) && v.Shares() }

func inRAM(v volume.Volume) bool { return v.Kind() != volume.Disk }

// look takes one look, and acts. Its warning is "" if there is nothing to say.
func (b *brake) look(ctx context.Context) (warning string, err error) {
	u, err := b.volume.Usage()
	if err != nil {
		return "", err
	}
	numbers := fmt.Sprintf("%s used, %s free, bound by %s", volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.Bound)
	if pid := b.proc.PID(); pid != b.pid {
		b.on, b.held, b.pid = false, false, pid
	}
	room := min(max(u.Size/brakeShare, leastBrake), mostBrake)
	switch {
	case u.Free < room/lastShare && b.volume.Kind() == volume.Ramfs:
		b.killedFor = fmt.Sprintf("killed, since volume %s is full: %s\nhint: make room (ramaria down another instance with --rm, ramaria image rm), then ramaria up %s", b.volume.Kind(), numbers, b.inst.Name)
		b.proc.Kill()
		return "", nil
	case u.Free < room && !b.held:
		if !b.on {
			// One that is so already stays so when there is room again.
			if err := b.db.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&b.before); err != nil {
				return "", err
			}
		}
		b.on = true
		err = b.readOnly(ctx, true)
		b.held = err == nil // else it is tried again
	case u.Free > room+room/2 && b.on:
		if err = b.readOnly(ctx, b.before); err == nil {
			b.on, b.held = false, false
		}
	}
	if b.on {
		warning = fmt.Sprintf("volume %s is nearly full: %s; the server is read-only until there is room\nhint: ramaria down another instance with --rm, ramaria image rm, or a larger volume (ramaria volume grow %s SIZE)", b.volume.Kind(), numbers, b.volume.Kind())
	}
	return warning, err
}

func (b *brake) readOnly(ctx context.Context, on bool) error {
	ctx, cancel := context.WithTimeout(ctx, brakeTime)
	defer cancel()
	value := 0
	if on {
		value = 1
	}
	if _, err := b.db.ExecContext(ctx, fmt.Sprintf("SET GLOBAL read_only=%d", value)); err != nil {
		return fmt.Errorf("set read_only=%d: %w", value, err)
	}
	return nil
}

// crashReason is why the server ended, in the words of state.json.
func (s *Supervisor) crashReason(cause string) string {
	if s.killedFor != "" {
		return s.killedFor
	}
	return "the server died: " + cause
}
