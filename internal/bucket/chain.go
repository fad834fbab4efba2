package bucket

import (
	"context"
	"fmt"
	"slices"

	"github.com/ramaria-db/ramaria/internal/archive"
)

// piece is a part in a listing.
type piece struct {
	span
	size int64
}

// pieces lists the parts of the log that a manifest needs, and what has come since.
func (m *manifest) pieces(ctx context.Context, s Store) ([]piece, error) {
	var list []piece
	for o, err := range s.List(ctx, logPrefix, "") {
		if err != nil {
			return nil, err
		}
		if sp, ok := parseSpan(o.Name); ok && m.needs(sp) {
			list = append(list, piece{sp, o.Size})
		}
	}
	return chain(list)
}

// chain chooses of parts, sorted by their names, those that make the log. There may be more than it
// takes: an upload whose answer was lost is repeated by another process with what lasted since,
// from the same byte on, and may arrive after that. All are of the same bytes, so that the ones that
// go farthest are taken. Where one is missing the error is a *DamagedError, and what comes before is returned with it.
func chain(list []piece) ([]piece, error) {
	var out []piece
	for len(list) > 0 {
		first := list[0]
		n := slices.IndexFunc(list, func(p piece) bool { return p.epoch != first.epoch || p.segment != first.segment })
		if n < 0 {
			n = len(list)
		}
		at := int64(archive.BlockSize)
		for i := 0; i < n; {
			best := -1
			for ; i < n && list[i].from <= at; i++ {
				if list[i].to > at && (best < 0 || list[i].to > list[best].to) {
					best = i
				}
			}
			if best < 0 {
				if i == n {
					break
				}
				return out, &DamagedError{list[i].name(), fmt.Sprintf("bytes %d to %d of the segment, which come before it, are missing", at, list[i].from)}
			}
			out = append(out, list[best])
			at = list[best].to
		}
		list = list[n:]
	}
	return out, nil
}
