// Package shipper follows the binary log of a server, as files, and appends what is new to an
// archive; whoever waits for that is told how far it lasts.
//
// The invariant: a position is passed to Acks only after archive.Log.Append has returned for all
// of the server's log before it; with an Interval, for all but a measured budget of bytes before it (ahead.go).
package shipper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Acks takes how far the log lasts, or with an Interval how far commits may go. Its methods are called by one goroutine.
type Acks interface {
	// Start says that a file begins, and that all files before it last.
	Start(file string) error
	// Ack says that a file lasts up to an offset.
	Ack(file string, offset int64) error
}

// Log is what is appended to; *archive.Log is one.
type Log interface {
	End() archive.Position
	// Settle makes all before End last, which may not do so yet when the log was opened.
	Settle() error
	Append(p archive.Position, b []byte) error
}

var _ Log = (*archive.Log)(nil)

// Gate holds commits back although their log lasts. Its methods are called by one goroutine.
type Gate interface {
	// Pass is told of bytes of the log before they are appended, and returns at once. It may be told of the
	// same ones twice.
	Pass(at archive.Position, b []byte)
	// Limit is up to where commits may go on; held is false where all may. It moves by itself.
	Limit() (at archive.Position, held bool)
}

// Shipper ships the log of one server.
type Shipper struct {
	// Dir is the directory of the log, and Base what the server calls it: Base.000001.
	Dir, Base string
	Log       Log
	// Acks is told how far the log lasts; nil if no commit waits for that.
	Acks Acks
	// Gate holds commits back whose log lasts; nil for none. With an Interval it is told of the log and holds nothing back.
	Gate Gate
	// Urgent makes the thread that ships one of sys.MakeUrgent: where other work is waiting for processors,
	// commits would wait for it too.
	Urgent bool
	// Interval is how old a commit may be that was acknowledged and that the archive lacks; 0 where there is to be
	// none.
	Interval time.Duration
	// Trouble is called with the error of an attempt to append, and with nil when one has succeeded
	// after that. Until then commits wait.
	Trouble func(error)
	// Appended is called after each append, when those who wait for it were told; nil for nobody. It
	// must return at once.
	Appended func()

	shipped atomic.Pointer[archive.Position]
	// following is the file that is followed, and began when the append that has not returned yet began,
	// in nanoseconds; 0 if there is none.
	following atomic.Pointer[followed]
	began     atomic.Int64
	// caught is a time, in nanoseconds since start, of which all that the log had then is archived; 0 before
	// the first.
	caught atomic.Int64

	// speed is that of the archive.
	speed  speed
	pacing sync.Mutex // guards pace, but for Rate and Budget
	pace   Pace
}

// followed is a file of the log that is open.
type followed struct {
	path string
	id   sys.FileID
}

const (
	// lookAfter is the longest time without a look at the log, and whether another file has begun.
	lookAfter = 50 * time.Millisecond
	// retryAfter is the pause after an append that has failed.
	retryAfter = 200 * time.Millisecond
)

// ErrOther says that the server's log is not the one that the archive goes on from.
var ErrOther = errors.New("the server's log is not the one that the archive has")

// Shipped is how far the log has been shipped.
func (s *Shipper) Shipped() archive.Position {
	if p := s.shipped.Load(); p != nil {
		return *p
	}
	return s.Log.End()
}

// ErrRemoved says that a file of the log is gone that was being followed: RESET MASTER began another
// log, or PURGE did not wait for the archive.
var ErrRemoved = errors.New("a file of the log was removed before all of it was archived")

// Still reports whether the log is the one that is followed. Another may have files of the same names.
func (s *Shipper) Still() bool {
	f := s.following.Load()
	if f == nil {
		return true
	}
	now, err := sys.LinkID(f.path)
	return err == nil && now == f.id
}

// Busy is how long the append has taken that has not returned yet; 0 if there is none.
func (s *Shipper) Busy() time.Duration {
	if began := s.began.Load(); began != 0 {
		return time.Since(start.Add(time.Duration(began)))
	}
	return 0
}

// Lag is how many bytes of the log are not archived, and how long at most the oldest of them has waited.
func (s *Shipper) Lag() (bytes int64, waited time.Duration, err error) {
	caught, p := s.caught.Load(), s.Shipped()
	p.File = max(1, p.File)
	bytes = -p.Offset
	for n := p.File; ; n++ {
		fi, err := os.Lstat(s.path(n))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return 0, 0, fmt.Errorf("look at the binary log: %w", err)
		}
		bytes += fi.Size()
	}
	if bytes <= 0 {
		return 0, 0, nil
	}
	return bytes, time.Since(start.Add(time.Duration(caught))), nil
}

// start is what began and caught count from: clocks of the day are set.
var start = time.Now()

// name is a file of the log.
func (s *Shipper) name(n uint32) string { return fmt.Sprintf("%s.%06d", s.Base, n) }
func (s *Shipper) path(n uint32) string { return filepath.Join(s.Dir, s.name(n)) }

// Catch ships what there is, of a server that does not run, and returns how many bytes that was. The
// log must have what the archive has: ErrOther if it does not.
func (s *Shipper) Catch(ctx context.Context) (int64, error) {
	r := &run{Shipper: s, buf: make([]byte, archive.MaxPayload)}
	defer r.close()
	if err := r.open(s.Log.End()); err != nil {
		return 0, err
	}
	return r.catchUp(ctx)
}

// catchUp ships what there is now, up to the last file.
func (r *run) catchUp(ctx context.Context) (total int64, err error) {
	for ctx.Err() == nil {
		n, err := r.step(ctx)
		if err != nil {
			return total, err
		}
		total += int64(n)
		if n > 0 {
			continue
		}
		if more, err := r.turn(); err != nil || !more {
			return total, err
		}
	}
	return total, ctx.Err()
}

// Run ships until ctx ends. It has a thread of its own.
func (s *Shipper) Run(ctx context.Context) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w, err := sys.NewFileWatch()
	if err != nil {
		return err
	}
	r := &run{Shipper: s, watch: w, buf: make([]byte, archive.MaxPayload)}
	defer func() {
		r.close()
		err = errors.Join(err, w.Close())
	}()
	end := s.Log.End() // not what Catch has shipped: the log may have been cut since
	s.shipped.Store(&end)
	if err := r.open(end); err != nil {
		return err
	}
	// Commits wait until the connection for acknowledgements is there: with the last file.
	if _, err := r.catchUp(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	// The first that a server hears acknowledges what the archive had before.
	if err := r.try(ctx, s.Log.Settle); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	ctx, ended := r.acknowledge(ctx)
	defer func() { err = errors.Join(err, ended()) }()
	if err := r.tell(); err != nil {
		return err
	}
	if s.Urgent {
		u := sys.MakeUrgent()
		defer u.End()
		r.urgent = u.First && runtime.GOMAXPROCS(0) > 1 // other goroutines are not to wait for it
		w.Urgent = r.urgent
	}
	wait := lookAfter // and then whether there is another file
	if s.Interval > 0 {
		wait = min(wait, max(s.Interval/lookShare, leastLook)*5)
	}
	var waited time.Time
	for ctx.Err() == nil {
		if due, err := r.due(); err != nil {
			return err
		} else if !due {
			_ = pause(ctx, s.lookEvery()) // it ends with ctx
			continue
		}
		n, err := r.step(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		if s.Interval > 0 || time.Since(waited) >= lookAfter {
			waited = time.Now()
			if more, err := r.turn(); err != nil {
				return err
			} else if more {
				continue
			}
			r.pending = time.Time{}
		}
		if err := r.tell(); err != nil { // the gate may have opened
			return err
		}
		if err := w.Wait(wait); err != nil {
			return err
		}
	}
	return nil
}

// run is a Shipper at work.
type run struct {
	*Shipper
	acks   Acks   // nil while no commit waits, and where ahead acknowledges
	ahead  *ahead // nil without an Interval
	urgent bool   // the thread
	watch  *sys.FileWatch
	file   *os.File
	at     archive.Position
	buf    []byte
	// told is up to where acks was told that the log lasts; zero before.
	told archive.Position
	// pending is when bytes were first seen that are not shipped yet; zero if there are none.
	pending time.Time
}

// open opens the file that the archive ends in.
func (r *run) open(p archive.Position) error {
	if p.File == 0 { // nothing is archived yet
		p.File = 1
	}
	f, err := sys.OpenIn(r.Dir, r.name(p.File))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("follow the binary log: %w: %s is not there", ErrOther, r.name(p.File))
	}
	if err != nil {
		return fmt.Errorf("follow the binary log: %w", err)
	}
	fi, err := f.Stat()
	var id sys.FileID
	if err == nil {
		id, _, err = sys.OpenID(f)
	}
	if err == nil && fi.Size() < p.Offset {
		err = fmt.Errorf("%w: %s has %d bytes, and the archive has %d of it", ErrOther, r.name(p.File), fi.Size(), p.Offset)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("follow the binary log: %w", err), f.Close())
	}
	r.close()
	r.file, r.at = f, p
	r.following.Store(&followed{r.path(p.File), id})
	if r.watch != nil {
		return r.watch.Watch(r.path(p.File))
	}
	return nil
}

// tell tells acks up to where the log lasts, as far as the gate lets it. While that is in an earlier file than the one
// that is followed, that file is the one that acks knows of.
func (r *run) tell() error {
	if r.acks == nil {
		return nil
	}
	to := r.at
	if r.Gate != nil {
		if limit, held := r.Gate.Limit(); held && limit.Before(to) {
			to = limit
		}
	}
	if to == r.told || to.Before(r.told) {
		return nil
	}
	if !r.Still() { // in another log the same position is something else
		return fmt.Errorf("follow the binary log: %w: %s", ErrRemoved, r.name(r.at.File))
	}
	var err error
	if to.File != r.told.File {
		err = r.acks.Start(r.name(to.File))
	}
	if err == nil && to.Offset > 0 {
		err = r.acks.Ack(r.name(to.File), to.Offset)
	}
	if err != nil {
		return fmt.Errorf("follow the binary log: %w", err)
	}
	r.told = to
	return nil
}

// turn goes to the next file if there is one and all of this one has been shipped: a server begins
// a file after it has ended the one before.
func (r *run) turn() (bool, error) {
	_, err := os.Lstat(r.path(r.at.File + 1))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("follow the binary log: %w", err)
	}
	if !r.Still() { // asked after that: what is there would be the next file of another log
		return false, fmt.Errorf("follow the binary log: %w: %s", ErrRemoved, r.name(r.at.File))
	}
	if err != nil {
		return false, nil //nolint:nilerr // there is no next file yet
	}
	if n, err := r.file.ReadAt(r.buf[:1], r.at.Offset); n > 0 {
		return false, nil
	} else if !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("follow the binary log: %w", err)
	}
	return true, r.open(archive.Position{File: r.at.File + 1})
}

// step ships what the file has that is new, at most a buffer full, and returns how many bytes that
// was.
func (r *run) step(ctx context.Context) (int, error) {
	read := r.file.ReadAt
	if r.urgent {
		read = func(b []byte, at int64) (int, error) { return sys.ReadNow(r.file, b, at) } // it is in RAM
	}
	now := int64(time.Since(start))
	buf := r.buf[:r.most()]
	n, err := read(buf, r.at.Offset)
	if n == 0 {
		if errors.Is(err, io.EOF) {
			r.caught.Store(now)
			err = nil
		}
		if err != nil {
			err = fmt.Errorf("follow the binary log: %w", err)
		}
		return 0, err
	}
	if r.Gate != nil {
		r.Gate.Pass(r.at, buf[:n])
	}
	if err := r.try(ctx, func() error {
		began := time.Now()
		err := r.Log.Append(r.at, buf[:n])
		if err == nil {
			r.speed.note(n, time.Since(began))
		}
		return err
	}); err != nil {
		return 0, err
	}
	r.at.Offset += int64(n)
	at := r.at
	r.shipped.Store(&at)
	if n < len(buf) {
		r.caught.Store(now)
		r.pending = time.Time{}
	}
	if r.ahead != nil {
		r.ahead.poke()
	}
	if err := r.tell(); err != nil {
		return n, err
	}
	if r.Appended != nil {
		r.Appended()
	}
	return n, nil
}

// try calls what writes to the archive until that succeeds, or ctx ends.
func (r *run) try(ctx context.Context, write func() error) error {
	for failed := false; ; failed = true {
		r.began.Store(max(1, int64(time.Since(start))))
		err := write()
		r.began.Store(0)
		if err == nil {
			if failed && r.Trouble != nil {
				r.Trouble(nil)
			}
			return nil
		}
		if errors.Is(err, archive.ErrGap) {
			return err
		}
		if r.Trouble != nil {
			r.Trouble(err)
		}
		if err := pause(ctx, retryAfter); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (r *run) close() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
		r.file = nil
	}
}
