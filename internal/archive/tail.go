package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
)

// Place is a byte in the segments of a log. Frames stand one behind the other from BlockSize on, and
// what has been written there never changes.
type Place struct {
	Segment uint64
	Offset  int64
}

// String returns "3+4096".
func (p Place) String() string { return fmt.Sprintf("%d+%d", p.Segment, p.Offset) }

// Before reports whether p comes before q.
func (p Place) Before(q Place) bool {
	return p.Segment < q.Segment || p.Segment == q.Segment && p.Offset < q.Offset
}

// All is the limit of a Tail on a log that nothing appends to.
var All = Place{Segment: math.MaxUint64}

// ErrPruned says that the segment that comes next was pruned.
var ErrPruned = errors.New("this part of the log was pruned")

// Logs returns the logs of an archive, by their epochs.
func Logs(d Disk, archive [16]byte) ([]LogID, error) {
	names, err := d.Names("log")
	if err != nil {
		return nil, fmt.Errorf("list logs: %w", err)
	}
	var list []LogID
	for _, name := range names {
		n, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			return nil, &DamagedError{File: "log/" + name, Reason: "its name is no epoch"}
		}
		list = append(list, LogID{archive, uint32(n)})
	}
	return list, nil
}

// Tail reads the segments of a log as they are, from a place on, beside the Log that writes them.
type Tail struct {
	disk Disk
	id   LogID
	at   Place
	scan *scan // of the segment at; nil before it is opened
}

// Slice is a run of whole frames of one segment.
type Slice struct {
	Segment  uint64
	From, To int64
	Blocks   []byte
	// Bytes is how many bytes of the server's log are in it, and End where that ends.
	Bytes int64
	End   Position
}

// NewTail begins at a place where a frame begins; the zero one is the oldest there is.
func NewTail(d Disk, id LogID, at Place) *Tail { return &Tail{disk: d, id: id, at: at} }

// At is where the next slice begins, or comes behind.
func (t *Tail) At() Place { return t.at }

// Next returns the frames that follow, of one segment and before a limit, which is what Log.Lasts
// has returned for this log, or All. It returns no blocks when there are none yet. ErrPruned says
// that they were there and are no more, and a *DamagedError that they are not as they were written.
func (t *Tail) Next(limit Place) (Slice, error) {
	for {
		if t.scan == nil {
			if there, err := t.open(t.at.Segment, limit); err != nil || !there {
				return Slice{}, err
			}
		}
		// Asked before the segment is read: nothing comes into it after that.
		ended, err := t.ended(limit)
		if err != nil {
			return Slice{}, err
		}
		s, err := t.read(limit)
		if err != nil || len(s.Blocks) > 0 || !ended {
			return s, err
		}
		if there, err := t.turn(limit); err != nil || !there {
			return s, err
		}
	}
}

// open opens a segment, 0 for the oldest; it says false if there is nothing to read in it yet. Before
// the writer has used it, it may be made again, as another file.
func (t *Tail) open(n uint64, limit Place) (bool, error) {
	list, err := t.id.Segments(t.disk)
	if err != nil || len(list) == 0 {
		return false, err
	}
	if n == 0 {
		n = list[0]
	}
	if n < list[0] {
		return false, fmt.Errorf("follow the log: segment %d: %w", n, ErrPruned)
	}
	if n > list[len(list)-1] || !(Place{n, BlockSize}).Before(limit) {
		return false, nil
	}
	if limit == All { // without a limit that says so: whoever goes on with the log makes it again
		i, _ := slices.BinarySearch(list, n)
		if used, err := t.id.used(t.disk, list[i:]); err != nil || !used {
			return false, err
		}
	}
	f, err := t.disk.Open(t.id.segment(n))
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("follow the log: segment %d: %w", n, ErrPruned)
	}
	if err != nil {
		return false, fmt.Errorf("follow the log: %w", err)
	}
	if err := t.id.checkHeader(f, n); err != nil {
		return false, errors.Join(err, f.Close())
	}
	if t.at.Segment != n {
		t.at = Place{Segment: n}
	}
	t.at.Offset = max(t.at.Offset, BlockSize)
	t.scan = &scan{file: f, id: t.id, number: n, at: t.at.Offset, block: newBuffer()}
	return true, nil
}

// ended reports whether nothing more is written to the segment: the next one is.
func (t *Tail) ended(limit Place) (bool, error) {
	if limit != All {
		return t.at.Segment < limit.Segment, nil
	}
	list, err := t.id.Segments(t.disk)
	if err != nil {
		return false, err
	}
	i, found := slices.BinarySearch(list, t.at.Segment)
	if found {
		i++
	}
	return t.id.used(t.disk, list[i:])
}

// read reads what the segment has.
func (t *Tail) read(limit Place) (Slice, error) {
	s := Slice{Segment: t.at.Segment, From: t.at.Offset, To: t.at.Offset}
	for s.To < segmentSize && (Place{s.Segment, s.To}).Before(limit) {
		f, ok, err := t.scan.next()
		if err != nil {
			return s, err
		}
		if !ok {
			if s.Segment == limit.Segment {
				return s, &DamagedError{File: t.id.segment(s.Segment), Offset: s.To, Reason: "the frame is not whole, and it lasted"}
			}
			break
		}
		s.Blocks = append(s.Blocks, t.scan.block[:t.scan.at-s.To]...)
		s.To = t.scan.at
		s.Bytes += int64(len(f.payload))
		s.End = Position{f.at.File, f.at.Offset + int64(len(f.payload))}
	}
	t.at.Offset = s.To
	return s, nil
}

// turn goes to the next segment; it says false if that is not there yet.
func (t *Tail) turn(limit Place) (bool, error) {
	if at, more, err := t.scan.more(); err != nil {
		return false, err
	} else if more {
		return false, t.scan.torn(at)
	}
	last := t.scan
	there, err := t.open(t.at.Segment+1, limit)
	if there {
		err = last.file.Close()
	}
	return there, err
}

// Close ends the use of the tail; it may be called twice.
func (t *Tail) Close() error {
	if t.scan == nil {
		return nil
	}
	err := t.scan.file.Close()
	t.scan = nil
	return err
}
