package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// Keeper follows the log of a running instance into its archive.
type Keeper struct {
	Archive  *Archive
	Instance *instance.Instance
	Log      *slog.Logger
	Policy   Policy
	// Seed is the state of GTIDs that the log of an epoch that begins is to begin with, "" for none.
	Seed string
	// Appended is called when more of the log lasts, and must return at once; nil for nobody. It is set before
	// Serve.
	Appended func()
	// DueNow has something in it when a base is to be made at once: a statement waits for it.
	DueNow chan struct{}

	log     *archive.Log
	extents *extents
	fences  *fences
	ship    *shipper.Shipper
	acks    *acks // nil before Serve
	cancel  context.CancelFunc
	done    chan struct{}
	// hung says that something is at work on the archive that does not return: only the end of the process ends it.
	hung bool

	beside []string // what BesideLog returned last
	mended bool     // see Mended

	manifest sync.Mutex // guards Archive.Manifest, and is held while that is written; and the next two
	// began is how much work there was behind the newest base when another was begun, and meanwhile how much came while the
	// last was made.
	began, meanwhile time.Duration

	// wanted is WantBase, until there is one.
	wanted atomic.Bool

	mu sync.Mutex // guards what follows, and log and epoch where others than the caller's goroutine read them
	// epoch is the one that log is of.
	epoch   uint32
	trouble error
	ended   error
	// breaches are those that are over, and that the manifest does not have yet; breached is how many there were since Keep.
	breaches []archive.Breach
	breached int
}

// lastPatience is how long archiving what a server wrote last may take. What is not archived then the
// next start archives, if its data is still in RAM.
const lastPatience = 10 * time.Second

// catchPatience is for how long archiving may fail, time after time, before a start is given up.
const catchPatience = 20 * time.Second

// EnvUrgent is the variable that is "off" where the supervisor's thread that archives the log is to wait for a
// processor like all others.
const EnvUrgent = "RAMARIA_URGENT"

// stalled is how long an append may take before a warning says so, and slow how long before a server
// that is to shut down does not count on it.
const stalled, slow = 2 * time.Second, 500 * time.Millisecond

// Keep begins to keep an instance whose server does not run yet: what is in its log and not in the
// archive is archived; waits is told why that has to wait. boot is the id of the machine's start. The error matches
// ErrBehind if the instance is to be recovered.
func Keep(ctx context.Context, a *Archive, i *instance.Instance, boot string, policy Policy, log *slog.Logger, waits func(error)) (*Keeper, error) {
	k, err := keep(ctx, a, i, boot, policy, log, waits)
	if err != nil {
		return nil, err
	}
	if err := k.sighted(); err != nil {
		return nil, errors.Join(err, k.endExtent(ctx), k.log.Close())
	}
	return k, nil
}

// keep is Keep for data that may not be what goes on.
func keep(ctx context.Context, a *Archive, i *instance.Instance, boot string, policy Policy, log *slog.Logger, waits func(error)) (_ *Keeper, err error) {
	k := &Keeper{Archive: a, Instance: i, Log: log, Policy: policy, DueNow: make(chan struct{}, 1)}
	if err := a.fits(i, boot); err != nil {
		return nil, err
	}
	epoch := i.Durable.Epoch
	k.epoch = epoch
	i.Durable.Boot = boot
	if err := i.Save(); err != nil {
		return nil, err
	}
	id := a.Manifest.LogID(epoch)
	end, _, err := archive.EndOf(a.Disk, id)
	if err != nil {
		return nil, err
	}
	if k.log, err = archive.OpenLog(a.Disk, id, end); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.log.Close())
		}
	}()
	powers := powersOf(i.Server, k.BesideLog())
	if k.fences, err = newFences(i, epoch, a.basedAt(epoch), end, &powers, log, k.dueNow); err != nil {
		return nil, err
	}
	k.fences.meter.carried = k.carry(epoch, end)
	k.ship = k.shipper()
	files, err := binlog.Files(i.DataDir(), server.BinlogName)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 && end == (archive.Position{}) {
		k.Seed = a.Manifest.Last().GTIDState // its first start
	} else if err := k.catch(ctx, waits); errors.Is(err, shipper.ErrOther) {
		return nil, fmt.Errorf("%w: %w", ErrBehind, err)
	} else if err != nil {
		return nil, err
	}
	if err := k.openExtents(); err != nil {
		return nil, err
	}
	return k, nil
}

// catch archives what is in the log and not in the archive. The server does not run before that: what was not
// acknowledged would be seen by sessions.
func (k *Keeper) catch(ctx context.Context, waits func(error)) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var since time.Time // the first of the attempts that have failed
	k.ship.Trouble = func(err error) {
		k.troubled(err)
		switch {
		case err == nil:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
			waits(err)
		case time.Since(since) > catchPatience:
			cancel(fmt.Errorf("archive what the server wrote last: %w, for %s", err, catchPatience))
		}
	}
	_, err := k.ship.Catch(limited)
	k.ship.Trouble = k.troubled
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	return err
}

// shipper follows the log of the instance into that of the archive.
func (k *Keeper) shipper() *shipper.Shipper {
	return &shipper.Shipper{Dir: k.Instance.DataDir(), Base: server.BinlogName, Log: k.log, Gate: k.fences, Trouble: k.troubled, Appended: func() {
		if k.Appended != nil {
			k.Appended()
		}
	}}
}

// Serve follows the log of the server that runs now, until Stop or until it ends. At the level Acknowledged
// commits go on when the log is archived; at the level Delayed they may be ahead of that, and be interval old then.
// It returns once who acknowledges them is logged in.
func (k *Keeper) Serve(level server.Durability, interval time.Duration, gone <-chan struct{}) error {
	if err := k.trim(); err != nil {
		return err
	}
	if err := k.setFenced(level == server.Acknowledged); err != nil {
		return err
	}
	k.ship.Interval = interval
	k.acks = &acks{socket: k.Instance.Socket(), login: k.Instance.Supervisor, still: k.ship.Still}
	k.acks.begin(gone)
	k.ship.Acks, k.ship.Urgent = k.acks, level == server.Acknowledged && os.Getenv(EnvUrgent) != "off"
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel, k.done = cancel, make(chan struct{})
	k.followExtent()
	go func() {
		defer close(k.done)
		err := k.ship.Run(ctx)
		k.acks.close()
		select {
		case <-gone:
			return // what it wrote last Stop archives
		default:
		}
		if err != nil && ctx.Err() == nil {
			k.Log.Error("the archive does not follow the log any more", "error", err)
			k.mu.Lock()
			k.ended = err
			k.mu.Unlock()
		}
	}()
	k.acks.await(gone, k.done)
	return nil
}

// trim shortens the archived log where the server has shortened its own when it started: by a
// transaction that was not whole.
func (k *Keeper) trim() error {
	end := k.log.End()
	if end == (archive.Position{}) {
		return nil
	}
	path := filepath.Join(k.Instance.DataDir(), serverLog(end.File))
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("follow the binary log: %w: %s is not there", shipper.ErrOther, filepath.Base(path))
	}
	if err != nil {
		return fmt.Errorf("follow the binary log: %w", err)
	}
	if fi.Size() >= end.Offset {
		return nil
	}
	return k.log.Cut(archive.Position{File: end.File, Offset: fi.Size()})
}

// Needs is the position in the server's log from which on the archive still needs it.
func (k *Keeper) Needs() binlog.Position {
	p := k.ship.Shipped()
	return binlog.Position{File: serverLog(max(1, p.File)), Offset: p.Offset}
}

// Shipped is up to where the archive has the server's log.
func (k *Keeper) Shipped() archive.Position { return k.ship.Shipped() }

// Written is up to where the server has written its log.
func (k *Keeper) Written() (archive.Position, error) {
	files, err := binlog.Files(k.Instance.DataDir(), server.BinlogName)
	if err != nil || len(files) == 0 {
		return archive.Position{}, err
	}
	last := files[len(files)-1]
	n, err := fileNumber(last)
	if err != nil {
		return archive.Position{}, err
	}
	fi, err := os.Lstat(filepath.Join(k.Instance.DataDir(), last))
	if err != nil {
		return archive.Position{}, err
	}
	return archive.Position{File: n, Offset: fi.Size()}, nil
}

// PositionText is a position in the log of the epoch that goes on, as commands take it.
func (k *Keeper) PositionText(p archive.Position) string {
	k.manifest.Lock()
	defer k.manifest.Unlock()
	return FormatPosition(k.Archive.Manifest.Last().Number, p)
}

// Trouble is why the log cannot be archived at present; nil if it can.
func (k *Keeper) Trouble() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := errors.Join(k.ended, k.trouble)
	if d, is := k.Archive.Disk.(archive.OSDisk); is && err == nil {
		err = d.Moved()
	}
	if err == nil && k.ship.Busy() > stalled {
		err = ErrHangs // no error comes from a disk that hangs
	}
	return err
}

// Answers reports whether the archive takes what is appended, without much delay.
func (k *Keeper) Answers() bool { return k.Trouble() == nil && k.ship.Busy() < slow }

// Settled reports whether the archive has all that the log has now: what no commit of the server
// changes meanwhile.
func (k *Keeper) Settled() bool {
	p := k.ship.Shipped()
	files, err := binlog.Files(k.Instance.DataDir(), server.BinlogName)
	if err != nil || len(files) == 0 || files[len(files)-1] != k.Needs().File {
		return false
	}
	fi, err := os.Lstat(filepath.Join(k.Instance.DataDir(), files[len(files)-1]))
	return err == nil && fi.Size() == p.Offset
}

func (k *Keeper) troubled(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil && k.trouble == nil {
		k.Log.Error("the log cannot be archived", "error", err)
	}
	if err == nil && k.trouble != nil {
		k.Log.Info("the log is archived again")
	}
	k.trouble = err
}

// Stop ends following the log of a server that has ended: what it wrote last is archived. The error matches ErrHangs where
// the disk does not answer.
func (k *Keeper) Stop(ctx context.Context) error {
	if k.cancel == nil {
		return nil
	}
	err := k.within(ctx, func(ctx context.Context) error {
		if err := k.endRun(ctx); err != nil {
			return err
		}
		if _, err := k.ship.Catch(ctx); err != nil {
			return cmp.Or(k.Trouble(), err) // the same, time after time
		}
		k.manifest.Lock()
		defer k.manifest.Unlock()
		if err := k.noteBlind(); err != nil { // the next supervisor may not have this memory
			return err
		}
		return k.endExtent(ctx)
	})
	if err != nil {
		return fmt.Errorf("archive what the server wrote last: %w", err)
	}
	return nil
}

// Close stops, if need be, and lets the archive go. It may be called twice. Where the disk does not answer, the archive
// stays locked until this process has ended: nobody else may write to it while a write of ours may still come.
func (k *Keeper) Close() error {
	if k.hung { // which has been said
		return nil
	}
	return k.within(context.Background(), func(ctx context.Context) error {
		if err := k.endRun(ctx); err != nil {
			return err
		}
		if err := k.endExtent(ctx); err != nil {
			return err
		}
		return errors.Join(k.log.Close(), k.Archive.Close())
	})
}

// endRun ends what Serve has begun, and waits for that. If it returns after the end of ctx, nothing is to be done any more.
func (k *Keeper) endRun(ctx context.Context) error {
	if k.cancel != nil {
		k.cancel()
		<-k.done
		k.cancel = nil
	}
	return ctx.Err()
}
