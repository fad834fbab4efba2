package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/volume"
)

// A ramfs has no limit that the kernel would keep: a server that goes on writing to one
// takes the whole machine's memory, which nothing but its end gives back. The brake
// keeps the limit instead: with little room left the server refuses to write, with
// none it is killed, to be recovered when there is room again. The others live on.
const (
	// brakeInterval is the time between two looks: a server writes 1 GB a second at most.
	brakeInterval = 100 * time.Millisecond
	// brakeRoom is the room, in bytes, below which the server is made read-only, and
	// releaseRoom that above which it may write again.
	brakeRoom, releaseRoom = 512 << 20, 768 << 20
	// lastRoom is the room below which it is killed.
	lastRoom = 128 << 20
	// brakeTime is how long the server may take to become read-only: statements that
	// write must end first.
	brakeTime = 2 * brakeInterval
)

// brake is what watches over a ramfs.
type brake struct {
	*Supervisor
	on bool
}

// brakes reports whether a volume needs one.
func brakes(v volume.Volume) bool { return v.Kind() == volume.Ramfs }

// look takes one look, and acts. Its warning is "" if there is nothing to say.
func (b *brake) look(ctx context.Context) (warning string, err error) {
	u, err := b.volume.Usage()
	if err != nil {
		return "", err
	}
	numbers := fmt.Sprintf("%s used, %s free, bound by %s", volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.Bound)
	switch {
	case u.Free < lastRoom:
		b.killedFor = fmt.Sprintf("killed, since volume %s is full: %s\nhint: make room (ramaria down another instance with --rm, ramaria image rm), then ramaria up %s", b.volume.Kind(), numbers, b.inst.Name)
		b.proc.Kill()
		return "", nil
	case u.Free < brakeRoom && !b.on:
		b.on = true // also if it fails: it is tried again below
		err = b.readOnly(ctx, true)
	case u.Free < brakeRoom:
		err = b.readOnly(ctx, true)
	case u.Free > releaseRoom && b.on:
		if err = b.readOnly(ctx, false); err == nil {
			b.on = false
		}
	}
	if b.on {
		warning = fmt.Sprintf("volume %s is nearly full: %s; the server is read-only until there is room\nhint: ramaria down another instance with --rm, or ramaria image rm", b.volume.Kind(), numbers)
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
