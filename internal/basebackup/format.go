package basebackup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"

	"github.com/ramaria-db/ramaria/internal/archive"
)

const (
	// PageSize is the grain in bytes: InnoDB's page, unless a server was given another size.
	PageSize = 16 << 10
	// blockPages is how many pages a block of a pack has at most, and blockSize that in bytes.
	blockPages = 64
	blockSize  = blockPages * PageSize
)

const (
	baseDir   = "base"
	newSuffix = ".new" // of files in the making

	headerSize = 44
	blockMagic = 0x6b6c4252 // "RBlk"
	blockHead  = 24
)

var le = binary.LittleEndian

// kind is one of the two files of a base.
type kind struct{ suffix, magic string }

var (
	packKind  = kind{".pack", "RAMAPAK\x01"} // the last byte is the version
	indexKind = kind{".index", "RAMAIDX\x01"}
)

// part is a pack or an index of a base.
type part struct {
	kind    kind
	archive [16]byte
	id      uint32
}

func (p part) name() string { return path.Join(baseDir, fmt.Sprintf("%06d", p.id)+p.kind.suffix) }

// key begins the checksums of blocks: those of another archive, base or kind are not taken for this
// one's.
func (p part) key() uint32 { return archive.Sum(archive.Key(p.archive, p.id), []byte(p.kind.magic)) }

func (p part) damaged(at int64, format string, args ...any) error {
	return &archive.DamagedError{File: p.name(), Offset: at, Reason: fmt.Sprintf(format, args...)}
}

// header is what a file begins with: magic 8, archive 16, base 4, zeros 4, length of the contents
// (0 in a pack) 8, CRC-32C 4 of these.
func (p part) header(length int64) []byte {
	b := make([]byte, headerSize)
	copy(b, p.kind.magic)
	copy(b[8:], p.archive[:])
	le.PutUint32(b[24:], p.id)
	le.PutUint64(b[32:], uint64(length))
	le.PutUint32(b[40:], archive.Sum(0, b[:40]))
	return b
}

// writer writes the blocks of a part into its file.
type writer struct {
	part part
	file archive.File
	at   int64
	n    uint32
	key  uint32
	// heads goes over the heads of all blocks: what an index knows a pack by.
	heads hash.Hash
	// loose is how many bytes were written since the last sync.
	loose int
}

// syncStep is after how many bytes a file that is being written is synced. A sync of much more holds
// up, on the same disk, the writes that commits wait for.
const syncStep = 4 << 20

// create begins a file, which is not there until finish.
func (p part) create(d archive.Disk, length int64) (*writer, error) {
	f, err := d.Create(p.name() + newSuffix)
	if err != nil {
		return nil, err
	}
	w := &writer{part: p, file: f, key: p.key(), heads: sha256.New()}
	if err := w.write(p.header(length)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

func (w *writer) write(b []byte) error {
	n, err := w.file.WriteAt(b, w.at)
	w.at += int64(n)
	w.loose += n
	if err == nil && w.loose >= syncStep {
		w.loose = 0
		err = w.file.Sync()
	}
	return err
}

// block writes a block: b has blockHead bytes of room, then what raw bytes were compressed to. Its
// layout: magic 4, number 4, raw length 4, stored length 4, CRC-32C 4 of what is stored, CRC-32C 4 of
// the bytes before; both begin with the key.
func (w *writer) block(b []byte, raw int) error {
	le.PutUint32(b[0:], blockMagic)
	le.PutUint32(b[4:], w.n)
	le.PutUint32(b[8:], uint32(raw))
	le.PutUint32(b[12:], uint32(len(b)-blockHead))
	le.PutUint32(b[16:], archive.Sum(w.key, b[blockHead:]))
	le.PutUint32(b[20:], archive.Sum(w.key, b[:20]))
	_, _ = w.heads.Write(b[:blockHead]) // never fails
	w.n++
	return w.write(b)
}

// finish makes the file last under its name; the name does from the next sync of the directory on.
func (w *writer) finish(d archive.Disk) error {
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		return err
	}
	return d.Rename(w.part.name()+newSuffix, w.part.name())
}

// reader reads the blocks of a part one after the other.
type reader struct {
	part   part
	file   archive.File
	size   int64 // of the file
	length int64 // of its contents, by the header
	at     int64 // of the next block
	n      uint32
	key    uint32
	heads  hash.Hash // as that of a writer
	buf    *bufio.Reader
}

// readAhead is how many bytes are read from a pack in one go.
const readAhead = 1 << 20

// open opens a file and reads its header.
func (p part) open(d archive.Disk) (_ *reader, err error) {
	f, err := d.Open(p.name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, p.damaged(0, "it is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.name(), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	r := &reader{part: p, file: f, key: p.key(), heads: sha256.New()}
	if r.size, err = f.Size(); err != nil {
		return nil, fmt.Errorf("read %s: %w", p.name(), err)
	}
	r.buf = bufio.NewReaderSize(io.NewSectionReader(f, 0, r.size), readAhead)
	b := make([]byte, headerSize)
	if err := r.read(b, 0); err != nil {
		return nil, err
	}
	r.at, r.length = headerSize, int64(le.Uint64(b[32:]))
	if string(b) != string(p.header(r.length)) {
		return nil, p.damaged(0, "it does not begin as that of base %d of this archive", p.id)
	}
	return r, nil
}

func (r *reader) close() error { return r.file.Close() }

func (r *reader) read(b []byte, at int64) error {
	_, err := io.ReadFull(r.buf, b)
	return r.short(err, at)
}

func (r *reader) short(err error, at int64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.part.damaged(at, "it ends in the middle, at byte %d", r.size)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", r.part.name(), err)
	}
	return nil
}

// blockInfo is the head of a block.
type blockInfo struct {
	at          int64
	raw, stored int
	sum         uint32
}

// next reads the head of the next block; ok is false at the end of the file. payload or skip follows.
func (r *reader) next() (i blockInfo, ok bool, err error) {
	if r.at == r.size {
		return i, false, nil
	}
	var b [blockHead]byte
	i.at = r.at
	if err := r.read(b[:], i.at); err != nil {
		return i, false, err
	}
	i.raw, i.stored, i.sum = int(le.Uint32(b[8:])), int(le.Uint32(b[12:])), le.Uint32(b[16:])
	if le.Uint32(b[0:]) != blockMagic || le.Uint32(b[4:]) != r.n || le.Uint32(b[20:]) != archive.Sum(r.key, b[:20]) ||
		i.raw > blockSize || i.stored > mostStored {
		return i, false, r.part.damaged(i.at, "no block %d begins there", r.n)
	}
	_, _ = r.heads.Write(b[:])
	r.at += blockHead + int64(i.stored)
	r.n++
	return i, true, nil
}

// payload reads what is stored of a block into buf, which has room.
func (r *reader) payload(i blockInfo, buf []byte) ([]byte, error) {
	buf = buf[:i.stored]
	if err := r.read(buf, i.at); err != nil {
		return nil, err
	}
	if archive.Sum(r.key, buf) != i.sum {
		return nil, r.part.damaged(i.at, "block %d has another checksum", r.n-1)
	}
	return buf, nil
}

func (r *reader) skip(i blockInfo) error {
	_, err := r.buf.Discard(i.stored)
	return r.short(err, i.at)
}
