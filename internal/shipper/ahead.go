package shipper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// With an Interval commits go on ahead of the archive, and a power cut takes those that it does not have yet. Each of
// them is younger than the interval, since commits go no further ahead than by what the disk writes in a third of one:
//
//   - A position is acknowledged only if it is at most budget bytes behind what is archived. This is no watch that reacts:
//     a commit beyond that has no acknowledgement and waits, however many threads commit at one moment and whatever the
//     size of their transactions. All that a server has answered and the archive lacks is budget bytes at most.
//   - budget is what the disk takes in a third of an interval, by the slowest of the last appends. So a commit at the very
//     end of it is archived a third of an interval after it was answered, as long as the disk does not become slower than
//     half as fast as that from one moment to the next.
//   - The disk is not left idle meanwhile: an append begins when a quarter of the budget is there, or when the first
//     byte has waited for a quarter of the interval. It writes no more than a quarter of the budget at a time, since
//     none of an append lasts before all of it does.
//
// A disk that hangs ends with commits that wait: those that were answered before it hung are older then than the
// interval, and no more than the budget.
const (
	// aheadShare is the part of the interval in which the disk must be able to write what commits are ahead.
	aheadShare = 3
	// shipShare is the part of the budget, and of the interval, that is shipped at once.
	shipShare = 4
	// lookShare is the part of the interval after which there is another look at the log, within leastLook and mostLook.
	lookShare           = 50
	leastLook, mostLook = time.Millisecond, 10 * time.Millisecond
	// calm is how long no commit may have waited for the archive until it is said that they are not slowed any more.
	calm = 2 * time.Second
	// slowedLong is for how long commits must have had to wait until that is said.
	slowedLong = time.Second
	// mostMarks bounds how many times are remembered at which the log had grown.
	mostMarks = 1 << 12
)

// Pace says whether commits are slowed because the disk of the archive writes less than they would.
type Pace struct {
	// Since is when commits began to wait time and again; zero if they do not, or have not for long.
	Since time.Time
	// Slowed is for how long commits have waited, since Run began.
	Slowed time.Duration
	// Rate is how many bytes a second the archive takes, by the last appends; 0 before the first that says something.
	Rate float64
	// Budget is by how many bytes commits may be ahead of the archive.
	Budget int64

	// waited is when a commit waited last.
	waited time.Time
}

// ahead acknowledges ahead of the archive.
type ahead struct {
	*Shipper
	acks Acks
	// poked has something in it when there is more to acknowledge.
	poked chan struct{}

	// What follows is its goroutine's. told is up to where was acknowledged.
	told archive.Position
	// sizes are those of the files of the log that have ended, from first on: the one after them is written to.
	first uint32
	sizes []int64
	marks []mark
	// looked is when there was the last look, and held whether a commit waited then.
	looked time.Time
	held   bool
}

// mark says that the log went up to a position at a time.
type mark struct {
	at   archive.Position
	seen int64 // in nanoseconds since start
}

// lookEvery is the time between two looks at a log that is written to.
func (s *Shipper) lookEvery() time.Duration {
	return min(max(s.Interval/lookShare, leastLook), mostLook)
}

// budget is by how many bytes commits may be ahead of the archive.
func (s *Shipper) budget() int64 { return s.speed.takes(s.Interval/aheadShare - s.lookEvery()) }

// Pace says whether commits are slowed at present.
func (s *Shipper) Pace() Pace {
	s.pacing.Lock()
	defer s.pacing.Unlock()
	p := s.pace
	if p.waited.Sub(p.Since) < slowedLong {
		p.Since = time.Time{}
	}
	p.Rate, p.Budget = s.speed.rate(), s.budget()
	return p
}

// acknowledge begins to acknowledge, beside with an Interval: an append may take its time. The context ends when that
// fails, and ended ends it and returns why.
func (r *run) acknowledge(ctx context.Context) (_ context.Context, ended func() error) {
	if r.Acks == nil || r.Interval == 0 {
		r.acks = r.Acks
		return ctx, func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	r.ahead = &ahead{Shipper: r.Shipper, acks: r.Acks, poked: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() {
		err := r.ahead.run(ctx)
		cancel()
		done <- err
	}()
	return ctx, func() error {
		cancel()
		return <-done
	}
}

// most is how many bytes are appended at once at most.
func (r *run) most() int64 {
	if r.ahead == nil {
		return int64(len(r.buf))
	}
	return min(max(r.budget()/shipShare, saysRate), int64(len(r.buf)))
}

// due reports whether it is time to ship. With an interval several small appends become one.
func (r *run) due() (bool, error) {
	if r.Interval == 0 {
		return true, nil
	}
	fi, err := r.file.Stat()
	if err != nil {
		return false, fmt.Errorf("follow the binary log: %w", err)
	}
	n := fi.Size() - r.at.Offset
	if n <= 0 {
		return true, nil // there may be another file
	}
	if r.pending.IsZero() {
		r.pending = time.Now()
		if r.ahead != nil {
			r.ahead.poke()
		}
	}
	return n >= min(r.budget()/shipShare, int64(len(r.buf))) || time.Since(r.pending) >= r.Interval/shipShare, nil
}

// poke has a look taken soon.
func (a *ahead) poke() {
	select {
	case a.poked <- struct{}{}:
	default:
	}
}

// run looks until ctx ends.
func (a *ahead) run(ctx context.Context) error {
	for {
		behind, err := a.look()
		if err != nil {
			return err
		}
		pause := lookAfter
		if behind > 0 {
			pause = a.lookEvery()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-a.poked:
		case <-time.After(pause):
		}
	}
}

// look acknowledges what may be, and returns how many bytes of the log are not archived.
func (a *ahead) look() (behind int64, err error) {
	now := time.Now()
	shipped, budget := a.Shipped(), a.budget()
	shipped.File = max(1, shipped.File)
	end, err := a.end(shipped.File)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // the log was begun again, which who ships it says
	}
	if err != nil {
		return 0, fmt.Errorf("follow the binary log: %w", err)
	}
	to, left := shipped, budget
	for to.File < end.File && a.sizes[to.File-a.first]-to.Offset <= left {
		left -= a.sizes[to.File-a.first] - to.Offset
		to = archive.Position{File: to.File + 1}
	}
	to.Offset += left
	if a.told.Before(to) {
		if err := a.tell(to); err != nil {
			return 0, err
		}
	}
	a.age(now, shipped, end)
	a.note(now, a.told.Before(end))
	behind = end.Offset - shipped.Offset
	for _, size := range a.sizes {
		behind += size
	}
	return behind, nil
}

// tell acknowledges up to a position.
func (a *ahead) tell(to archive.Position) error {
	if !a.Still() { // in another log the same position is something else
		return fmt.Errorf("follow the binary log: %w: %s", ErrRemoved, a.name(to.File))
	}
	var err error
	if to.File != a.told.File {
		err = a.acks.Start(a.name(to.File))
	}
	if err == nil && to.Offset > 0 {
		err = a.acks.Ack(a.name(to.File), to.Offset)
	}
	a.told = to
	return err
}

// end is where the log ends that is followed from a file on.
func (a *ahead) end(from uint32) (archive.Position, error) {
	if n := int(from - a.first); n <= len(a.sizes) {
		a.sizes = a.sizes[n:]
	} else {
		a.sizes = nil
	}
	for a.first = from; ; {
		last := a.first + uint32(len(a.sizes))
		_, next := os.Lstat(a.path(last + 1)) // asked first: the size of one that has ended is its last
		fi, err := os.Lstat(a.path(last))
		if err != nil {
			return archive.Position{}, err
		}
		switch {
		case errors.Is(next, fs.ErrNotExist):
			return archive.Position{File: last, Offset: fi.Size()}, nil
		case next != nil:
			return archive.Position{}, next
		}
		a.sizes = append(a.sizes, fi.Size())
	}
}

// age notes how old the oldest is of what is not archived.
func (a *ahead) age(now time.Time, shipped, end archive.Position) {
	n := 0
	for n < len(a.marks) && !shipped.Before(a.marks[n].at) {
		n++
	}
	if n > 0 {
		a.caught.Store(max(a.caught.Load(), a.marks[n-1].seen))
		a.marks = a.marks[n:]
	}
	if len(a.marks) < mostMarks && (len(a.marks) == 0 || a.marks[len(a.marks)-1].at.Before(end)) {
		a.marks = append(a.marks, mark{end, int64(now.Sub(start))})
	}
}

// note notes whether commits wait.
func (a *ahead) note(now time.Time, held bool) {
	a.pacing.Lock()
	defer a.pacing.Unlock()
	if a.held && held {
		a.pace.Slowed += now.Sub(a.looked)
	}
	switch {
	case held:
		a.pace.waited = now
		if a.pace.Since.IsZero() {
			a.pace.Since = now
		}
	case now.Sub(a.pace.waited) > calm:
		a.pace.Since = time.Time{}
	}
	a.looked, a.held = now, held
}
