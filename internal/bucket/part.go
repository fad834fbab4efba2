package bucket

import (
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ramaria-db/ramaria/internal/archive"
)

const (
	partMagic  = "RPrt"
	partFormat = 1
	partHeader = 44
)

var le = binary.LittleEndian

// part is a piece of a segment, in an object.
type part struct {
	span
	// after is where the log stood before: the beginning of the part, or the end of the segment
	// before its own. It is zero where the log in the bucket begins.
	after archive.Place
	// before is the checksum of the segment's blocks before the part, or of those of the segment
	// that after is in.
	before uint32
	made   time.Time
	blocks []byte
}

// key makes the checksums of a part differ from those of another log, or another place.
func (s span) key(archiveID [16]byte) uint32 {
	b := le.AppendUint64(nil, s.segment)
	b = le.AppendUint64(b, uint64(s.from))
	return archive.Sum(archive.Key(archiveID, s.epoch), le.AppendUint64(b, uint64(s.to)))
}

// encoder and decoder hold some memory, and are made when they are needed.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(archive.SegmentSize))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
)

// encode makes the object: magic 4, version 4, segment of after 8, its offset 8, when it was made in
// microseconds 8, checksum of the blocks before 4, zeros 4, CRC-32C 4 of all before and of what
// follows; then the blocks in a zstd frame. Numbers are little endian.
func (p *part) encode(archiveID [16]byte) []byte {
	b := make([]byte, partHeader, partHeader+len(p.blocks)/8)
	copy(b, partMagic)
	le.PutUint32(b[4:], partFormat)
	le.PutUint64(b[8:], p.after.Segment)
	le.PutUint64(b[16:], uint64(p.after.Offset))
	le.PutUint64(b[24:], uint64(p.made.UnixMicro()))
	le.PutUint32(b[32:], p.before)
	b = encoder().EncodeAll(p.blocks, b)
	le.PutUint32(b[40:], partSum(b, p.key(archiveID)))
	return b
}

func partSum(b []byte, key uint32) uint32 { return archive.Sum(key, b[:40], b[partHeader:]) }

// decodePart reads an object. Its errors name it.
func decodePart(s span, archiveID [16]byte, b []byte) (*part, error) {
	if len(b) < partHeader || string(b[:4]) != partMagic {
		return nil, &DamagedError{s.name(), "it is no part of a log"}
	}
	if v := le.Uint32(b[4:]); v != partFormat {
		return nil, &DamagedError{s.name(), fmt.Sprintf("it has the format %d, and this program reads %d", v, partFormat)}
	}
	if partSum(b, s.key(archiveID)) != le.Uint32(b[40:]) {
		return nil, &DamagedError{s.name(), "its checksum is wrong"}
	}
	p := &part{span: s, after: archive.Place{Segment: le.Uint64(b[8:]), Offset: int64(le.Uint64(b[16:]))}, before: le.Uint32(b[32:])}
	p.made = time.UnixMicro(int64(le.Uint64(b[24:])))
	var err error
	if p.blocks, err = decoder().DecodeAll(b[partHeader:], nil); err != nil {
		return nil, &DamagedError{s.name(), err.Error()}
	}
	if int64(len(p.blocks)) != s.to-s.from {
		return nil, &DamagedError{s.name(), fmt.Sprintf("it holds %d bytes", len(p.blocks))}
	}
	return p, nil
}

// DamagedError says that the bucket does not hold what was written, and which object it is.
type DamagedError struct {
	Object string
	Reason string
}

// InLog reports whether it is a part of the log.
func (e *DamagedError) InLog() bool { return strings.HasPrefix(e.Object, logPrefix) }

// Error names the object and the reason.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the archive in the bucket is damaged: object %s: %s", e.Object, e.Reason)
}
