package supervisor

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/room"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// moveAgain is how long after a move that failed the next is tried.
	moveAgain = time.Minute
)

// moveSoon and stopSoon say when what --when-full asks for is done, before the brake makes servers read-only: a move
// must copy meanwhile, and a server that shuts down writes. The second part is for what others fill.
func moveSoon(v volume.Volume, u volume.Usage) bool {
	return RoomLevel(v, u) >= room.Warning || u.Free < 2*brakeRoom(v, u)
}

func stopSoon(v volume.Volume, u volume.Usage) bool {
	return RoomLevel(v, u) >= room.Last || u.Free < brakeRoom(v, u)*5/4
}

// guard does what --when-full asks for.
type guard struct {
	*Supervisor
	// failed is when a move failed, and why says so until one has not.
	failed time.Time
	why    string
	// done gets the result of a move; nil while there is none.
	done chan error
}

// look takes one look. It reports whether the server was shut down. Its warning is "" if there is nothing to say.
func (g *guard) look(ctx context.Context, u volume.Usage) (warning string, stopped bool) {
	if g.done != nil {
		select {
		case err := <-g.done:
			g.ended(ctx, err)
		default:
		}
	}
	if !moveSoon(g.volume, u) {
		g.why = ""
		return "", false
	}
	r, err := g.store.Registry.Get(g.inst.Name) // it can be changed while the instance runs
	if err != nil {
		return "", false
	}
	what := fmt.Sprintf("volume %s was nearly full: %s used, %s free, bound by %s", g.volume.Kind(), volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.BoundBy())
	switch {
	case r.Spec.WhenFull == instance.WhenFullStop && stopSoon(g.volume, u):
		g.stop(ctx, what, u)
		return "", true
	case r.Spec.WhenFull != instance.WhenFullMove:
		return "", false
	case g.done == nil && g.moving.Load() == nil && time.Since(g.failed) > moveAgain:
		g.move(ctx, what)
	}
	if g.done != nil {
		return fmt.Sprintf("%s; it is being moved to the disk (--when-full move)", what), false
	}
	return g.why, false
}

// move begins to move the instance to the disk.
func (g *guard) move(ctx context.Context, what string) {
	g.log.Warn("moving the instance to the disk (--when-full move)", "why", what)
	done := make(chan error, 1)
	g.done = done
	g.behind.Go(func() {
		_, err := g.Move(ctx, client.MoveRequest{Volume: string(volume.Disk)})
		if next := g.next.Load(); err == nil && next != nil {
			next.sayMoved(fmt.Sprintf("moved to volume %s at %s (--when-full move): %s", volume.Disk, time.Now().Format(time.DateTime), what))
		}
		done <- err
	})
}

// ended notes that a move has failed: one that has not ends this supervisor.
func (g *guard) ended(ctx context.Context, err error) {
	g.done = nil
	if err == nil || ctx.Err() != nil {
		return
	}
	g.log.Error("the instance cannot move to the disk (--when-full move)", "error", err)
	g.failed, g.why = time.Now(), fmt.Sprintf("it could not move to the disk (--when-full move), which is tried again: %v", err)
}

// stop shuts the server down.
func (g *guard) stop(ctx context.Context, what string, u volume.Usage) {
	g.stoppedFor = fmt.Sprintf("shut down (--when-full stop): %s\nhint: ramaria move %s --volume disk, or %s; then ramaria up %[2]s", what, g.inst.Name, moreRoom(g.volume, u))
	g.log.Warn(g.stoppedFor)
	if err := g.endServer(context.WithoutCancel(ctx)); err != nil {
		g.log.Error("the server did not shut down cleanly", "error", err)
	}
}

// sayMoved has state.json say why an instance was moved.
func (s *Supervisor) sayMoved(text string) {
	_ = s.do(context.Background(), func(context.Context, context.Context) error {
		s.state.Moved = text
		return s.saveState()
	})
}

// endServer shuts the server down cleanly, and says meanwhile that it does.
func (s *Supervisor) endServer(ctx context.Context) error {
	if err := s.enter(instance.State{Phase: instance.Stopping, SupervisorPID: os.Getpid(), ServerPID: s.proc.PID()}); err != nil {
		s.log.Error("cannot write state", "error", err)
	}
	s.closePool()
	s.drain(ctx)
	if files, err := binlog.Files(s.inst.DataDir(), server.BinlogName); err == nil && !s.noLog() {
		if err := s.lookAtLog(files); err != nil {
			s.log.Error("cannot look at the binary log", "error", err)
		}
	}
	if s.inst.WaitsFor != "" && !s.settleSynced(ctx) {
		// As below.
		s.killedFor = "commits waited for replica " + s.inst.WaitsFor + " when it was to stop: its server was killed, and recovers at its next start"
		s.log.Warn(s.killedFor)
		s.proc.Kill()
		return nil
	}
	if s.keeper != nil && !s.settleArchive(ctx) {
		// A server that shuts down answers the commits that wait, and these are not on disk.
		s.killedFor = "the log could not be archived when it was to stop: its server was killed, and recovers at its next start"
		if s.fenced() {
			s.killedFor = "a statement waited for a base backup when it was to stop: its server was killed, and has what the statement did at its next start"
		}
		s.log.Warn(s.killedFor)
		s.proc.Kill()
		return nil
	}
	return s.shutDown(ctx)
}
