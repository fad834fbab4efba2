package supervisor

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// A server whose volume is full aborts: it writes into holes of its redo log and of its data
// files, and InnoDB gives up when it cannot. Where clones share blocks, even a write to a page
// that is there already needs a block of its own. A ramfs has no limit at all that the kernel
// would keep: a server that goes on writing to one takes the whole machine's memory.
//
// So servers in RAM are made read-only while there is room left for what they still have to
// write. On a ramfs the last room is not given away at all: the server is
// killed, to be recovered when there is room again. The others live on.
const (
	// brakeInterval is the least time between two looks. While there is more room than
	// could be written by then, at volume.Fastest by all that write there, the next look can wait, for
	// watchInterval at most.
	brakeInterval = 100 * time.Millisecond
	// brakeShare is the part of a volume, one in so many, below which servers are made
	// read-only; in bytes at least leastBrake, at most mostBrake. They may write again when
	// there is half as much more.
	brakeShare            = 8
	leastBrake, mostBrake = 128 << 20, 512 << 20
	// holesBrake is the most where only holes need room, two redo logs, of which one is for the
	// holes in the server's own: of a /dev/shm that is shared with others no more is withheld.
	holesBrake = 32 << 20
	// leastCgroup is the least where a control group binds.
	leastCgroup = 64 << 20
	// lastShare is the part of that below which a server is killed.
	lastShare = 4
	// flushTime is how long a server that became read-only may take to write out the pages that
	// it still has in its pool: some go into holes.
	flushTime = 5 * time.Second
	// flushShare is the part of that room that must be free for it.
	flushShare = 4
	// brakeTime is how long statements that write may go on that keep the server from
	// becoming read-only, and trxTime how long transactions that have written.
	brakeTime, trxTime = 2 * brakeInterval, time.Second
)

// brake is what keeps a volume from becoming full.
type brake struct {
	*Supervisor
	// on says that there is too little room, held that the server obeys.
	on, held bool
	// before is whether the server was read-only by itself.
	before bool
	// asking gets the answer of a server that was asked to become read-only at asked; nil
	// if none was.
	asking chan error
	asked  time.Time
	// obeys says that one did, and that its pages are being written out.
	obeys atomic.Bool
	// pid is the server that on and held are about: a rewind starts another.
	pid int
	// pause is for how long the next look can wait, far when it comes to that at the earliest, and read
	// what the last look has read.
	pause, far time.Duration
	read       *volume.Reading
	guard      guard
}

// brakes reports whether a volume needs one: servers on disk are left as they are everywhere.
func brakes(v volume.Volume) bool { return v.Kind() != volume.Disk }

// ReadOnlyBelow is the room, in bytes, that a volume must have for read-only servers in it to write
// again, and for a server to start as one that writes. They become read-only at two thirds of it.
func ReadOnlyBelow(v volume.Volume, u volume.Usage) int64 {
	if !brakes(v) {
		return leastBrake
	}
	return brakeRoom(v, u) * 3 / 2
}

// brakeRoom is the room, in bytes, below which servers are made read-only. What a control group
// leaves is for the memory of the servers, too: their pools grow beside the data, and at the limit
// the kernel kills them.
func brakeRoom(v volume.Volume, u volume.Usage) int64 {
	room := holesRoom(v, u)
	if u.Bound == volume.ByCgroup {
		room = max(room, min(max(u.Cgroup.Limit/brakeShare, leastCgroup), mostBrake))
	}
	return room
}

// holesRoom is what servers need for what they still write.
func holesRoom(v volume.Volume, u volume.Usage) int64 {
	if v.Kind() == volume.Ramfs || v.Shares() {
		return min(max(u.Size/brakeShare, leastBrake), mostBrake)
	}
	return min(u.Size/brakeShare, holesBrake)
}

// look takes one look, and acts. Its warning is "" if there is nothing to say.
func (b *brake) look(ctx context.Context) (warning string, err error) {
	b.pause, b.far, b.read = brakeInterval, 0, nil
	r, err := b.meter.Read(func(r volume.Reading) bool { return !b.on && b.asking == nil && !moveSoon(b.volume, r.Worst) })
	if err != nil {
		return "", err
	}
	b.read = &r
	u := r.Worst // where that is not what is, nothing is done below
	numbers := fmt.Sprintf("%s used, %s free, bound by %s", volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.BoundBy())
	if pid := b.proc.PID(); pid != b.pid {
		b.on, b.held, b.asking, b.pid, b.halted = false, false, nil, pid, false
	}
	guarded, stopped := b.guard.look(ctx, u)
	if stopped {
		return "", nil
	}
	room := brakeRoom(b.volume, u)
	switch {
	case u.Free < room/lastShare && b.volume.Kind() == volume.Ramfs:
		b.killedFor = fmt.Sprintf("killed, since volume %s is full: %s\nhint: make room (%s), then ramaria up %s", b.volume.Kind(), numbers, strings.Join(lessUse(b.volume), ", "), b.inst.Name)
		b.proc.Kill()
		return "", nil
	case b.asking != nil:
		err = b.wait(ctx)
	case u.Free < room && !b.held:
		if !b.on {
			// One that is so already stays so when there is room again.
			if err := b.db.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&b.before); err != nil {
				return "", err
			}
		}
		b.on, b.halted = true, b.isReplica()
		if err := b.inst.Server.OwnLogs(b.inst.DataDir()); err != nil {
			b.log.Warn("cannot keep room for the server's logs", "error", err)
		}
		b.ask(ctx)
	case u.Free > room+room/2 && b.on:
		if _, err = b.db.ExecContext(ctx, b.releaseSQL(), b.before); err == nil {
			b.on, b.held, b.halted = false, false, false // the watch has a replica follow again
		}
	}
	if !b.on {
		b.far = time.Duration(float64(u.Free-room) / volume.Fastest * float64(time.Second))
		b.pause = min(max(b.far, brakeInterval), watchInterval)
	}
	if b.on {
		state := "the server is being made read-only"
		switch {
		case b.halted:
			state = "the replica applies and receives nothing until there is room"
		case b.held:
			state = "the server is read-only until there is room"
		}
		warning = fmt.Sprintf("volume %s is nearly full: %s; %s\nhint: %s", b.volume.Kind(), numbers, state, moreRoom(b.volume, u))
	}
	if guarded != "" && warning != "" {
		warning = guarded + "; " + warning
	}
	return cmp.Or(warning, guarded), err
}

// ask makes the server read-only, which happens once no transaction writes: see
// wait. It has a connection of its own, since that may take its time. No read_only binds the threads of
// a replica: they are stopped first, the one that receives as well, since relay logs take room too.
func (b *brake) ask(ctx context.Context) {
	asking := make(chan error, 1)
	b.asked, b.asking = time.Now(), asking
	b.obeys.Store(false)
	halt := b.haltSQL()
	b.behind.Go(func() {
		db, err := dbconn.Open(b.inst.Socket(), b.inst.Supervisor, "")
		if err == nil {
			if err := dbconn.ExecAll(ctx, db, halt...); err != nil {
				b.log.Warn("cannot stop the replica, whose volume is nearly full", "error", err) // the watch tries again
			}
			if _, err = db.ExecContext(ctx, "SET GLOBAL read_only=1"); err == nil {
				b.obeys.Store(true)
				b.flush(ctx, db)
			}
			err = errors.Join(err, db.Close())
		}
		asking <- err
	})
}

// flush makes a read-only server write its dirty pages out: it has nothing to write any more
// after that. Where there is no room for them, writing would end the server now.
func (b *brake) flush(ctx context.Context, db *sql.DB) {
	left, err := dbconn.FlushPages(ctx, db, 0, flushTime, b.roomFor)
	if err != nil || left > 0 {
		b.log.Warn("a server that is read-only still has pages to write", "pages", left, "error", err)
	}
}

// wait looks whether the server has become read-only. Statements that write, and after
// them transactions that have written, are ended if they keep it from that: they would
// fill the volume, or wait for ever in one that is full.
func (b *brake) wait(ctx context.Context) error {
	select {
	case err := <-b.asking:
		b.asking, b.held = nil, err == nil // else it is tried again
		return err
	default:
	}
	switch late := time.Since(b.asked); {
	case b.obeys.Load(): // nothing keeps it from that now
	case late > trxTime:
		return b.kill(ctx, "KILL CONNECTION", dbconn.Writers)
	case late > brakeTime:
		return b.kill(ctx, "KILL QUERY", dbconn.Writing)
	}
	return nil
}

// roomFor reports whether there is room to write dirty pages. Where clones share blocks each
// takes one, and another in the file that it is written to first, against torn pages.
func (b *brake) roomFor(bytes int64) bool {
	u, err := b.volume.Usage()
	if err != nil {
		return false
	}
	need := brakeRoom(b.volume, u) / flushShare
	if b.volume.Shares() {
		need += 2 * bytes
	}
	return u.Free >= need
}

// kill ends the connections that find finds, or their statements.
func (b *brake) kill(ctx context.Context, how string, find func(context.Context, *sql.DB) ([]uint64, error)) error {
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	ids, err := find(ctx, b.db)
	if err != nil {
		return err
	}
	for _, id := range ids {
		b.log.Warn("ended, since the volume is nearly full", "connection", id, "how", how)
		// The only error is that it has ended by itself.
		_, _ = b.db.ExecContext(ctx, fmt.Sprintf("%s %d", how, id))
	}
	return nil
}

// haltSQL are the statements that stop a replica; none for others.
func (b *brake) haltSQL() []string {
	if !b.halted {
		return nil
	}
	stop := b.inst.Server.Dialect().StopReplicaSQL()
	return []string{stop + " IO_THREAD", stop + " SQL_THREAD"} // the first takes no time
}

// lacksRoom reports whether the brake stops a replica, or is about to.
func (s *Supervisor) lacksRoom() bool {
	if s.halted || !brakes(s.volume) {
		return s.halted
	}
	u, err := s.volume.Usage()
	return err == nil && u.Free < brakeRoom(s.volume, u)
}

// releaseSQL is the statement that has the server be as it was. A member of a group may be another than then: it is what its
// role wants.
func (b *brake) releaseSQL() string {
	closed := b.isMember() && b.cluster.Far() && !b.opened
	if !b.inGroup() {
		b.before = b.before || closed
		return "SET GLOBAL read_only=?"
	}
	b.before = b.viewed.Role != dbconn.RolePrimary || closed
	return "SET GLOBAL super_read_only=?"
}
