package dumpfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"math"
)

// zipSizes are what an archive says of a member.
type zipSizes struct {
	sum            uint32
	packed, unpack uint64
}

// large takes sizes from an extra field, where they do not fit into their own.
func (s *zipSizes) large(extra []byte) {
	le := binary.LittleEndian
	for len(extra) >= 4 {
		kind, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return
		}
		if field := extra[:n]; kind == zipLarge {
			for _, size := range []*uint64{&s.unpack, &s.packed} {
				if *size == math.MaxUint32 && len(field) >= 8 {
					*size, field = le.Uint64(field), field[8:]
				}
			}
		}
		extra = extra[n:]
	}
}

// zipPart reads a member.
type zipPart struct {
	name string
	raw  *bufio.Reader
	in   io.Reader
	sum  hash.Hash32
	// packed and unpacked are how many bytes were read of it.
	packed, unpacked uint64
	want             zipSizes
	// behind says that what is wanted stands behind the member.
	behind bool
}

func (m *zipPart) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	m.sum.Write(p[:n])
	m.unpacked += uint64(n)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if err := m.check(); err != nil {
		return n, err
	}
	return n, io.EOF
}

// check compares what was read with what the archive says.
func (m *zipPart) check() error {
	got := zipSizes{m.sum.Sum32(), m.packed, m.unpacked}
	switch {
	case m.behind:
		return m.checkBehind(got)
	case got.unpack < m.want.unpack && m.packed < m.want.packed:
		return io.ErrUnexpectedEOF
	case got != m.want:
		return errZipSum
	}
	return nil
}

// checkBehind looks for what must stand behind the member: with a signature or without, and with sizes of 4 or 8 bytes,
// as the archiver pleased.
func (m *zipPart) checkBehind(got zipSizes) error {
	le := binary.LittleEndian
	small := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, got.sum), uint32(got.packed)), uint32(got.unpack)) // larger ones have 8 bytes
	large := le.AppendUint64(le.AppendUint64(le.AppendUint32(nil, got.sum), got.packed), got.unpack)
	for _, want := range [][]byte{append([]byte(zipBehind), large...), append([]byte(zipBehind), small...), large, small} {
		next, err := m.raw.Peek(len(want) + 2)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(next) == len(want)+2 && bytes.Equal(next[:len(want)], want) && string(next[len(want):]) == "PK" {
			_, err := m.raw.Discard(len(want))
			return err
		}
		if len(next) < len(want)+2 && bytes.HasPrefix(want, next) {
			return io.ErrUnexpectedEOF
		}
	}
	return errZipSum
}

// countingBytes counts what is read; as an io.ByteReader it has the decompressor read not further than its data.
type countingBytes struct {
	*bufio.Reader
	n *uint64
}

func (c countingBytes) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	*c.n += uint64(n)
	return n, err
}

func (c countingBytes) ReadByte() (byte, error) {
	b, err := c.Reader.ReadByte()
	if err == nil {
		*c.n++
	}
	return b, err
}
