package binlog

import (
	"fmt"
	"hash/crc32"
	"io"
)

// RelayEnd writes a file of a relay log that says only that its source goes on with another one: what such a log ends
// with. It is in the format of the file like.
//
// MySQL (seen in 9.7) reads the last file of a relay log before it uses it, and cuts it off silently where it takes it
// for malformed: where the name of an XA transaction that has ended is used again, for one. It trusts the files before.
// https://github.com/mysql/mysql-server/blob/trunk/sql/binlog/log_sanitizer.cc
func RelayEnd(w io.Writer, like string) error {
	s, _, err := openScan(like, 0)
	if err != nil {
		return fmt.Errorf("end a relay log: %w", err)
	}
	if s == nil {
		return fmt.Errorf("end a relay log: %s has no format", like)
	}
	defer s.l.f.Close()
	const next, nextPos = "end", 4
	f := s.l.format
	b := make([]byte, headerLen+8, headerLen+8+len(next)+checksumLen)
	copy(b, f.raw[:headerLen]) // its time and server
	b[4] = byte(RotateEvent)
	le.PutUint64(b[headerLen:], nextPos)
	b = append(b, next...)
	n := len(b)
	if f.Checksum {
		n += checksumLen
	}
	le.PutUint32(b[9:], uint32(n))
	le.PutUint32(b[13:], uint32(len(magic)+len(f.raw)+n))
	le.PutUint16(b[17:], 0)
	if f.Checksum {
		b = le.AppendUint32(b, crc32.ChecksumIEEE(b))
	}
	for _, part := range [][]byte{magic, f.raw, b} {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("end a relay log: %w", err)
		}
	}
	return nil
}
