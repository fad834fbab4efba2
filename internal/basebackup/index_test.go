package basebackup

import (
	"reflect"
	"testing"
)

// FuzzIndex: contents with right checksums that are none of an index are refused, and what is taken
// comes back the same.
func FuzzIndex(f *testing.F) {
	most := mostPages
	mostPages = 1 << 12
	f.Cleanup(func() { mostPages = most })
	x := &Index{
		id:    9,
		packs: []packInfo{{id: 2, pages: 10, size: 1000, heads: pageHash{1}}, {id: 9, pages: 3, size: 500}},
		entries: []entry{
			{path: "a", dir: true, mode: 0o750, mtime: -5},
			{path: "a/b", mode: 0o640, mtime: 1e18, size: 5*PageSize + 1, pages: []page{{hash: pageHash{2}, pack: 2, n: 3}, {hash: pageHash{3}, pack: 2, n: 4}, {}, {}, {hash: pageHash{4}, pack: 9, n: 2}, {hash: pageHash{5}, pack: 2, n: 0}}},
			{path: "empty", mode: 0o600},
		},
	}
	f.Add(x.encode())
	f.Add((&Index{id: 1}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		x := &Index{id: 9}
		if x.decode(b) != nil {
			return
		}
		if x.Size() < 0 {
			t.Errorf("it has %d bytes", x.Size())
		}
		again := &Index{id: 9}
		if err := again.decode(x.encode()); err != nil || !reflect.DeepEqual(x, again) {
			t.Errorf("%+v is read as %+v, %v", x, again, err)
		}
	})
}
