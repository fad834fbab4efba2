package binlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestScanRelay: a relay log has what a log has not: the format and the rotations of another server, its positions, a group
// that goes on in the next file, and one that begins again since the connection broke.
func TestScanRelay(t *testing.T) {
	const row = "\x01\x00\x00\x00\x00\x00\x01\x00row"
	gtid := func(n int) string {
		return fmt.Sprintf("%c\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x42", n) + "12345678"
	}
	dir := t.TempDir()
	// theirs makes the format of another server, with checksums, and events that name positions in its log.
	theirs := func(l *logBytes) *logBytes {
		l.sum = true
		l.b = append(l.b, formatBytes("10.11.19-MariaDB-log", 1, true)...)
		return l
	}
	foreign := func(l *logBytes, typ EventType, body string) {
		l.b = append(l.b, event(typ, 0, []byte(body), 4711, l.sum)...)
	}
	whole := func(l *logBytes, n int) {
		foreign(l, MariaGTIDEvent, gtid(n))
		foreign(l, UpdateRowsV1, row)
		foreign(l, XIDEvent, "12345678")
	}
	own := func(name string) *logBytes {
		l := newLog(t, dir, name, 0, false)
		l.b = append(l.b[:len(magic)], formatBytes("10.11.19-MariaDB-log", 1, false)...)
		return l
	}

	first := own("relay.000001")
	first.add(RotateEvent, rotate("bin.000007")) // theirs, before their format
	theirs(first)
	whole(first, 1)
	foreign(first, MariaGTIDEvent, gtid(2)) // cut by a connection that broke, and sent again
	foreign(first, UpdateRowsV1, row)
	foreign(first, RotateEvent, rotate("bin.000007"))
	whole(first, 2)
	begins := int64(len(first.b))
	foreign(first, MariaGTIDEvent, gtid(3)) // goes on in the next file
	foreign(first, UpdateRowsV1, row)
	first.save(t)
	second := theirs(own("relay.000002"))
	foreign(second, UpdateRowsV1, row)
	foreign(second, XIDEvent, "12345678")
	whole(second, 4)
	foreign(second, MariaGTIDEvent, gtid(5))
	second.save(t)

	var open OpenGroup
	var got []string
	each := func(g Group) error {
		got = append(got, fmt.Sprintf("%d in %s", g.GTID.Sequence, g.File))
		if g.GTID.Sequence == 3 && g.Start != begins {
			t.Errorf("the group that was cut begins at %d, want %d", g.Start, begins)
		}
		return nil
	}
	for _, l := range []*logBytes{first, second} {
		if x, err := ScanRelay(l.path, &open, each); err != nil || x.Torn == nil {
			t.Errorf("%s: %+v, %v", l.path, x, err)
		}
	}
	if want := []string{"1 in relay.000001", "2 in relay.000001", "3 in relay.000001", "4 in relay.000002"}; !slices.Equal(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}

	// The control: as a log it is damaged, and without the first file the second begins with half a group of no number.
	if _, err := Scan(first.path, 4, nil); err == nil {
		t.Error("a relay log passes for a log")
	}
	got = nil
	if _, err := ScanRelay(second.path, &OpenGroup{}, each); err != nil || !strings.HasPrefix(strings.Join(got, ","), "0 in") {
		t.Errorf("the second file alone: %q, %v", got, err)
	}
	second.b[len(second.b)-100]++
	second.save(t)
	if x, err := ScanRelay(second.path, &OpenGroup{}, nil); err == nil && x.Groups > 1 {
		t.Errorf("a byte that was changed: %+v", x)
	}
}
