package durable

import (
	"slices"

	"github.com/ramaria-db/ramaria/internal/archive"
)

const (
	// leastRoom, mostRoom and roomShare are the room in the archive's file system below which the history is
	// shortened: in bytes, and as a part of the file system; a small one is bound by mostShare.
	leastRoom, mostRoom  = 1 << 30, 10 << 30
	roomShare, mostShare = 20, 4
	// roomAgain is by how much more than that there must be until it is kept whole again.
	roomAgain = 1.25
	// baseReserve is what is left for the log, in bytes, when a base is made in little room.
	baseReserve = 256 << 20
)

// LowRoom is the room, in bytes, of a file system of a size below which the history is shortened.
func LowRoom(size int64) int64 { return min(max(leastRoom, size/roomShare), mostRoom, size/mostShare) }

// Low reports whether so little room is left that the history is to be shortened; was is whether it was so
// before.
func Low(room, size int64, was bool) bool {
	limit := LowRoom(size)
	if was {
		limit = int64(roomAgain * float64(limit))
	}
	return room < limit
}

// RoomForBase reports whether there is room for another base, so that the log still has some: without room for
// that, commits wait, while without a base recovery only takes longer.
func RoomForBase(m *archive.Manifest, room, size int64) bool {
	return room-baseSize(m) >= min(baseReserve, LowRoom(size)/2)
}

// baseSize is what another base takes at most: as much as the last whole one, for as many bytes of data as
// the newest has.
func baseSize(m *archive.Manifest) int64 {
	if len(m.Bases) == 0 {
		return 0
	}
	newest := m.Bases[len(m.Bases)-1]
	for _, b := range slices.Backward(m.Bases) {
		if len(b.Packs) == 1 && b.Packs[0] == b.ID && b.Size > 0 {
			return int64(float64(b.Stored) * float64(newest.Size) / float64(b.Size))
		}
	}
	return newest.Size
}
