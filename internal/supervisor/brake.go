package supervisor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
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
	// brakeInterval is the least time between two looks. While there is more room than
	// could be written by then, at fastest bytes a second by all that write there, the next
	// look can wait, for watchInterval at most: a look costs a millisecond.
	brakeInterval = 100 * time.Millisecond
	fastest       = 2 << 30
	// brakeShare is the part of a volume, one in so many, below which servers are made
	// read-only; in bytes at least leastBrake, at most mostBrake. They may write again when
	// there is half as much more.
	brakeShare            = 8
	leastBrake, mostBrake = 128 << 20, 512 << 20
	// lastShare is the part of that below which a server is killed.
	lastShare = 4
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
	// pid is the server that on and held are about: a rewind starts another.
	pid int
	// pause is for how long the next look can wait.
	pause time.Duration
}

// brakes reports whether a volume needs one.
func brakes(v volume.Volume) bool {
	return v.Kind() == volume.Ramfs || v.Kind().Mounted() && v.Shares()
}

// look takes one look, and acts. Its warning is "" if there is nothing to say.
func (b *brake) look(ctx context.Context) (warning string, err error) {
	b.pause = brakeInterval
	u, err := b.volume.Usage()
	if err != nil {
		return "", err
	}
	numbers := fmt.Sprintf("%s used, %s free, bound by %s", volume.FormatBytes(u.Used), volume.FormatBytes(u.Free), u.Bound)
	if pid := b.proc.PID(); pid != b.pid {
		b.on, b.held, b.asking, b.pid = false, false, nil, pid
	}
	room := min(max(u.Size/brakeShare, leastBrake), mostBrake)
	switch {
	case u.Free < room/lastShare && b.volume.Kind() == volume.Ramfs:
		b.killedFor = fmt.Sprintf("killed, since volume %s is full: %s\nhint: make room (ramaria down another instance with --rm, ramaria image rm), then ramaria up %s", b.volume.Kind(), numbers, b.inst.Name)
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
		b.on = true
		b.ask(ctx)
	case u.Free > room+room/2 && b.on:
		if _, err = b.db.ExecContext(ctx, "SET GLOBAL read_only=?", b.before); err == nil {
			b.on, b.held = false, false
		}
	}
	if !b.on {
		far := time.Duration(float64(u.Free-room) / fastest * float64(time.Second))
		b.pause = min(max(far, brakeInterval), watchInterval)
	}
	if b.on {
		state := "the server is being made read-only"
		if b.held {
			state = "the server is read-only until there is room"
		}
		warning = fmt.Sprintf("volume %s is nearly full: %s; %s\nhint: ramaria down another instance with --rm, ramaria image rm --all --hot, or a larger volume (ramaria volume grow %s SIZE)", b.volume.Kind(), numbers, state, b.volume.Kind())
	}
	return warning, err
}

// ask has the server become read-only, which it does once no transaction writes: see
// wait. It has a connection of its own, since that may take its time.
func (b *brake) ask(ctx context.Context) {
	b.asked, b.asking = time.Now(), make(chan error, 1)
	b.behind.Go(func() {
		db, err := server.Open(b.inst.Socket(), b.inst.Supervisor, "")
		if err == nil {
			_, err = db.ExecContext(ctx, "SET GLOBAL read_only=1")
			err = errors.Join(err, db.Close())
		}
		b.asking <- err
	})
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
	case late > trxTime:
		return b.kill(ctx, "KILL CONNECTION", "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_rows_modified > 0")
	case late > brakeTime:
		return b.kill(ctx, "KILL QUERY", "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND <> 'Sleep' AND USER <> '"+server.SupervisorUser+
			"' AND ID <> CONNECTION_ID() AND INFO NOT RLIKE '^[[:space:](]*(SELECT|SHOW)'")
	}
	return nil
}

// kill ends what a query names by connection.
func (b *brake) kill(ctx context.Context, how, query string) error {
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	ids, err := connections(ctx, b.db, query)
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

// connections returns the numbers that a query gives.
func connections(ctx context.Context, db *sql.DB, query string) (ids []int64, _ error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
