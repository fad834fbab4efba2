package binlog

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
)

// Flavour is who writes a log.
type Flavour uint8

// The two families of servers.
const (
	MySQL Flavour = iota
	MariaDB
)

const (
	formatFixed   = 2 + 50 + 4 + 1 // version of the format, of the server, time, length of headers
	serverVersion = 50
)

// Format is a format description event: what is to be known to read the rest of a file.
type Format struct {
	Flavour Flavour
	// Version is the server's ("10.11.19-MariaDB-log").
	Version string
	// Created is when the server was started that began this file, in seconds of the
	// epoch; zero in files that were begun by a rotation.
	Created uint32
	// Checksum says that the events that follow end in a CRC32.
	Checksum bool

	post []byte // lengths of post-headers, by type, from type 1
	raw  []byte
}

// ParseFormat parses a whole format description event, of a server since MySQL 5.6 or
// MariaDB 10. The bytes are copied. Errors are of type *CorruptError.
func ParseFormat(b []byte) (*Format, error) {
	const what = "FORMAT_DESCRIPTION event"
	// At the end stand the kind of checksum and, whatever that is, a checksum.
	const tail = 1 + checksumLen
	n, err := eventLen(b, nil)
	if err != nil {
		return nil, err
	}
	const least = headerLen + formatFixed + int64(TableMapEvent) + tail
	if n != int64(len(b)) || n < least || n > least+256 {
		return nil, corrupt(what, "length %d", n)
	}
	if EventType(b[4]) != FormatDescriptionEvent {
		return nil, corrupt(what, "it is a %s event", EventType(b[4]))
	}
	f := &Format{raw: bytes.Clone(b)}
	f.raw[17] &^= flagInUse
	body := f.raw[headerLen : n-tail]
	if v := le.Uint16(body); v != 4 {
		return nil, corrupt(what, "version %d of the format, not 4", v)
	}
	if l := body[formatFixed-1]; l != headerLen {
		return nil, corrupt(what, "headers of %d bytes, not %d", l, headerLen)
	}
	version, _, _ := bytes.Cut(body[2:2+serverVersion], []byte{0})
	f.Version = string(version)
	if bytes.Contains(version, []byte("MariaDB")) {
		f.Flavour = MariaDB
	}
	f.Created = le.Uint32(body[2+serverVersion:])
	f.post = body[formatFixed:]
	switch kind := b[n-tail]; kind {
	case 0:
	case 1:
		f.Checksum = true
		if want, got := le.Uint32(b[n-checksumLen:]), crc32.ChecksumIEEE(f.raw[:n-checksumLen]); want != got {
			return nil, corrupt(what, "checksum %08x, not %08x", got, want)
		}
	default:
		return nil, corrupt(what, "checksums of kind %d", kind)
	}
	return f, nil
}

// postHeader returns the length of what stands between an event's header and its body,
// or otherwise if the format does not say.
func (f *Format) postHeader(t EventType, otherwise int) int {
	if int(t) > len(f.post) || t == 0 {
		return otherwise
	}
	return int(f.post[t-1])
}

// Event returns the format description event to send in the first BINLOG statement of a
// session, before all else: the file's own, but for saying that no event after it has a
// checksum.
func (f *Format) Event() []byte {
	b := bytes.Clone(f.raw)
	n := len(b) - checksumLen
	b[n-1] = 0
	le.PutUint32(b[n:], crc32.ChecksumIEEE(b[:n]))
	return b
}

// MarkClosed takes the mark from a file of a log that its server still writes to it. That is no part of
// a checksum.
func MarkClosed(f *os.File) error {
	const at = 4 + 17
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return fmt.Errorf("read binary log: %w", err)
	}
	b[0] &^= flagInUse
	if _, err := f.WriteAt(b[:], at); err != nil {
		return fmt.Errorf("write binary log: %w", err)
	}
	return nil
}
