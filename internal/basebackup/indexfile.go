package basebackup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// encode is the contents of an index. Numbers are varints, signed ones zigzag: the count of packs, and
// of each id, pages, bytes, 16 bytes of hash; the count of entries, and of each length and bytes of the path, mode (bit 9
// for a directory), time (signed), and for a file its size and runs of pages until there are as many
// as the size says: pack (its place in the list of packs from 1; 0 for pages of zeros), count, and
// for pages in a pack the number of the first, as the signed difference to where the run before it in
// this pack ended. Then the hashes of all pages in packs, 16 bytes each, in the order of the entries.
func (x *Index) encode() []byte {
	var b, hashes []byte
	b = binary.AppendUvarint(b, uint64(len(x.packs)))
	place := map[uint32]int{}
	for i, p := range x.packs {
		place[p.id] = i + 1
		b = binary.AppendUvarint(b, uint64(p.id))
		b = binary.AppendUvarint(b, uint64(p.pages))
		b = binary.AppendUvarint(b, uint64(p.size))
		b = append(b, p.heads[:]...)
	}
	ended := make([]int64, len(x.packs)+1)
	b = binary.AppendUvarint(b, uint64(len(x.entries)))
	for i := range x.entries {
		e := &x.entries[i]
		b = binary.AppendUvarint(b, uint64(len(e.path)))
		b = append(b, e.path...)
		b = binary.AppendUvarint(b, uint64(e.mode)|dirBit(e.dir))
		b = binary.AppendVarint(b, e.mtime)
		if e.dir {
			continue
		}
		b = binary.AppendUvarint(b, uint64(e.size))
		for rest := e.pages; len(rest) > 0; {
			run := runOf(rest)
			first, at := rest[0], place[rest[0].pack]
			b = binary.AppendUvarint(b, uint64(at))
			b = binary.AppendUvarint(b, uint64(run))
			if at != 0 {
				b = binary.AppendVarint(b, int64(first.n)-ended[at])
				ended[at] = int64(first.n) + int64(run)
				for _, p := range rest[:run] {
					hashes = append(hashes, p.hash[:]...)
				}
			}
			rest = rest[run:]
		}
	}
	return append(b, hashes...)
}

const dirMode = 1 << 9

func dirBit(is bool) uint64 {
	if is {
		return dirMode
	}
	return 0
}

// runOf is how many pages, from the first on, are zeros, or follow each other in a pack.
func runOf(pages []page) int {
	n := 1
	for n < len(pages) && pages[n].pack == pages[0].pack && (pages[0].pack == 0 || pages[n].n == pages[0].n+uint32(n)) {
		n++
	}
	return n
}

// errContents says that the contents of an index are none, though its checksums are right.
var errContents = errors.New("its contents are not those of an index")

// contents takes an index apart. After the first thing that is wrong everything is zero.
type contents struct {
	b   []byte
	err error
}

func (c *contents) number() uint64 {
	v, n := binary.Uvarint(c.b)
	return c.took(v, n)
}

func (c *contents) signed() int64 {
	v, n := binary.Varint(c.b)
	return int64(c.took(uint64(v), n))
}

func (c *contents) took(v uint64, n int) uint64 {
	if n <= 0 || c.err != nil {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

// count is a number of things that take a byte each, or more.
func (c *contents) count() int {
	v := c.number()
	if v > uint64(len(c.b)) {
		c.fail()
		return 0
	}
	return int(v)
}

func (c *contents) take(n int) []byte {
	if n > len(c.b) {
		c.fail()
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *contents) fail() { c.b, c.err = nil, errContents }

// decode is the reverse of encode.
func (x *Index) decode(b []byte) error {
	c := &contents{b: b}
	x.packs = make([]packInfo, c.count())
	for i := range x.packs {
		x.packs[i] = packInfo{id: uint32(c.number()), pages: uint32(c.number()), size: int64(c.number())}
		copy(x.packs[i].heads[:], c.take(len(pageHash{})))
		if id := x.packs[i].id; id == 0 || i > 0 && id <= x.packs[i-1].id || id > x.id {
			c.fail()
		}
	}
	ended := make([]int64, len(x.packs))
	x.entries = make([]entry, c.count())
	budget := int64(len(c.b)) // no more pages in packs than there can be hashes
	for i := range x.entries {
		e := &x.entries[i]
		e.path = string(c.take(c.count()))
		mode := c.number()
		e.mode, e.dir, e.mtime = fs.FileMode(mode)&fs.ModePerm, mode&dirMode != 0, c.signed()
		if !filepath.IsLocal(e.path) || filepath.Clean(e.path) != e.path {
			c.fail()
		}
		if !e.dir && c.err == nil {
			budget = x.decodeRuns(c, e, ended, budget)
		}
		if c.err != nil {
			return c.err
		}
	}
	for i := range x.entries {
		for n := range x.entries[i].pages {
			if p := &x.entries[i].pages[n]; p.pack != 0 {
				copy(p.hash[:], c.take(len(p.hash)))
			}
		}
	}
	if len(c.b) > 0 {
		c.fail()
	}
	return c.err
}

func (x *Index) decodeRuns(c *contents, e *entry, ended []int64, budget int64) int64 {
	e.size = int64(c.number())
	all := pagesOf(e.size)
	if e.size < 0 || all > mostPages {
		c.fail()
		return 0
	}
	for int64(len(e.pages)) < all {
		at, count := c.number(), int64(c.number())
		if c.err != nil || at > uint64(len(x.packs)) || count <= 0 || count > all-int64(len(e.pages)) {
			c.fail()
			return 0
		}
		if at == 0 {
			e.pages = append(e.pages, make([]page, count)...)
			continue
		}
		p := x.packs[at-1]
		first := ended[at-1] + c.signed()
		if budget -= count * int64(len(pageHash{})); first < 0 || first+count > int64(p.pages) || budget < 0 {
			c.fail()
			return 0
		}
		ended[at-1] = first + count
		for n := range count {
			e.pages = append(e.pages, page{pack: p.id, n: uint32(first + n)})
		}
	}
	return budget
}

// write writes the index; size is what it takes on the disk.
func (x *Index) write(d archive.Disk) (size int64, err error) {
	b := x.encode()
	w, err := x.part(indexKind, x.id).create(d, int64(len(b)))
	if err != nil {
		return 0, err
	}
	enc, err := newEncoder()
	for len(b) > 0 && err == nil {
		n := min(len(b), blockSize)
		err = w.block(enc.EncodeAll(b[:n], make([]byte, blockHead, blockHead+mostStored)), n)
		b = b[n:]
	}
	if err != nil {
		return 0, errors.Join(err, w.file.Close())
	}
	return w.at, w.finish(d)
}

func (x *Index) part(k kind, id uint32) part { return part{k, x.archive, id} }

// ReadIndex reads the index of a base. One that is missing, or not as it was written, is an
// *archive.DamagedError.
func ReadIndex(d archive.Disk, archiveID [16]byte, id uint32) (_ *Index, err error) {
	x := &Index{archive: archiveID, id: id}
	p := x.part(indexKind, id)
	r, err := p.open(d)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	dec, err := newDecoder()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.name(), err)
	}
	defer dec.Close()
	var b []byte
	for {
		i, ok, err := r.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		s, err := r.payload(i, make([]byte, i.stored))
		if err != nil {
			return nil, err
		}
		got, err := p.decode(dec, i, s, nil)
		if err != nil {
			return nil, err
		}
		b = append(b, got...)
	}
	if int64(len(b)) != r.length {
		return nil, p.damaged(r.at, "it has %d bytes of contents, not %d", len(b), r.length)
	}
	if err := x.decode(b); err != nil {
		return nil, p.damaged(headerSize, "%v", err)
	}
	return x, nil
}
