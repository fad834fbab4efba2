package binlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// scanned is a log as a server wrote it, and where it said after each statement that the log ends.
type scanned struct {
	path string
	b    []byte
	ends []int64
}

// writeScanned has a server write a file of groups of all kinds, with checksums.
func writeScanned(t *testing.T, want string) (*live, scanned) {
	r := startReal(t, want)
	r.exec("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s TEXT) ENGINE=InnoDB", "CREATE TABLE m (id INT, s TEXT) ENGINE=MyISAM",
		"SET GLOBAL binlog_checksum=CRC32", "FLUSH BINARY LOGS")
	time.Sleep(300 * time.Millisecond) // MariaDB writes a checkpoint when it is done with the file before
	first := r.pos()
	l := scanned{path: filepath.Join(r.dir, first.File)}
	groups := [][]string{
		{"INSERT INTO t (s) VALUES ('a'), ('b')"},
		{"BEGIN", "UPDATE t SET s='c'", "SAVEPOINT p", "DELETE FROM t", "ROLLBACK TO p", "INSERT INTO t (s) VALUES ('begin')", "COMMIT"},
		{"INSERT INTO m VALUES (1, 'x')"},
		{"CREATE TABLE u (id INT) ENGINE=InnoDB"},
		{"CREATE TABLE v ENGINE=InnoDB SELECT * FROM t"},
		{"INSERT INTO t (s) VALUES (REPEAT('long ', 3000))"},
		{"CREATE PROCEDURE p() COMMENT 'COMMIT' BEGIN END"},
		{"CREATE USER somebody IDENTIFIED BY 'Secret-1'"},
		{"XA START 'x'", "INSERT INTO t (s) VALUES ('xa')", "XA END 'x'", "XA PREPARE 'x'"},
		{"XA COMMIT 'x'"},
		{"XA START 'y'", "INSERT INTO t (s) VALUES ('xa')", "XA END 'y'", "XA COMMIT 'y' ONE PHASE"},
		{"FLUSH TABLES t"},
		{"DROP TABLE u"},
		{"INSERT INTO t (s) VALUES ('last')"},
	}
	for _, g := range groups {
		r.exec(g...)
		l.ends = append(l.ends, r.pos().Offset)
	}
	r.exec("FLUSH BINARY LOGS")
	var err error
	if l.b, err = os.ReadFile(l.path); err != nil {
		t.Fatal(err)
	}
	return r, l
}

// TestScan holds what is found in a server's log against where the server says that it ended.
func TestScan(t *testing.T) {
	servertest.EachAlways(t, func(t *testing.T, want string) {
		began := time.Now().Add(-time.Second)
		r, l := writeScanned(t, want)
		var groups []Group
		ext, err := Scan(l.path, 4, func(g Group) error {
			groups = append(groups, g)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if ext.End != int64(len(l.b)) || ext.Size != ext.End || ext.Torn != nil || !ext.Ended || ext.Groups != int64(len(l.ends)) {
			t.Errorf("extent %+v of %d bytes and %d groups", ext, len(l.b), len(l.ends))
		}
		var kinds strings.Builder
		var ends []int64
		start := groups[0].Start
		for _, g := range groups {
			ends = append(ends, g.End)
			if g.Start != start || g.Time.Before(began) || g.Time.After(time.Now()) {
				t.Errorf("group %+v: began %s, follows %d", g, began, start)
			}
			start = g.End
			fmt.Fprint(&kinds, g.Kind)
		}
		if diff := cmp.Diff(l.ends, ends); diff != "" {
			t.Errorf("ends of groups (-server +scan):\n%s", diff)
		}
		if want := "0001" + "0011" + "210" + "110"; kinds.String() != want {
			t.Errorf("kinds %s, want %s", &kinds, want)
		}
		if r.flavour == MariaDB {
			if want := r.value("SELECT @@gtid_binlog_state"); ext.GTIDs.String() != want {
				t.Errorf("GTIDs %q, want %q", ext.GTIDs, want)
			}
		}
		rest, err := Scan(l.path, l.ends[2], nil)
		if err != nil || rest.Groups != ext.Groups-3 || rest.End != ext.End {
			t.Errorf("from the fourth group on: %+v, %v", rest, err)
		}
		stop := errors.New("enough")
		part, err := Scan(l.path, 4, func(g Group) error {
			if g.End == l.ends[3] {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || part.End != l.ends[2] || part.Groups != 3 {
			t.Errorf("stopped: %+v, %v", part, err)
		}
		t.Run("cut", func(t *testing.T) { scanCuts(t, l) })
		t.Run("damage", func(t *testing.T) { scanDamage(t, l) })
	})
}

// scanCuts cuts the log off anywhere: it ends with the last group that is whole.
func scanCuts(t *testing.T, l scanned) {
	path := filepath.Join(t.TempDir(), filepath.Base(l.path))
	if err := os.WriteFile(path, l.b, 0o600); err != nil {
		t.Fatal(err)
	}
	for size := int64(len(l.b)) - 1; size >= 0; size-- {
		if size%7 > 0 && !slices.Contains(l.ends, size) && !slices.Contains(l.ends, size+1) && !slices.Contains(l.ends, size-1) {
			continue
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		ext, err := Scan(path, 4, nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		groups := 0
		for _, end := range l.ends {
			if end <= size {
				groups++
			}
		}
		if ext.Groups != int64(groups) || ext.Size != size || ext.End > size || (ext.Torn == nil) != (ext.End == size && size > 0) || ext.Ended {
			t.Fatalf("cut at %d, after %d groups: %+v", size, groups, ext)
		}
		if groups > 0 && ext.End != l.ends[groups-1] {
			t.Fatalf("cut at %d: ends at %d, and the group before at %d", size, ext.End, l.ends[groups-1])
		}
	}
}

// scanDamage changes every byte: that is never overlooked, and is taken for the end of the log in
// the last event only.
func scanDamage(t *testing.T, l scanned) {
	path := filepath.Join(t.TempDir(), filepath.Base(l.path))
	b := bytes.Clone(l.b[:l.ends[len(l.ends)-1]]) // a ROTATE event would be the last
	const xid = headerLen + 8 + checksumLen
	last := len(b) - xid
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(i int, c byte) {
		t.Helper()
		if _, err := f.WriteAt([]byte{c}, int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range b {
		if i == 4+17 { // the flag that the file is in use
			continue
		}
		put(i, b[i]^(1<<(i%8)))
		ext, err := Scan(path, 4, nil)
		var corrupt *CorruptError
		var other *NotUnderstoodError
		switch {
		case err == nil && (i < last || ext.Torn == nil || ext.End != l.ends[len(l.ends)-2]):
			t.Errorf("byte %d of %d changed: %+v", i, len(b), ext)
		case err != nil && !errors.As(err, &corrupt) && !errors.As(err, &other):
			t.Errorf("byte %d of %d changed: %v", i, len(b), err)
		}
		put(i, b[i])
	}
}

// longLog is a log with an event that does not fit the buffer, in the middle of three groups.
func longLog(t testing.TB) *logBytes {
	l := newLog(t, t.TempDir(), "log.000001", 0, true)
	query := func(sql string) string { return strings.Repeat("\x00", queryPostLen) + "\x00" + sql }
	for range 3 {
		l.add(AnonymousGTIDEvent, strings.Repeat("\x00", 42)).add(QueryEvent, query("BEGIN"))
		l.add(WriteRowsV2, strings.Repeat("0123456789abcdef", scanChunk/8)).add(XIDEvent, "12345678")
	}
	return l.save(t)
}

func TestScanLongEvents(t *testing.T) {
	l := longLog(t)
	ext, err := Scan(l.path, 4, nil)
	if err != nil || ext.Groups != 3 || ext.End != int64(len(l.b)) || ext.Ended {
		t.Errorf("%+v, %v", ext, err)
	}
	middle := len(l.b) / 2
	l.b[middle]++
	l.save(t)
	if ext, err = Scan(l.path, 4, nil); err == nil {
		t.Errorf("byte %d changed: %+v", middle, ext)
	}
	l.b[middle]--
	l.b = append(l.b[:len(l.b)*2/3-10], make([]byte, 3<<20)...)
	l.save(t)
	if ext, err = Scan(l.path, 4, nil); err != nil || ext.Groups != 1 || ext.Torn == nil {
		t.Errorf("zeros at the end: %+v, %v", ext, err)
	}
	l.b = append(l.b, 1)
	l.save(t)
	if ext, err = Scan(l.path, 4, nil); err == nil {
		t.Errorf("more than zeros at the end: %+v", ext)
	}
}

// TestScanRefuses has what stands where it must not, and what no server can apply.
func TestScanRefuses(t *testing.T) {
	gtid := strings.Repeat("\x00", 42)
	for _, tc := range []struct {
		name string
		add  func(l *logBytes)
		want any
	}{
		{"a group within another", func(l *logBytes) { l.add(AnonymousGTIDEvent, gtid).add(AnonymousGTIDEvent, gtid) }, new(*CorruptError)},
		{"a file that goes on", func(l *logBytes) { l.add(StopEvent, "").add(AnonymousGTIDEvent, gtid) }, new(*CorruptError)},
		{"an end within a group", func(l *logBytes) { l.add(AnonymousGTIDEvent, gtid).add(RotateEvent, rotate("log.000002")) }, new(*CorruptError)},
		{"a second format", func(l *logBytes) { l.add(FormatDescriptionEvent, strings.Repeat("\x00", 100)) }, new(*CorruptError)},
		{"an incident", func(l *logBytes) { l.add(IncidentEvent, "\x01\x00") }, new(*NotUnderstoodError)},
		{"encryption", func(l *logBytes) { l.add(StartEncryptionEvent, "") }, new(*NotUnderstoodError)},
		{"an unknown event", func(l *logBytes) { l.add(200, "") }, new(*NotUnderstoodError)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLog(t, t.TempDir(), "log.000001", 0, true)
			tc.add(l)
			l.save(t)
			if ext, err := Scan(l.path, 4, nil); !errors.As(err, tc.want) {
				t.Errorf("%+v, %v", ext, err)
			}
		})
	}
}

func TestGTIDs(t *testing.T) {
	var l GTIDs
	for _, g := range []GTID{{0, 1, 1}, {0, 1, 2}, {0, 2, 3}, {5, 1, 1}, {0, 1, 4}, {0, 1, 5}, {}} {
		l.Add(g)
	}
	if want := "0-2-3,5-1-1,0-1-5"; l.String() != want {
		t.Errorf("%s, want %s", l, want)
	}
	for _, text := range []string{"", l.String(), "0-4294967295-18446744073709551615"} {
		if got, err := ParseGTIDs(text); err != nil || got.String() != text {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "0-1", "0-1-2-3", "0-1-2,", "a-b-c", "0-1-2 3"} {
		if got, err := ParseGTIDs(text); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	for _, row := range []int{100, 8000} {
		b.Run(fmt.Sprint(row), func(b *testing.B) {
			l := newLog(b, b.TempDir(), "log.000001", 0, true)
			for len(l.b) < 64<<20 {
				l.add(AnonymousGTIDEvent, strings.Repeat("\x00", 42)).add(QueryEvent, strings.Repeat("\x00", queryPostLen+1)+"BEGIN")
				l.add(TableMapEvent, strings.Repeat("t", 40)).add(UpdateRowsV2, strings.Repeat("r", row)).add(XIDEvent, "12345678")
			}
			l.save(b)
			b.SetBytes(int64(len(l.b)))
			for b.Loop() {
				if ext, err := Scan(l.path, 4, nil); err != nil || ext.Torn != nil {
					b.Fatal(ext, err)
				}
			}
		})
	}
}
