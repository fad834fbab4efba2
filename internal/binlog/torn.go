package binlog

import (
	"bytes"
	"hash/crc32"
	"io"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// torn decides what a fault at the next event is: the end of a file that was cut off while an event
// was written, or damage. n is the length that the event says, 0 if it cannot be believed.
//
// What was cut off is a header or an event that the file ends within, an event that has its length
// but not its content, with nothing behind it but zeros: a file that got its size before its content.
// And no event that is whole may follow: a length could be what is damaged.
func (s *scan) torn(n int64, fault error) error {
	rest := s.ext.Size - s.at
	if rest >= headerLen && n < rest {
		zeros, err := s.zeros(s.at + max(n, headerLen))
		if err != nil {
			return err
		}
		if !zeros {
			return fault
		}
	}
	whole, err := s.findEvent(s.at + 1)
	if err != nil {
		return err
	}
	if whole {
		return fault
	}
	s.ext.Torn = fault
	s.at = s.ext.Size
	return nil
}

// zeros reports whether there is nothing else from an offset on.
func (s *scan) zeros(at int64) (bool, error) {
	b := make([]byte, min(s.ext.Size, scanChunk))
	for ; at < s.ext.Size; at += int64(len(b)) {
		b = b[:min(scanChunk, s.ext.Size-at)]
		if err := s.l.read(b, at); err != nil {
			return false, err
		}
		if len(bytes.TrimLeft(b, "\x00")) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// findEvent reports whether an event that is whole stands anywhere from off on.
func (s *scan) findEvent(off int64) (bool, error) {
	b := make([]byte, min(s.ext.Size, scanChunk))
	for ; off+headerLen <= s.ext.Size; off += int64(len(b)) - headerLen + 1 {
		b = b[:min(scanChunk, s.ext.Size-off)]
		if err := s.l.read(b, off); err != nil {
			return false, err
		}
		for i := 0; i+headerLen <= len(b); i++ {
			// The rest of the loop is for one place in some millions.
			n, end := int64(le.Uint32(b[i+9:])), le.Uint32(b[i+13:])
			at := off + int64(i)
			if n < headerLen || n > s.ext.Size-at || end != uint32(at+n) && end != 0 {
				continue
			}
			if whole, err := s.whole(at, n, b[i:]); err != nil || whole {
				return whole, err
			}
		}
	}
	return false, nil
}

// whole reports whether an event of n bytes that begins with head stands at off. Without checksums
// one that says where it ends, and is of a kind that is known, is taken for one.
func (s *scan) whole(off, n int64, head []byte) (bool, error) {
	if _, known := typeNames[EventType(head[4])]; !known {
		return false, nil
	}
	if !s.l.format.Checksum {
		return le.Uint32(head[13:]) != 0, nil
	}
	if n < headerLen+checksumLen {
		return false, nil
	}
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, io.NewSectionReader(s.l.f, off, n-checksumLen)); err != nil {
		return false, err
	}
	var tail [checksumLen]byte
	if err := s.l.read(tail[:], off+n-checksumLen); err != nil {
		return false, err
	}
	return h.Sum32() == le.Uint32(tail[:]), nil
}

// noFormat is the Extent of a file that ends within its first event.
func noFormat(dir, name string) (Extent, error) {
	f, err := sys.OpenIn(dir, name)
	if err != nil {
		return Extent{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return Extent{}, err
	}
	pos := Position{File: name}
	return Extent{Size: fi.Size(), Torn: &CorruptError{pos, "binary log", "its format description is not whole"}}, nil
}
