package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Sink takes a log as it is read: the files that the server wrote, by their numbers.
type Sink interface {
	// WriteAt writes bytes of a file. They follow those before, or say some of them again.
	WriteAt(file uint32, b []byte, at int64) error
	// Truncate shortens a file, of which nothing may have been written.
	Truncate(file uint32, size int64) error
}

// Discard is a Sink for who wants to know only where a log ends, and that it is whole.
var Discard Sink = discard{}

type discard struct{}

func (discard) WriteAt(uint32, []byte, int64) error { return nil }
func (discard) Truncate(uint32, int64) error        { return nil }

// ReadLog gives the log of an epoch to a sink, from its oldest segment on, and returns where it
// begins and where it ends. A frame that is not whole ends the log if nothing comes behind it, since
// then nobody was told that it lasts; anywhere else it is a *DamagedError, as is a part that is
// missing.
func ReadLog(d Disk, id LogID, to Sink) (from, end Position, err error) {
	list, err := id.Segments(d)
	if err != nil {
		return from, end, err
	}
	return readSegments(d, id, list, to)
}

// ReadLogFrom is ReadLog without the segments that hold nothing of a file or of later ones.
func ReadLogFrom(d Disk, id LogID, file uint32, to Sink) (from, end Position, err error) {
	list, err := id.Segments(d)
	if err != nil {
		return from, end, err
	}
	i, err := lastFrom(d, id, list, func(p Position) bool { return p.File < file || p == Position{File: file} })
	if err != nil {
		return from, end, err
	}
	return readSegments(d, id, list[max(0, i):], to)
}

// EndOf returns where the log of an epoch ends, zero if there is none of it, and how many bytes it has up
// to there, pruned ones included. It reads no more than the last segment that has some.
func EndOf(d Disk, id LogID) (end Position, total int64, err error) {
	list, err := id.Segments(d)
	if err != nil {
		return end, 0, err
	}
	r, err := readEnd(d, id, list)
	if err != nil {
		return end, 0, err
	}
	return r.end, r.total, nil
}

// readEnd reads the last segment that has frames.
func readEnd(d Disk, id LogID, list []uint64) (*logReader, error) {
	r := &logReader{disk: d, id: id, to: Discard}
	i, err := lastFrom(d, id, list, func(Position) bool { return true })
	if err != nil || i < 0 {
		return r, err
	}
	err = r.segments(list[i:])
	return r, err
}

// lastFrom is the index of the last segment whose first frame is at a place that wanted accepts, -1 if
// there is none. What comes after that place is in that segment and later ones.
func lastFrom(d Disk, id LogID, list []uint64, wanted func(Position) bool) (int, error) {
	for i := len(list) - 1; i >= 0; i-- {
		f, ok, err := id.first(d, list[i])
		if err != nil {
			return 0, err
		}
		if ok && wanted(f.at) {
			return i, nil
		}
	}
	return -1, nil
}

func readSegments(d Disk, id LogID, list []uint64, to Sink) (from, end Position, err error) {
	r := &logReader{disk: d, id: id, to: to}
	err = r.segments(list)
	return r.from, r.end, err
}

// logReader reads segment after segment.
type logReader struct {
	disk Disk
	id   LogID
	to   Sink

	some      bool // a frame was read
	from, end Position
	total     int64 // bytes before end
	last      frame // its payload is the reader's own
	place     Place // behind last
}

func (r *logReader) segments(list []uint64) error {
	for i, n := range list {
		if more, err := r.segment(n, list[i+1:]); err != nil || !more {
			return err
		}
	}
	return nil
}

// segment reads a segment, and says whether a later one has frames. The log may be written meanwhile: what is
// not whole at first may be a moment later.
func (r *logReader) segment(n uint64, later []uint64) (ended bool, err error) {
	f, err := r.disk.Open(r.id.segment(n))
	if err != nil {
		return false, fmt.Errorf("read segment: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := r.id.checkHeader(f, n); err != nil {
		return false, err
	}
	s := &scan{file: f, id: r.id, number: n, block: newBuffer()}
	if err := r.frames(s); err != nil {
		return false, err
	}
	if ended, err = r.id.used(r.disk, later); err != nil {
		return false, err
	}
	if ended { // nothing comes into this one any more: what came meanwhile is read now
		if err := r.frames(s); err != nil {
			return false, err
		}
	}
	at, more, err := s.more()
	if err != nil || !more {
		return ended, err
	}
	was := s.at
	if err := r.frames(s); err != nil {
		return false, err
	}
	if s.at == was {
		return false, s.torn(at)
	}
	return ended, nil
}

// frames reads the frames that are whole, up to one that is not.
func (r *logReader) frames(s *scan) error {
	for {
		at, first := s.at, s.at <= BlockSize
		fr, ok, err := s.next()
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		if why := r.follows(fr, first); why != "" {
			return &DamagedError{File: r.id.segment(s.number), Offset: max(at, BlockSize), Reason: why}
		}
		if err := r.take(fr); err != nil {
			return err
		}
		r.place = Place{s.number, s.at}
	}
}

// follows says why a frame cannot come next, or "". The first of a segment may say again what
// the one before has: its writer was told that it does not last.
func (r *logReader) follows(f frame, first bool) string {
	switch {
	case f.kind != frameData && f.kind != frameCut:
		return fmt.Sprintf("a frame of kind %d", f.kind)
	case !r.some || f.at == r.end:
		return ""
	case f.kind == frameData && f.at == Position{File: r.end.File + 1}:
		return ""
	case f.at.File == r.end.File && f.at.Before(r.end) && (first || f.kind == frameCut):
		return ""
	}
	return fmt.Sprintf("it goes on at %s, and the log before it ends at %s", f.at, r.end)
}

func (r *logReader) take(f frame) error {
	if !r.some {
		r.some, r.from, r.end = true, f.at, f.at
	}
	if f.at.Before(r.from) { // cut to what was pruned
		r.from = f.at
	}
	if f.at.File == r.end.File && f.at.Before(r.end) {
		if err := r.to.Truncate(f.at.File, f.at.Offset); err != nil {
			return err
		}
	}
	r.end, r.total = f.at, f.total+int64(len(f.payload))
	kept := r.last.payload[:0]
	kept = append(kept, f.payload...)
	r.last = f
	r.last.payload = kept
	if len(f.payload) == 0 {
		return nil
	}
	r.end.Offset += int64(len(f.payload))
	return r.to.WriteAt(f.at.File, f.payload, f.at.Offset)
}

// scan reads the frames of a segment.
type scan struct {
	file   File
	id     LogID
	number uint64
	at     int64 // of the next frame; 0 before the first
	block  []byte
}

// next reads the next frame; ok is false where there is none that is whole. The payload holds until
// the next call.
func (s *scan) next() (f frame, ok bool, err error) {
	s.at = max(s.at, BlockSize)
	if s.at+BlockSize > segmentSize {
		return f, false, nil
	}
	if err := s.read(s.block[:BlockSize], s.at); err != nil {
		return f, false, err
	}
	n, ok := frameLength(s.block, s.number)
	size := frameSize(n)
	if !ok || s.at+size > segmentSize {
		return f, false, nil
	}
	if err := s.read(s.block[BlockSize:size], s.at+BlockSize); err != nil {
		return f, false, err
	}
	if !f.decode(s.block[:size], s.number, s.id.key()) {
		return f, false, nil
	}
	s.at += size
	return f, true, nil
}

// more looks for a whole frame behind the place where none was.
func (s *scan) more() (at int64, is bool, err error) {
	for at := s.at + BlockSize; at+BlockSize <= segmentSize; at += BlockSize {
		behind := *s
		behind.at = at
		if _, is, err := behind.next(); is || err != nil {
			return at, is, err
		}
	}
	return 0, false, nil
}

// torn is the error of a frame that is not whole, with another one behind it.
func (s *scan) torn(behind int64) error {
	return &DamagedError{File: s.id.segment(s.number), Offset: s.at, Reason: fmt.Sprintf("a frame is not whole, and another stands behind it, at byte %d", behind)}
}

// read reads blocks; those behind the end of the file are zeros.
func (s *scan) read(b []byte, at int64) error {
	n, err := s.file.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		clear(b[n:])
		err = nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", s.id.segment(s.number), err)
	}
	return nil
}

// first is the first frame of a segment, without its payload; ok is false if it has none. One that is gone has
// none: whoever goes on with a log removes those at its end that were never used.
func (id LogID) first(d Disk, n uint64) (fr frame, ok bool, err error) {
	f, err := d.Open(id.segment(n))
	if errors.Is(err, fs.ErrNotExist) {
		return fr, false, nil
	}
	if err != nil {
		return fr, false, fmt.Errorf("read segment: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fr, ok, err = (&scan{file: f, id: id, number: n, block: newBuffer()}).next()
	fr.payload = nil
	return fr, ok, err
}

// firstOf is the first frame of the first of some segments that has one.
func (id LogID) firstOf(d Disk, list []uint64) (fr frame, ok bool, err error) {
	for _, n := range list {
		if fr, ok, err = id.first(d, n); ok || err != nil {
			break
		}
	}
	return fr, ok, err
}

// used reports whether one of some segments has frames.
func (id LogID) used(d Disk, list []uint64) (bool, error) {
	_, ok, err := id.firstOf(d, list)
	return ok, err
}
