package binlog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// eventsOf are the events of a log that are not about groups, as they are but for what Merge may change, and
// how many groups there are.
func eventsOf(t *testing.T, path string) (events []string, groups int) {
	t.Helper()
	dir, name := filepath.Split(path)
	tail, err := OpenTail(dir, Position{File: name})
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Close()
	// It stands elsewhere than its events say, so they are read one by one.
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := tail.log.format
	for at := int64(len(magic)) + tail.log.first; at < int64(len(b)); {
		e, err := ParseEvent(b[at:], f)
		if err != nil {
			t.Fatalf("at %d: %v", at, err)
		}
		at += e.Length
		switch e.Type {
		case GTIDEvent, AnonymousGTIDEvent, MariaGTIDEvent:
			groups++
			continue
		case XIDEvent, GTIDListEvent, PreviousGTIDsEvent, BinlogCheckpointEvent, RotateEvent, StopEvent:
			continue
		case QueryEvent:
			if q, err := ParseQuery(&e); err != nil || q.Is("BEGIN") {
				continue
			}
		}
		body := bytes.Clone(e.Body)
		if e.Type.Rows() != NotRows {
			body[6] &^= 2 | 1<<7 // no foreign keys, no CHECKs
		}
		events = append(events, fmt.Sprintf("%s %d %d %08x", e.Type, e.Timestamp, e.Flags, crc32.ChecksumIEEE(body)))
	}
	return events, groups
}

// merge merges a part of a file into another.
func merge(t *testing.T, path string, from, to int64) (string, Merged) {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(path))
	var b bytes.Buffer
	m, err := Merge(&b, path, from, to, nil, false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if m.Written != int64(b.Len()) {
		t.Errorf("%d bytes written, and %d said", b.Len(), m.Written)
	}
	return out, m
}

// TestMerge: all that a log says of rows and statements is there after, in order, in fewer groups.
func TestMerge(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		r, l := writeScanned(t, want)
		for i := range 100 {
			r.exec(fmt.Sprintf("INSERT INTO t (s) VALUES ('row %d')", i))
		}
		path := filepath.Join(r.dir, r.pos().File)
		r.exec("FLUSH BINARY LOGS")
		for _, path := range []string{l.path, path} {
			out, m := merge(t, path, 0, 0)
			wantEvents, wantGroups := eventsOf(t, path)
			events, groups := eventsOf(t, out)
			if diff := cmp.Diff(wantEvents, events); diff != "" || len(events) == 0 {
				t.Errorf("events (-log +merged):\n%s", diff)
			}
			if m.Groups != int64(wantGroups) || groups > wantGroups || len(m.Places) != groups {
				t.Errorf("%d groups, read %d, written %d, %d places", wantGroups, m.Groups, groups, len(m.Places))
			}
			if path != l.path && groups > 2 {
				t.Errorf("%d groups of a hundred rows", groups)
			}
			if m, err := Merge(new(bytes.Buffer), path, 0, 0, nil, true, nil, nil); err != nil || len(m.Places) < wantGroups || slices.ContainsFunc(m.Places, func(p Place) bool { return p.Groups != 1 }) {
				t.Errorf("of %d groups apart: %d places, %v", wantGroups, len(m.Places), err)
			}
			// The places lead to groups.
			for _, p := range m.Places {
				if _, err := Scan(path, p.Read, nil); err != nil {
					t.Error(err)
				}
			}
		}
		_, part := merge(t, l.path, l.ends[1], l.ends[4])
		if part.Groups != 3 || part.Read != l.ends[4]-l.ends[1] {
			t.Errorf("three groups: %+v", part)
		}
		if _, none := merge(t, l.path, 0, 4); none.Groups != 0 || none.Written != 0 {
			t.Errorf("no groups: %+v", none)
		}
		for _, at := range [][2]int64{{l.ends[2] - 1, 0}, {0, l.ends[2] + 1}, {0, int64(len(l.b)) + 100}} {
			if m, err := Merge(new(bytes.Buffer), l.path, at[0], at[1], nil, false, nil, nil); err == nil {
				t.Errorf("from %d to %d: %+v", at[0], at[1], m)
			}
		}
		var made []string
		if _, err := Merge(new(bytes.Buffer), l.path, 0, l.ends[6], nil, false, func(q *Query) error {
			made = append(made, string(q.SQL[:min(len(q.SQL), 12)]))
			return nil
		}, nil); err != nil || !cmp.Equal(made, []string{"CREATE TABLE", "CREATE DEFIN"}) {
			t.Errorf("statements %q, %v", made, err)
		}
		b := bytes.Clone(l.b)
		b[l.ends[3]-30]++
		bad := filepath.Join(t.TempDir(), "log.000001")
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var corrupt *CorruptError
		if _, err := Merge(new(bytes.Buffer), bad, 0, 0, nil, false, nil, nil); !errors.As(err, &corrupt) {
			t.Errorf("damaged: %v", err)
		}
	})
}

// TestMergeLongEvents: what does not fit the buffer is copied as it is.
func TestMergeLongEvents(t *testing.T) {
	l := longLog(t)
	out, m := merge(t, l.path, 0, 0)
	want, _ := eventsOf(t, l.path)
	got, groups := eventsOf(t, out)
	if !cmp.Equal(want, got) || groups != 3 || m.Groups != 3 {
		t.Errorf("%d groups, %q; want %q", groups, got, want)
	}
}

// TestMergedOrder: whatever is made one, nothing comes before what its clock says that it depends on.
func TestMergedOrder(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		first := 1 + rnd.Int64N(3)*1000
		const groups = 300
		var n numbers
		in := make([]int64, groups)  // the new number of each
		after := map[int64]int64{}   // by new number
		committed := map[int]clock{} // the old clocks
		for i := range groups {
			seq := first + int64(i)
			c := clock{max(0, seq-1-rnd.Int64N(1+rnd.Int64N(60))), seq}
			if i == 0 || rnd.IntN(4) == 0 {
				n.next++
			}
			after[n.next] = max(after[n.next], n.add(c))
			in[i], committed[i] = n.next, c
		}
		for i := range groups {
			for k := range i {
				if first+int64(k) <= committed[i].committed && in[k] != in[i] && in[k] > after[in[i]] {
					t.Fatalf("seed %d: %d depends on %d, now in %d, and may begin after %d", seed, i, k, in[k], after[in[i]])
				}
			}
			if after[in[i]] >= in[i] {
				t.Fatalf("seed %d: %d comes after %d", seed, in[i], after[in[i]])
			}
		}
	}
}

// TestMergeOfSessions: what an applier computes from rows it computes by the session that the log says, so that only those that
// are alike become one. Of sessions with a time zone and without one, the one that there is counts for both.
func TestMergeOfSessions(t *testing.T) {
	flags := func(v byte) string { return string([]byte{qFlags2, 0, 0, v, 0}) }
	mode := func(v byte) string { return string([]byte{qSQLMode, v, 0, 0, 0, 0, 0, 0, 0}) }
	micros := func(v byte) string { return string([]byte{qMicroseconds, v, 0, 0}) }
	dbs := func(name string) string { return string([]byte{qUpdatedDBs, 1}) + name + "\x00" }
	charset := func(v byte) string { return string([]byte{qCharset, v, 0, v, 0, v, 0}) }
	zone := func(name string) string { return string([]byte{qTimeZone, byte(len(name))}) + name }
	for _, c := range []struct {
		name     string
		sessions []string
		want     []string // those that are left
	}{
		{"alike", []string{mode(1) + charset(2), mode(1) + charset(2)}, []string{mode(1) + charset(2)}},
		{"of no moment", []string{flags(1) + mode(1) + micros(1) + dbs("a"), flags(2) + mode(1) + dbs("b")}, []string{flags(2) + mode(1) + dbs("b")}},
		{"sql_mode", []string{mode(1), mode(2), mode(2), mode(1)}, []string{mode(1), mode(2), mode(1)}},
		{"character set", []string{charset(1), charset(2)}, []string{charset(1), charset(2)}},
		{"unknown", []string{"\xee1", "\xee2", "\xee2"}, []string{"\xee1", "\xee2"}},
		{"time zone", []string{mode(1), mode(1) + zone("a"), mode(1), mode(1) + zone("b"), mode(1)}, []string{mode(1) + zone("a"), mode(1) + zone("b")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLog(t, t.TempDir(), "log.000001", 0, true)
			for _, vars := range c.sessions {
				head := make([]byte, queryPostLen)
				head[11] = byte(len(vars))
				l.add(AnonymousGTIDEvent, string(make([]byte, 42))).add(QueryEvent, string(head)+vars+"\x00BEGIN")
				l.add(TableMapEvent, string(make([]byte, 40))).add(UpdateRowsV2, string(make([]byte, 100))).add(XIDEvent, "12345678")
			}
			l.save(t)
			out, m := merge(t, l.path, 0, 0)
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for at := len(magic); at < len(b); {
				e, err := ParseEvent(b[at:], testFormat(t, true))
				if err != nil {
					t.Fatal(err)
				}
				if e.Type == QueryEvent {
					got = append(got, string(e.Body[queryPostLen:][:e.Body[11]]))
				}
				at += int(e.Length)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || m.Groups != int64(len(c.sessions)) {
				t.Errorf("%d groups; sessions (-want +got):\n%s", m.Groups, diff)
			}
		})
	}
}

// TestSplitIsTrusted: the applier is not to look at CHECKs where rows of MariaDB's come as several transactions, either.
func TestSplitIsTrusted(t *testing.T) {
	l := &logBytes{path: filepath.Join(t.TempDir(), "log.000001"), sum: true}
	l.b = append(append(l.b, magic...), formatBytes("11.8.6-MariaDB-log", 0, true)...)
	gtid := append(make([]byte, 12), flagTransactional, 0, 0, 0, 0, 0, 0)
	gtid[0] = 1
	const tiny, deleted = 1, mostCopies + 1
	l.add(MariaGTIDEvent, string(gtid)).add(TableMapEvent, string(mapBody(7, "t", []byte{tiny}, nil)))
	l.add(DeleteRowsV1, string(rowsBody(DeleteRowsV1, 7, 1, strings.Repeat("\x00\x05", deleted)))).add(XIDEvent, "12345678")
	l.save(t)
	out, m := merge(t, l.path, 0, 0)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if m.Groups != 1 || len(m.Places) != 2 {
		t.Errorf("%d groups became %d", m.Groups, len(m.Places))
	}
	for at := len(magic); at < len(b); {
		e, err := ParseEvent(b[at:], testFormat(t, true))
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == DeleteRowsV1 && e.Body[6]&rowsNoCheckConstraint == 0 {
			t.Errorf("the event at %d has flags %#x", at, e.Body[6])
		}
		at += int(e.Length)
	}
}

func BenchmarkMerge(b *testing.B) {
	l := newLog(b, b.TempDir(), "log.000001", 0, true)
	clocked := make([]byte, 42)
	clocked[clockKindAt] = clockKind
	for i := uint64(1); len(l.b) < 64<<20; i++ {
		le.PutUint64(clocked[clockAt:], i-1)
		le.PutUint64(clocked[clockAt+8:], i)
		l.add(AnonymousGTIDEvent, string(clocked)).add(QueryEvent, string(make([]byte, queryPostLen+1))+"BEGIN")
		l.add(TableMapEvent, string(make([]byte, 40))).add(UpdateRowsV2, string(make([]byte, 100))).add(XIDEvent, "12345678")
	}
	l.save(b)
	b.SetBytes(int64(len(l.b)))
	for b.Loop() {
		var w bytes.Buffer
		if m, err := Merge(&w, l.path, 0, 0, nil, false, nil, nil); err != nil || m.Groups == 0 {
			b.Fatal(m, err)
		}
	}
}

// TestLastMoment: the last moment is found wherever it is cut.
func TestLastMoment(t *testing.T) {
	text := append(append([]byte("before"), lastMoment...), "behind"...)
	for a := range len(text) {
		for b := a; b < len(text); b++ {
			m, other := &merger{}, &merger{}
			for _, piece := range [][]byte{text[:a], text[a:b], text[b:]} {
				m.look(piece)
				other.look(append(piece[:len(piece):len(piece)], 'x'))
			}
			cut := func(at int) bool { return at > len("before") && at < len("before")+len(lastMoment) }
			if !m.out.Ends32 || other.out.Ends32 == (cut(a) || cut(b)) {
				t.Errorf("cut at %d and %d: %t, and with more between %t", a, b, m.out.Ends32, other.out.Ends32)
			}
		}
	}
}
