package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Log is the log of an epoch as its one writer has it. Its methods but Lasts, Total and TotalAt are for
// one goroutine.
type Log struct {
	disk Disk
	id   LogID
	end  Position
	// total is how many bytes the log has before end, and starts how many it has before each file that
	// was written to since it was opened.
	total  int64
	starts map[uint32]int64
	// again is the last frame of a log that was opened, until it has been said again: it was read, and may
	// not last, if its write failed and its writer died before it could say so.
	again *frame
	// cut is where a Cut was to be that failed, and may be there.
	cut *Position

	mu sync.Mutex // guards writes of total and starts, and reads by others

	segment File
	number  uint64 // of segment, or of the one that comes next if that is nil
	at      int64  // where the next frame goes
	block   []byte
	most    int // of payload in a frame

	// lasts is the end of the last frame that lasts, for readers beside the writer.
	lasts atomic.Pointer[reached]

	// next is the segment after this one, which is made while this one is filled; hurry is closed
	// when it is waited for.
	next    chan made
	hurry   chan struct{}
	closing sync.Once
}

// reached is the end of a frame: in the segments, and in the server's log.
type reached struct {
	Place
	at Position
}

// made is a segment that is ready, or why it is not.
type made struct {
	file File
	err  error
}

// CreateLog begins the log of an epoch that has none, at the beginning of its first file.
func CreateLog(d Disk, id LogID) (*Log, error) {
	if err := d.Mkdir("log"); err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	if err := d.Mkdir(id.dir()); err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	if err := errors.Join(d.SyncDir("."), d.SyncDir("log")); err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	return newLog(d, id, 1), nil
}

// OpenLog goes on with a log where ReadLog says that it ends. What is there is not written to again:
// the last frame may be torn, and is followed by a new segment. Segments that were made ready and never
// used are removed. A log that has nothing yet is begun.
func OpenLog(d Disk, id LogID, end Position) (*Log, error) {
	list, err := id.Segments(d)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && end == (Position{}) {
		return CreateLog(d, id)
	}
	// A writer that was killed may have left names that do not last, and the next one must not last
	// without them.
	if err := d.SyncDir(id.dir()); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	r, err := readEnd(d, id, list)
	if err != nil {
		return nil, err
	}
	there, total := r.end, r.total
	if there != end {
		return nil, fmt.Errorf("open log at %s: it ends at %s", end, there)
	}
	id.trim(d, list)
	if list, err = id.Segments(d); err != nil {
		return nil, err
	}
	next := uint64(1)
	if len(list) > 0 {
		next = list[len(list)-1] + 1
	}
	l := newLog(d, id, next)
	l.end, l.total = end, total
	l.starts[end.File] = total - end.Offset
	if r.some {
		l.again = &r.last
		l.lasts.Store(&reached{}) // the last frame need not last
	}
	return l, nil
}

func newLog(d Disk, id LogID, next uint64) *Log {
	l := &Log{disk: d, id: id, number: next, block: newBuffer(), most: int(min(MaxPayload, segmentSize-BlockSize-frameHeader)), starts: map[uint32]int64{}}
	l.lasts.Store(&reached{Place: Place{Segment: next}})
	l.prepare()
	return l
}

// Total is how many bytes the log has, those included that were pruned.
func (l *Log) Total() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// TotalAt is how many bytes the log has before a position in a file that was written to since the log
// was opened.
func (l *Log) TotalAt(p Position) (n int64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	start, known := l.starts[p.File]
	return start + p.Offset, known
}

// End is where the log ends: all before it lasts, of a log that was opened once Settle has returned.
func (l *Log) End() Position { return l.end }

// Settle makes what a log had when it was opened last: its writer may have been killed before the last
// frame did. Append and Cut do it too. It does nothing the second time.
func (l *Log) Settle() error {
	if l.again == nil {
		return nil
	}
	if err := l.write(*l.again); err != nil {
		return err
	}
	l.again = nil
	return nil
}

// Lasts is the place behind the last frame that lasts: what a Tail may read. It is zero from OpenLog to
// Settle. It may be called beside the writer.
func (l *Log) Lasts() Place { return l.lasts.Load().Place }

// Extent is how far the log goes now, all of which lasts; its place is zero if nothing has lasted yet. It says false
// from OpenLog to Settle, when that is not known. It may be called beside the writer.
func (l *Log) Extent() (x Extent, known bool) {
	x = Extent{Archive: l.id.Archive, Epoch: l.id.Epoch, Time: time.Now()}
	r := l.lasts.Load()
	if r.Offset > 0 {
		x.Place, x.At = r.Place, r.at
	}
	return x, r.Segment > 0
}

// ErrGap says that bytes were to be appended that do not follow the end of the log.
var ErrGap = errors.New("they do not follow the end of the archived log")

// Append writes bytes of the server's log from a position on, which must be the end of this one or
// the beginning of the next file, and returns when they last. After an error End says how many of them
// last, none if they fit one frame (MaxPayload); the next Append writes to a new segment.
func (l *Log) Append(p Position, b []byte) error {
	if p != l.end && p != (Position{File: l.end.File + 1}) {
		return fmt.Errorf("append to the log at %s, which ends at %s: %w", p, l.end, ErrGap)
	}
	if l.cut != nil {
		return fmt.Errorf("append to the log: it is to be cut at %s first: %w", *l.cut, ErrGap)
	}
	for {
		n := min(len(b), l.most)
		if err := l.put(frame{kind: frameData, at: p, total: l.total, payload: b[:n]}); err != nil {
			return err
		}
		l.mu.Lock()
		if p.Offset == 0 {
			l.starts[p.File] = l.total
		}
		l.total += int64(n)
		l.mu.Unlock()
		p.Offset += int64(n)
		l.end = p
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
}

// Cut shortens the log to a position in its last file: the server has shortened its own.
func (l *Log) Cut(p Position) error {
	if p.File != l.end.File || l.end.Before(p) {
		return fmt.Errorf("cut the log at %s, which ends at %s: %w", p, l.end, ErrGap)
	}
	total := l.total - (l.end.Offset - p.Offset)
	if err := l.put(frame{kind: frameCut, at: p, total: total}); err != nil {
		l.cut = &p
		return fmt.Errorf("cut the log: %w", err)
	}
	l.cut = nil
	l.mu.Lock()
	l.end, l.total = p, total
	l.mu.Unlock()
	return nil
}

// put writes a frame behind the last one.
func (l *Log) put(f frame) error {
	if err := l.Settle(); err != nil {
		return err
	}
	f.written = uint32(time.Now().Unix())
	return l.write(f)
}

func (l *Log) write(f frame) error {
	size := frameSize(len(f.payload))
	if l.segment == nil || l.at+size > segmentSize {
		if err := l.turn(); err != nil {
			return fmt.Errorf("append to the log: %w", err)
		}
	}
	f.segment = l.number
	if err := l.segment.WriteSync(f.encode(l.block, l.id.key()), l.at); err != nil {
		// Whether the frame is there, or will be, is not known. What comes next says it again.
		_ = l.segment.Close()
		l.segment = nil
		l.number++
		return fmt.Errorf("append to the log: %w", err)
	}
	l.at += size
	l.lasts.Store(&reached{Place{l.number, l.at}, f.end()})
	return nil
}

// turn goes to the next segment.
func (l *Log) turn() error {
	m := l.made()
	if m.err != nil {
		l.prepare() // once more: there may be room by then
		return m.err
	}
	if l.segment != nil {
		_ = l.segment.Close() // each of its frames lasted when its write had returned
		l.number++
	}
	l.segment, l.at = m.file, BlockSize
	l.prepare()
	return nil
}

// following is the number of the next segment.
func (l *Log) following() uint64 {
	if l.segment == nil {
		return l.number
	}
	return l.number + 1
}

// prepare makes the next segment ready.
func (l *Log) prepare() {
	next, hurry := make(chan made, 1), make(chan struct{})
	l.next, l.hurry = next, hurry
	n := l.following()
	beside(func() {
		f, err := l.id.makeSegment(l.disk, n, hurry)
		next <- made{f, err}
	})
}

// made waits for the next segment.
func (l *Log) made() made {
	select {
	case m := <-l.next:
		return m
	default:
	}
	close(l.hurry)
	return <-l.next
}

const (
	// makeStep is how much of a segment is written in one go, in bytes, and makePause the time
	// between two until the segment is waited for: a sync of all of it holds up the synchronous
	// writes of commits for tens of milliseconds.
	makeStep  = 512 << 10
	makePause = 20 * time.Millisecond
)

// makeSegment makes a segment that is written from end to end, and lasts before it has its name.
func (id LogID) makeSegment(d Disk, n uint64, hurry <-chan struct{}) (_ File, err error) {
	name := id.segment(n)
	f, err := d.Create(name + newSuffix)
	if err != nil {
		return nil, fmt.Errorf("make segment: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("make segment: %w", err), f.Close())
		}
	}()
	if _, err := f.WriteAt(id.header(n), 0); err != nil {
		return nil, err
	}
	zeros := make([]byte, min(makeStep, segmentSize))
	for at := int64(BlockSize); at < segmentSize; {
		n, err := f.WriteAt(zeros[:min(makeStep-at%makeStep, segmentSize-at)], at)
		if err != nil {
			return nil, err
		}
		if at += int64(n); at == segmentSize {
			break
		}
		if err := f.Sync(); err != nil {
			return nil, err
		}
		select {
		case <-hurry:
		case <-time.After(makePause):
		}
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	if err := d.Rename(name+newSuffix, name); err != nil {
		return nil, err
	}
	return f, d.SyncDir(id.dir())
}

// Close ends the use of the log; it may be called twice.
func (l *Log) Close() (err error) {
	l.closing.Do(func() {
		if m := l.made(); m.err == nil {
			err = m.file.Close()
		}
		if l.segment != nil {
			err = errors.Join(err, l.segment.Close())
		}
	})
	return err
}

// Prune removes the segments that hold nothing from a position on. The last one with frames stays, and what
// is made ready behind it.
func Prune(d Disk, id LogID, from Position) error {
	list, err := id.Segments(d)
	if err != nil {
		return err
	}
	for i, n := range list {
		// What it holds ends where the next one that was used begins.
		next, ok, err := id.firstOf(d, list[i+1:])
		if err != nil {
			return err
		}
		if !ok || from.Before(next.at) {
			break
		}
		if err := id.remove(d, n); err != nil {
			return fmt.Errorf("prune the log: %w", err)
		}
	}
	return nil
}

// trim removes the last segments, of a list of all, in which nothing was ever written. It may leave some:
// they are in no one's way.
func (id LogID) trim(d Disk, list []uint64) {
	for _, n := range slices.Backward(list) {
		// The last one first, for the same reason as in Prune.
		if used, err := id.touched(d, n); used || err != nil || id.remove(d, n) != nil {
			return
		}
	}
}

// touched reports whether something was written to a segment behind its header: a frame, or a part of one.
func (id LogID) touched(d Disk, n uint64) (is bool, err error) {
	f, err := d.Open(id.segment(n))
	if err != nil {
		return false, fmt.Errorf("read segment: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := make([]byte, BlockSize)
	if _, err := f.ReadAt(b, BlockSize); err != nil {
		return false, fmt.Errorf("read segment: %w", err)
	}
	return slices.ContainsFunc(b, func(c byte) bool { return c != 0 }), nil
}

// remove removes a segment for good, and only when the one that was removed before it is gone for good: that
// sync may have failed.
func (id LogID) remove(d Disk, n uint64) error {
	if err := d.SyncDir(id.dir()); err != nil {
		return err
	}
	if err := d.Remove(id.segment(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.SyncDir(id.dir())
}

// PruneEpochs removes the logs of the epochs before one.
func PruneEpochs(d Disk, before uint32) error {
	names, err := d.Names("log")
	if err != nil {
		return fmt.Errorf("prune the log: %w", err)
	}
	for _, name := range names {
		n, err := strconv.ParseUint(name, 10, 32)
		if err != nil || n >= uint64(before) {
			continue
		}
		if err := removeDir(d, "log/"+name); err != nil {
			return fmt.Errorf("prune the log: %w", err)
		}
	}
	return d.SyncDir("log")
}

func removeDir(d Disk, dir string) error {
	names, err := d.Names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := d.Remove(dir + "/" + name); err != nil {
			return err
		}
	}
	_ = d.Remove(dir) // an empty directory is in nobody's way
	return nil
}
