package binlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const (
	headerLen   = 19 // LOG_EVENT_HEADER_LEN
	checksumLen = 4

	// MaxEvent is the largest length, in bytes, that is believed of an event: the
	// largest packet a server takes is 1 GiB, and a row is not much longer.
	MaxEvent = 1<<30 + 64<<20

	// flagInUse marks the format description of a log that is being written
	// (LOG_EVENT_BINLOG_IN_USE_F); it is not part of the checksum.
	flagInUse = 0x01
	// flagIgnorable marks events that a reader who does not know them may skip
	// (LOG_EVENT_IGNORABLE_F).
	flagIgnorable = 0x80
)

var le = binary.LittleEndian

// Position is a place in a log.
type Position struct {
	// File is a name without directory ("binlog.000001").
	File string
	// Offset is in bytes from the beginning of the file; events begin at 4.
	Offset int64
}

// String returns "binlog.000001:4".
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Offset) }

// Event is one event of a log. Parse what is needed of it with [ParseQuery],
// [Maps.Get], [ParseRows] and so on.
type Event struct {
	Type EventType
	// Restarted is set on the format description of a file whose predecessor was not
	// ended by a rotation: the server was shut down or killed in between, and a
	// transaction that was not yet complete there never will be.
	Restarted bool
	// Timestamp is in seconds of the epoch, ServerID who wrote the event, Flags the
	// header's.
	Timestamp uint32
	ServerID  uint32
	Flags     uint16
	// File, Offset and Length are where the event stands; Length includes header and
	// checksum.
	File   string
	Offset int64
	Length int64
	// Body is what follows the header, without a checksum. It belongs to who gave the
	// event out, and holds until that is asked for the next one.
	Body []byte
	// Format is that of the file.
	Format *Format
}

// Pos returns where the event begins.
func (e *Event) Pos() Position { return Position{e.File, e.Offset} }

// Skippable reports whether an event of an unknown kind may be passed over,
// since its writer says so.
func (e *Event) Skippable() bool { return e.Flags&flagIgnorable != 0 }

// ParseEvent parses the event that b begins with, of a log with the given format; nil
// stands for a format description event, which is the only one without. Its position is
// left empty. Errors are of type *CorruptError, also where b is not long enough.
func ParseEvent(b []byte, f *Format) (Event, error) {
	n, err := eventLen(b, f)
	if err != nil {
		return Event{}, err
	}
	if n > int64(len(b)) {
		return Event{}, corrupt("event", "%d bytes of %d", len(b), n)
	}
	var e Event
	err = e.fill(b[:n], f)
	return e, err
}

// eventLen reads the length of the event that b begins with.
func eventLen(b []byte, f *Format) (int64, error) {
	if len(b) < headerLen {
		return 0, corrupt("event", "a header of %d bytes", len(b))
	}
	n := int64(le.Uint32(b[9:]))
	least := int64(headerLen)
	if f != nil && f.Checksum {
		least += checksumLen
	}
	if n < least || n > MaxEvent {
		return 0, corrupt("event", "length %d", n)
	}
	return n, nil
}

// fill sets everything but the position from an event's own bytes, all of them.
func (e *Event) fill(b []byte, f *Format) error {
	e.Type, e.Format, e.Restarted = EventType(b[4]), f, false
	e.Timestamp, e.ServerID, e.Flags = le.Uint32(b), le.Uint32(b[5:]), le.Uint16(b[17:])
	e.Length = int64(len(b))
	e.Body = b[headerLen:]
	if e.Type == FormatDescriptionEvent {
		f, err := ParseFormat(b)
		if err != nil {
			return err
		}
		e.Format = f
		e.Body = e.Body[:len(e.Body)-checksumLen]
		return nil
	}
	if f == nil {
		return corrupt(e.Type.String()+" event", "no format description before it")
	}
	if !f.Checksum {
		return nil
	}
	e.Body = e.Body[:len(e.Body)-checksumLen]
	if want, got := le.Uint32(b[len(b)-checksumLen:]), crc32.ChecksumIEEE(b[:len(b)-checksumLen]); want != got {
		return corrupt(e.Type.String()+" event", "checksum %08x, not %08x", got, want)
	}
	return nil
}

// Rotate is where a log goes on.
type Rotate struct{ Next Position }

// ParseRotate parses a ROTATE event.
func ParseRotate(e *Event) (Rotate, error) {
	r := reader{b: e.Body, what: "ROTATE event"}
	off := r.uint(8)
	name := r.b
	if r.err != nil || len(name) == 0 || off > 1<<62 {
		return Rotate{}, located(corrupt("ROTATE event", "%d bytes", len(e.Body)), e.Pos())
	}
	return Rotate{Position{string(name), int64(off)}}, nil
}
