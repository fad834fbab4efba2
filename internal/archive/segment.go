package archive

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// SegmentSize is the length of a segment in bytes. All of it is written before it is used, so that
// a synchronous write changes nothing but its own blocks: appending to a file costs a journal
// commit of the file system at each write, 120 to 160 us instead of 70 to 80.
const SegmentSize = 16 << 20

// segmentSize is SegmentSize but in tests, and beside calls f on a goroutine of its own.
var (
	segmentSize int64 = SegmentSize
	beside            = func(f func()) { go f() }
)

// newBuffer has room for the largest frame of a segment.
func newBuffer() []byte { return Blocks(int(min(1<<20, segmentSize))) }

const (
	segmentMagic  = "RAMASEG\x01" // the last byte is the version
	segmentSuffix = ".segment"
	// newSuffix is that of segments which are being made.
	newSuffix = ".new"
)

// LogID says whose log a segment belongs to.
type LogID struct {
	Archive ID
	Epoch   uint32
}

// key makes the checksums of this log differ from those of others.
func (id LogID) key() uint32 { return Key(id.Archive, id.Epoch) }

// dir is where the segments of the log lie.
func (id LogID) dir() string { return fmt.Sprintf("log/%06d", id.Epoch) }

func (id LogID) segment(n uint64) string {
	return path.Join(id.dir(), fmt.Sprintf("%012d", n)+segmentSuffix)
}

// header is the first block of a segment: magic 8, archive 16, epoch 4, reserved 4, number 8,
// CRC-32C 4 of these.
func (id LogID) header(n uint64) []byte {
	b := Blocks(BlockSize)
	copy(b, segmentMagic)
	copy(b[8:], id.Archive[:])
	le.PutUint32(b[24:], id.Epoch)
	le.PutUint64(b[32:], n)
	le.PutUint32(b[40:], Sum(0, b[:40]))
	return b
}

// Segments returns the numbers of the segments of a log, which follow each other.
func (id LogID) Segments(d Disk) ([]uint64, error) {
	names, err := d.Names(id.dir())
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	var list []uint64
	for _, name := range names {
		digits, ours := strings.CutSuffix(name, segmentSuffix)
		if !ours {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			return nil, &DamagedError{File: path.Join(id.dir(), name), Reason: "its name is no number"}
		}
		if k := len(list); k > 0 && n != list[k-1]+1 {
			return nil, &DamagedError{File: id.segment(list[k-1] + 1), Reason: fmt.Sprintf("it is missing, and segment %d is there", n)}
		}
		list = append(list, n)
	}
	return list, nil
}

// DamagedError says that an archive is not what was written, and where.
type DamagedError struct {
	File   string
	Offset int64
	Reason string
}

// Error names file, place and reason.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the archive is damaged: %s, byte %d: %s", e.File, e.Offset, e.Reason)
}

// checkHeader reads the first block of a segment.
func (id LogID) checkHeader(f File, n uint64) error {
	b := make([]byte, BlockSize)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read segment: %w", err)
	}
	if string(b[:44]) != string(id.header(n)[:44]) {
		return &DamagedError{File: id.segment(n), Reason: "it does not begin as segment " + strconv.FormatUint(n, 10) + " of this log"}
	}
	return nil
}
