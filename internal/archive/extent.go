package archive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// ExtentName is the file of an archive that says how far its log goes.
const ExtentName = "extent"

// Extent says how far the log of an archive went at a time. All of the log before Place lasted then: it
// may go farther, and never less far.
type Extent struct {
	Archive ID
	// Epoch is the epoch that went on then, and Place where its log ended; zero if it had none yet.
	Epoch uint32
	Place Place
	// At is the same as a position of the server's log.
	At   Position
	Time time.Time
	// Work is how long it is expected to take to replay the log behind the newest base, on the machine that costs were
	// measured on; 0 if that is not known. It has the precision of a microsecond.
	Work time.Duration
}

const (
	extentMagic = "RAMAEXT\x01" // the last byte is the version
	// extentSum is where the checksum of a slot is.
	extentSum = 80
	// extentSlots are the blocks of the file, which are written in turn: a power cut tears one, and leaves the
	// other.
	extentSlots = 2
)

// encode makes a slot: magic 8, archive 16, epoch 4, file 4, number of the writing 8, segment 8, offset in it 8,
// offset in the file 8, time in microseconds 8, work in microseconds 8, CRC-32C 4 of all before. Numbers are little endian.
func (x Extent) encode(b []byte, seq uint64) {
	clear(b)
	copy(b, extentMagic)
	copy(b[8:], x.Archive[:])
	le.PutUint32(b[24:], x.Epoch)
	le.PutUint32(b[28:], x.At.File)
	le.PutUint64(b[32:], seq)
	le.PutUint64(b[40:], x.Place.Segment)
	le.PutUint64(b[48:], uint64(x.Place.Offset))
	le.PutUint64(b[56:], uint64(x.At.Offset))
	le.PutUint64(b[64:], uint64(x.Time.UnixMicro()))
	le.PutUint64(b[72:], uint64(x.Work.Microseconds()))
	le.PutUint32(b[extentSum:], Sum(0, b[:extentSum]))
}

// decodeExtent reads a slot; ok is false if it is not as it was written.
func decodeExtent(b []byte) (x Extent, seq uint64, ok bool) {
	if string(b[:8]) != extentMagic || le.Uint32(b[extentSum:]) != Sum(0, b[:extentSum]) {
		return x, 0, false
	}
	copy(x.Archive[:], b[8:])
	x.Epoch, seq = le.Uint32(b[24:]), le.Uint64(b[32:])
	x.Place = Place{le.Uint64(b[40:]), int64(le.Uint64(b[48:]))}
	x.At = Position{le.Uint32(b[28:]), int64(le.Uint64(b[56:]))}
	x.Time = time.UnixMicro(int64(le.Uint64(b[64:])))
	x.Work = time.Duration(le.Uint64(b[72:])) * time.Microsecond
	return x, seq, true
}

// ReadExtent reads an extent file: fs.ErrNotExist if it is not there, a *DamagedError if it is not as it was
// written.
func ReadExtent(d Disk, name string) (Extent, error) {
	f, err := d.Open(name)
	if err != nil {
		return Extent{}, fmt.Errorf("read how far the log goes: %w", err)
	}
	x, _, err := readExtent(f, name)
	return x, errors.Join(err, f.Close())
}

func readExtent(f File, name string) (x Extent, seq uint64, err error) {
	b := make([]byte, extentSlots*BlockSize)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return x, 0, fmt.Errorf("read how far the log goes: %w", err)
	}
	clear(b[n:])
	some := false
	for at := 0; at < len(b); at += BlockSize {
		if one, no, ok := decodeExtent(b[at:]); ok && (!some || no > seq) {
			x, seq, some = one, no, true
		}
	}
	if !some {
		return x, 0, &DamagedError{File: name, Reason: "it does not say how far the log goes"}
	}
	return x, seq, nil
}

// WriteExtent makes an extent file, in place of one that is there. It lasts when it returns.
func WriteExtent(d Disk, name string, x Extent) error {
	b := make([]byte, extentSlots*BlockSize)
	x.encode(b[:BlockSize], 0)
	x.encode(b[BlockSize:], 1)
	if err := WriteFile(d, name, b); err != nil {
		return fmt.Errorf("say how far the log goes: %w", err)
	}
	return nil
}

// ExtentFile is an extent file that is kept up to date: by one write that changes nothing but its own block. It is
// for one goroutine.
type ExtentFile struct {
	file  File
	seq   uint64
	block []byte
}

// OpenExtent opens an extent file to keep it up to date, and makes one that is not there, is damaged, or is of another
// archive.
func OpenExtent(d Disk, name string, x Extent) (*ExtentFile, error) {
	there, err := ReadExtent(d, name)
	var damaged *DamagedError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &damaged) || err == nil && there.Archive != x.Archive {
		err = WriteExtent(d, name, x)
	} else if err == nil {
		err = d.SyncDir(".") // who made it may have been killed before its name lasted
	}
	if err != nil {
		return nil, err
	}
	f, err := d.Open(name)
	if err != nil {
		return nil, fmt.Errorf("say how far the log goes: %w", err)
	}
	_, seq, err := readExtent(f, name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &ExtentFile{file: f, seq: seq, block: Blocks(BlockSize)}, nil
}

// Renew replaces the older of the two slots. After an error that slot is written again by the next one: the other is
// whole.
func (f *ExtentFile) Renew(x Extent) error {
	next := f.seq + 1
	x.encode(f.block, next)
	if err := f.file.WriteSync(f.block, int64(next%extentSlots)*BlockSize); err != nil {
		return fmt.Errorf("say how far the log goes: %w", err)
	}
	f.seq = next
	return nil
}

// Close ends the use of the file.
func (f *ExtentFile) Close() error { return f.file.Close() }
