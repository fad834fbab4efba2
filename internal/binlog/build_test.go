package binlog

import (
	"encoding/base64"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post are the lengths of post-headers as MySQL and MariaDB write them, as far as they
// matter here.
func post() []byte {
	b := make([]byte, 171)
	for t, n := range map[EventType]byte{
		QueryEvent: 13, RotateEvent: 8, FormatDescriptionEvent: 95, TableMapEvent: 8, WriteRowsV1: 8, UpdateRowsV1: 8, DeleteRowsV1: 8,
		IncidentEvent: 2, WriteRowsV2: 10, UpdateRowsV2: 10, DeleteRowsV2: 10,
	} {
		b[t-1] = n
	}
	return b
}

// event makes the bytes of an event that ends at end.
func event(t EventType, flags uint16, body []byte, end int, sum bool) []byte {
	n := headerLen + len(body)
	if sum {
		n += checksumLen
	}
	b := le.AppendUint32(nil, 1_600_000_000)
	b = append(b, byte(t))
	b = le.AppendUint32(b, 1)
	b = le.AppendUint32(b, uint32(n))
	b = le.AppendUint32(b, uint32(end))
	b = le.AppendUint16(b, flags)
	b = append(b, body...)
	if sum {
		b = le.AppendUint32(b, crc32.ChecksumIEEE(b))
	}
	return b
}

func formatBytes(version string, created uint32, sum bool) []byte {
	body := make([]byte, formatFixed)
	le.PutUint16(body, 4)
	copy(body[2:], version)
	le.PutUint32(body[52:], created)
	body[56] = headerLen
	kind := byte(0)
	if sum {
		kind = 1
	}
	body = slices.Concat(body, post(), []byte{kind})
	b := event(FormatDescriptionEvent, 0, body, 4+headerLen+len(body)+checksumLen, true)
	b[17] |= flagInUse
	return b
}

func testFormat(t testing.TB, sum bool) *Format {
	t.Helper()
	f, err := ParseFormat(formatBytes("10.11.19-MariaDB-log", 1, sum))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// logBytes is a log that grows.
type logBytes struct {
	path string
	b    []byte
	sum  bool
}

func newLog(t testing.TB, dir, name string, created uint32, sum bool) *logBytes {
	t.Helper()
	l := &logBytes{path: filepath.Join(dir, name), sum: sum}
	l.b = append(append(l.b, magic...), formatBytes("9.7.4", created, sum)...)
	l.save(t)
	return l
}

func (l *logBytes) add(typ EventType, body string) *logBytes {
	return l.addFlags(typ, 0, body)
}

func (l *logBytes) addFlags(typ EventType, flags uint16, body string) *logBytes {
	n := headerLen + len(body)
	if l.sum {
		n += checksumLen
	}
	l.b = append(l.b, event(typ, flags, []byte(body), len(l.b)+n, l.sum)...)
	return l
}

func (l *logBytes) save(t testing.TB) *logBytes {
	t.Helper()
	// Not os.WriteFile, which empties the file first.
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(l.b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return l
}

func rotate(to string) string { return "\x04\x00\x00\x00\x00\x00\x00\x00" + to }

// mapBody is a TABLE_MAP of table d.<name>.
func mapBody(id byte, name string, types, meta []byte) []byte {
	b := []byte{id, 0, 0, 0, 0, 0, 1, 0, 1, 'd', 0, byte(len(name))}
	b = append(b, name...)
	b = append(b, 0, byte(len(types)))
	b = append(b, types...)
	b = append(b, byte(len(meta)))
	b = append(b, meta...)
	return append(b, make([]byte, (len(types)+7)/8)...)
}

func makeMap(t testing.TB, id byte, name string, types, meta []byte) *TableMap {
	t.Helper()
	m, err := ParseTableMap(&Event{Type: TableMapEvent, Format: testFormat(t, false), Body: mapBody(id, name, types, meta)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rowsBody is a rows event with full images.
func rowsBody(typ EventType, id byte, width int, images string) []byte {
	b := []byte{id, 0, 0, 0, 0, 0, 1, 0}
	if typ >= WriteRowsV2 {
		b = append(b, 5, 0, 1, 2, 3)
	}
	b = appendOnes(append(b, byte(width)), width)
	if typ.Rows() == Update {
		b = appendOnes(b, width)
	}
	return append(b, images...)
}

// lack takes columns out of the bitmaps of what rowsBody made.
func lack(body []byte, typ EventType, width int, columns ...int) []byte {
	at := 9
	if typ >= WriteRowsV2 {
		at += 4 + 1
	}
	bitmap := (width + 7) / 8
	for _, c := range columns {
		body[at+c>>3] &^= 1 << (c & 7)
		if typ.Rows() == Update {
			body[at+bitmap+c>>3] &^= 1 << (c & 7)
		}
	}
	return body
}

func makeRows(t testing.TB, typ EventType, id byte, width int, images string) Rows {
	t.Helper()
	r, err := ParseRows(&Event{Type: typ, Format: testFormat(t, false), Timestamp: 5, Body: rowsBody(typ, id, width, images)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// parseStatement parses the events of a statement.
func parseStatement(t testing.TB, f *Format, text []byte) []Event {
	t.Helper()
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	for b = b[:n]; len(b) > 0; {
		e, err := ParseEvent(b, f)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
		b = b[e.Length:]
	}
	return events
}
