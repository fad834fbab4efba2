package archive

import (
	"errors"
	"fmt"
	"path"
)

// SettledEnd is EndOf for a log that no writer has open, and is over: what it has up to there lasts. Its last
// writer may have been killed before the last frame did; that is said again, in a segment of its own.
func SettledEnd(d Disk, id LogID) (end Position, total int64, err error) {
	list, err := id.Segments(d)
	if err != nil || len(list) == 0 {
		return end, 0, err
	}
	if err := d.SyncDir(id.dir()); err != nil {
		return end, 0, fmt.Errorf("end the log: %w", err)
	}
	last, err := readEnd(d, id, list)
	if err != nil || !last.some {
		return end, 0, err
	}
	r, err := NewRebuild(d, id, list[len(list)-1]+1)
	if err != nil {
		return end, 0, err
	}
	last.last.segment = r.number
	if err := r.Put(last.last.encode(newBuffer(), id.key()), BlockSize); err != nil {
		return end, 0, errors.Join(err, r.Abort())
	}
	return last.end, last.total, r.Finish()
}

// Rebuild makes a segment again from slices of one. A log that is rebuilt reads as the one that it
// comes from does, and OpenLog goes on with it.
type Rebuild struct {
	disk   Disk
	id     LogID
	number uint64
	file   File
}

// NewRebuild begins a segment, in place of one that is there.
func NewRebuild(d Disk, id LogID, segment uint64) (*Rebuild, error) {
	for _, dir := range []string{"log", id.dir()} {
		if err := d.Mkdir(dir); err != nil {
			return nil, fmt.Errorf("rebuild segment: %w", err)
		}
		if err := d.SyncDir(path.Dir(dir)); err != nil {
			return nil, fmt.Errorf("rebuild segment: %w", err)
		}
	}
	f, err := d.Create(id.segment(segment) + newSuffix)
	if err != nil {
		return nil, fmt.Errorf("rebuild segment: %w", err)
	}
	if _, err := f.WriteAt(id.header(segment), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("rebuild segment: %w", err), f.Close())
	}
	return &Rebuild{disk: d, id: id, number: segment, file: f}, nil
}

// ErrFrames says that bytes are no frames of the segment.
var ErrFrames = errors.New("they are no frames of this segment")

// Put writes the blocks of a slice. ErrFrames says that they are none.
func (r *Rebuild) Put(blocks []byte, at int64) error {
	if at < BlockSize || at%BlockSize != 0 || at+int64(len(blocks)) > segmentSize {
		return fmt.Errorf("rebuild %s: %d bytes at %d: %w", r.id.segment(r.number), len(blocks), at, ErrFrames)
	}
	for b := blocks; len(b) > 0; {
		var f frame
		if len(b) < BlockSize || !f.decode(b, r.number, r.id.key()) {
			return fmt.Errorf("rebuild %s: byte %d: %w", r.id.segment(r.number), at+int64(len(blocks)-len(b)), ErrFrames)
		}
		b = b[frameSize(len(f.payload)):]
	}
	if _, err := r.file.WriteAt(blocks, at); err != nil {
		return fmt.Errorf("rebuild segment: %w", err)
	}
	return nil
}

// Begins is where in the server's log the blocks of a slice begin.
func (id LogID) Begins(blocks []byte, segment uint64) (Position, error) {
	var f frame
	if len(blocks) < BlockSize || !f.decode(blocks, segment, id.key()) {
		return Position{}, ErrFrames
	}
	return f.at, nil
}

// Finish gives the segment its name; it lasts then.
func (r *Rebuild) Finish() error {
	name := r.id.segment(r.number)
	if err := errors.Join(r.file.Sync(), r.file.Close()); err != nil {
		return fmt.Errorf("rebuild segment: %w", err)
	}
	if err := r.disk.Rename(name+newSuffix, name); err != nil {
		return fmt.Errorf("rebuild segment: %w", err)
	}
	if err := r.disk.SyncDir(r.id.dir()); err != nil {
		return fmt.Errorf("rebuild segment: %w", err)
	}
	return nil
}

// Abort leaves the segment as it was.
func (r *Rebuild) Abort() error { return r.file.Close() }
