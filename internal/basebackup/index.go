package basebackup

import (
	"io/fs"
	"slices"
)

// Index is what a base is made of: files, and for each page of theirs where it is.
type Index struct {
	archive [16]byte
	id      uint32
	packs   []packInfo // those that pages lie in, ascending
	entries []entry    // each directory before what is in it
}

// packInfo is a pack as it was written.
type packInfo struct {
	id    uint32
	pages uint32
	size  int64 // in bytes
	// heads is the first half of the SHA-256 of the heads of its blocks, which hold the checksums of
	// these: the pack, and no other attempt at a base of this number.
	heads pageHash
}

// entry is a file or a directory.
type entry struct {
	path  string // below the top, with slashes
	dir   bool
	mode  fs.FileMode // permission bits
	mtime int64       // in nanoseconds since 1970
	size  int64       // of a file, in bytes
	pages []page
}

// page is where a page is. The pages of a pack count from 0. No base, and so no pack, has the id 0:
// that is a page of zeros, which is nowhere.
type page struct {
	hash pageHash
	pack uint32
	n    uint32
}

// mostPages is how many pages a file has at most, holes included: 4 TB. A hole costs memory too, and
// a server's account can make one of any size. It is less in tests only.
var mostPages int64 = 1 << 28

func pagesOf(size int64) int64 { return size/PageSize + min(size%PageSize, 1) }

// bytesOf is how many bytes of page n the file has: the last page of a file may be shorter.
func (e *entry) bytesOf(n int64) int64 { return min(PageSize, e.size-n*PageSize) }

// ID is the number of the base.
func (x *Index) ID() uint32 { return x.id }

// Packs returns the ids of all packs that restoring needs, ascending: those of earlier bases, and its
// own if it has one.
func (x *Index) Packs() []uint32 {
	var ids []uint32
	for _, p := range x.packs {
		ids = append(ids, p.id)
	}
	return ids
}

// Size is how many bytes the files have, without holes: what Restore writes.
func (x *Index) Size() int64 {
	var size int64
	for i := range x.entries {
		e := &x.entries[i]
		for n, p := range e.pages {
			if p.pack != 0 {
				size += e.bytesOf(int64(n))
			}
		}
	}
	return size
}

const (
	// mostPacks is how many packs a base is spread over at most before Worn says so.
	mostPacks = 8
	// mostWaste is how many times the pages of the base its packs may have.
	mostWaste = 2
)

// Worn reports whether the next base should be written in full: this one needs so many packs, or so
// much in them is of no more use, that an increment to it costs more than it saves.
func (x *Index) Worn() bool {
	live, all := x.stored(), int64(0)
	for _, p := range x.packs {
		all += int64(p.pages)
	}
	return len(x.packs) >= mostPacks || all > mostWaste*live
}

// stored is how many pages are in packs.
func (x *Index) stored() (n int64) {
	for i := range x.entries {
		for _, p := range x.entries[i].pages {
			if p.pack != 0 {
				n++
			}
		}
	}
	return n
}

// setPacks finds the packs that are needed; known are all that may be.
func (x *Index) setPacks(known []packInfo) {
	need := map[uint32]bool{}
	for i := range x.entries {
		for _, p := range x.entries[i].pages {
			need[p.pack] = true
		}
	}
	x.packs = slices.DeleteFunc(slices.Clone(known), func(p packInfo) bool { return !need[p.id] })
}

// files finds files by their paths; none in a nil index.
func (x *Index) files() map[string]*entry {
	m := map[string]*entry{}
	if x != nil {
		for i := range x.entries {
			if e := &x.entries[i]; !e.dir {
				m[e.path] = e
			}
		}
	}
	return m
}
