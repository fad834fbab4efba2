package archive

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

// BlockSize is what frames are aligned to, in bytes: no block that holds a frame which lasts is
// ever written again, since a power failure could tear it. It is the page of flash and the sector
// of disks; smaller ones are rewritten by the disk itself as a whole.
const BlockSize = 4096

// MaxPayload is how many bytes of the log a frame holds at most.
const MaxPayload = 1<<20 - frameHeader

const (
	frameMagic  = 0x6d724652 // "RFrm"
	frameHeader = 48
	sumAt       = frameHeader - 4 // of the checksum
)

// Position is a place in the log of an epoch: a file by its number, and bytes from its beginning.
type Position struct {
	File   uint32 `json:"file"`
	Offset int64  `json:"offset"`
}

// String returns "3:1024".
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.File, p.Offset) }

// Before reports whether p comes before q.
func (p Position) Before(q Position) bool {
	return p.File < q.File || p.File == q.File && p.Offset < q.Offset
}

// frameKind is what a frame says.
type frameKind uint32

const (
	// frameData has bytes of the log from a position on.
	frameData frameKind = 1
	// frameCut says that the log ends at a position: a server that was killed shortens its log
	// by an event that is not whole.
	frameCut frameKind = 2
)

// frame is a part of the log, or a word about it, in a segment.
type frame struct {
	kind    frameKind
	segment uint64
	at      Position
	// total is how many bytes the log has before at.
	total int64
	// written is when it was first written, in seconds since 1970; 0 if that is not known.
	written uint32
	payload []byte
}

// frameSize is the length of a frame in a segment, in bytes, with n of payload.
func frameSize(n int) int64 {
	return (frameHeader + int64(n) + BlockSize - 1) / BlockSize * BlockSize
}

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// encode writes a frame into b, which has frameSize bytes or more, and returns them.
// The layout, little endian: magic 4, kind 4, segment 8, file 4, length 4, offset 8, total 8, time 4,
// CRC-32C 4 of all before and of the payload; then the payload, and zeros up to a whole block.
func (f *frame) encode(b []byte, key uint32) []byte {
	b = b[:frameSize(len(f.payload))]
	le.PutUint32(b[0:], frameMagic)
	le.PutUint32(b[4:], uint32(f.kind))
	le.PutUint64(b[8:], f.segment)
	le.PutUint32(b[16:], f.at.File)
	le.PutUint32(b[20:], uint32(len(f.payload)))
	le.PutUint64(b[24:], uint64(f.at.Offset))
	le.PutUint64(b[32:], uint64(f.total))
	le.PutUint32(b[40:], f.written)
	n := copy(b[frameHeader:], f.payload)
	clear(b[frameHeader+n:])
	le.PutUint32(b[sumAt:], frameSum(b, n, key))
	return b
}

// frameSum is the checksum of a frame with n bytes of payload. The key keeps frames of another
// archive or epoch, in a segment that is used again, from being taken for this one's.
func frameSum(b []byte, n int, key uint32) uint32 {
	return Sum(key, b[:sumAt], b[frameHeader:frameHeader+n])
}

// time is when the frame was first written, zero if that is not known.
func (f *frame) time() time.Time {
	if f.written == 0 {
		return time.Time{}
	}
	return time.Unix(int64(f.written), 0)
}

// end is where the log ends behind the frame.
func (f *frame) end() Position { return Position{f.at.File, f.at.Offset + int64(len(f.payload))} }

// Key is what the checksums of a log, or of a base backup, begin with: that of the archive's id and
// of the number of the epoch, or of the base.
func Key(archive [16]byte, n uint32) uint32 { return Sum(0, le.AppendUint32(archive[:], n)) }

// Sum goes on with a checksum, CRC-32C, over parts.
func Sum(sum uint32, parts ...[]byte) uint32 {
	for _, b := range parts {
		sum = crc32.Update(sum, castagnoli, b)
	}
	return sum
}

// frameLength returns how many bytes of payload the frame that b begins with has; ok is false if
// none of this segment begins there.
func frameLength(b []byte, segment uint64) (n int, ok bool) {
	if le.Uint32(b) != frameMagic || le.Uint64(b[8:]) != segment {
		return 0, false
	}
	n = int(le.Uint32(b[20:]))
	return n, n <= MaxPayload
}

// decode reads the frame that b begins with, whole; ok is false if it is not as it was written.
// The payload is part of b.
func (f *frame) decode(b []byte, segment uint64, key uint32) (ok bool) {
	n, ok := frameLength(b, segment)
	if !ok || frameSize(n) > int64(len(b)) || le.Uint32(b[sumAt:]) != frameSum(b, n, key) {
		return false
	}
	f.kind, f.segment = frameKind(le.Uint32(b[4:])), segment
	f.at = Position{le.Uint32(b[16:]), int64(le.Uint64(b[24:]))}
	f.total = int64(le.Uint64(b[32:]))
	f.written = le.Uint32(b[40:])
	f.payload = b[frameHeader : frameHeader+n]
	return true
}

// Blocks returns n bytes that WriteSync takes: they begin at a multiple of BlockSize in memory, as
// direct I/O wants it.
func Blocks(n int) []byte {
	b := make([]byte, n+BlockSize)
	return b[align(b):][:n:n]
}
