package binlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/sys"
)

func openTail(t testing.TB, dir string, from Position) *Tail {
	t.Helper()
	tail, err := OpenTail(dir, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tail.Close)
	return tail
}

// drain returns the kinds of the events that there are, and how it ended.
func drain(tail *Tail) ([]string, error) {
	var kinds []string
	for {
		var e Event
		ok, err := tail.Next(&e)
		if !ok || err != nil {
			return kinds, err
		}
		kind := e.Type.String()
		if e.Restarted {
			kind += " restarted"
		}
		kinds = append(kinds, kind)
	}
}

func expect(t *testing.T, tail *Tail, want ...string) {
	t.Helper()
	got, err := drain(tail)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

const (
	first  = "binlog.000009"
	second = "binlog.000010"
	third  = "binlog.000011"
)

func TestTailGrows(t *testing.T) {
	for _, sum := range []bool{false, true} {
		dir := t.TempDir()
		l := newLog(t, dir, first, 1, sum)
		tail := openTail(t, dir, Position{File: first})
		expect(t, tail, "FORMAT_DESCRIPTION restarted")
		expect(t, tail)
		// One that comes byte by byte, and is longer than what is read at a time.
		whole := l.add(QueryEvent, strings.Repeat("x", 3*chunk)).b
		for _, n := range []int{1, headerLen - 1, headerLen, 100, chunk, len(whole) - tail1(tail) - 1} {
			l.b = whole[:tail1(tail)+n]
			l.save(t)
			expect(t, tail)
		}
		l.b = whole
		l.add(XIDEvent, "12345678").save(t)
		expect(t, tail, "QUERY", "XID")
		if tail.Pos() != (Position{first, int64(len(l.b))}) {
			t.Errorf("at %s of %d", tail.Pos(), len(l.b))
		}
		time.Sleep(settled + settled/2) // so that it is known that no other file came
		var e Event
		if n := testing.AllocsPerRun(100, func() {
			if ok, err := tail.Next(&e); ok || err != nil {
				t.Error(ok, err)
			}
		}); n != 0 {
			t.Errorf("%v allocations when nothing is new", n)
		}
	}
}

func tail1(tail *Tail) int { return int(tail.Pos().Offset) }

func TestTailGoesOn(t *testing.T) {
	const format, restarted = "FORMAT_DESCRIPTION", "FORMAT_DESCRIPTION restarted"
	for _, c := range []struct {
		name string
		end  func(l *logBytes)
		want []string // of the old file's end
		next string   // how the new file begins
	}{
		{"rotation", func(l *logBytes) { l.add(RotateEvent, rotate(second)) }, []string{"ROTATE"}, format},
		{"rotation to a path", func(l *logBytes) { l.add(RotateEvent, rotate("./"+second)) }, []string{"ROTATE"}, format},
		{"stop", func(l *logBytes) { l.add(StopEvent, "") }, []string{"STOP"}, restarted},
		{"killed", func(*logBytes) {}, nil, restarted},
		{"killed while it wrote", func(l *logBytes) {
			l.add(QueryEvent, strings.Repeat("x", 100))
			l.b = l.b[:len(l.b)-1]
		}, nil, restarted},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, late := range []bool{false, true} {
				dir := t.TempDir()
				l := newLog(t, dir, first, 1, true)
				tail := openTail(t, dir, Position{File: first})
				expect(t, tail, restarted)
				c.end(l)
				l.save(t)
				if late {
					expect(t, tail, c.want...)
					expect(t, tail)
					// The new file is not yet complete.
					if err := os.WriteFile(filepath.Join(dir, second), magic[:2], 0o600); err != nil {
						t.Fatal(err)
					}
					expect(t, tail)
				}
				newLog(t, dir, second, 0, false).add(XIDEvent, "12345678").save(t)
				want := []string{c.next, "XID"}
				if !late {
					want = append(append([]string{}, c.want...), want...)
				}
				expect(t, tail, want...)
				if tail.Pos().File != second {
					t.Errorf("at %s", tail.Pos())
				}
				// A reader who comes after the last event goes on as well.
				if c.name != "killed while it wrote" {
					expect(t, openTail(t, dir, Position{first, int64(len(l.b))}), c.next, "XID")
				}
			}
		})
	}
}

func TestTailIsNotSure(t *testing.T) {
	var gone *GoneError
	var bad *CorruptError
	var odd *NotUnderstoodError
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string, l *logBytes)
		want   any
	}{
		{"removed", func(t *testing.T, _ string, l *logBytes) { remove(t, l.path) }, &gone},
		{"reset", func(t *testing.T, dir string, l *logBytes) {
			remove(t, l.path)
			newLog(t, dir, first, 1, true)
			newLog(t, dir, second, 0, true)
		}, &gone},
		{"removed after a rotation", func(t *testing.T, dir string, l *logBytes) {
			l.add(RotateEvent, rotate(second)).save(t)
			remove(t, l.path)
			newLog(t, dir, second, 0, true)
		}, &gone},
		{"shorter", func(t *testing.T, _ string, l *logBytes) {
			if err := os.Truncate(l.path, int64(len(l.b))-5); err != nil {
				t.Fatal(err)
			}
		}, &gone},
		{"encrypted", func(t *testing.T, _ string, l *logBytes) { l.add(StartEncryptionEvent, "abc").save(t) }, &odd},
		{"checksum", func(t *testing.T, _ string, l *logBytes) {
			l.add(XIDEvent, "12345678")
			l.b[len(l.b)-6]++
			l.save(t)
		}, &bad},
		{"too short an event", func(t *testing.T, _ string, l *logBytes) {
			l.b = append(l.b, make([]byte, headerLen)...)
			l.save(t)
		}, &bad},
		{"a length that leads elsewhere", func(t *testing.T, _ string, l *logBytes) {
			at := len(l.b)
			l.add(XIDEvent, "12345678")
			l.b[at+10]++
			l.save(t)
		}, &bad},
		{"more after the end", func(t *testing.T, _ string, l *logBytes) { l.add(StopEvent, "").add(XIDEvent, "12345678").save(t) }, &bad},
		{"rotation to elsewhere", func(t *testing.T, _ string, l *logBytes) { l.add(RotateEvent, rotate(third)).save(t) }, &bad},
		{"next is no log", func(t *testing.T, dir string, _ *logBytes) {
			if err := os.WriteFile(filepath.Join(dir, second), []byte("hello"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, &bad},
		{"next is encrypted", func(t *testing.T, dir string, _ *logBytes) {
			if err := os.WriteFile(filepath.Join(dir, second), encryptedMagic, 0o600); err != nil {
				t.Fatal(err)
			}
		}, &odd},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l := newLog(t, dir, first, 1, true).add(XIDEvent, "12345678").save(t)
			tail := openTail(t, dir, Position{File: first})
			expect(t, tail, "FORMAT_DESCRIPTION restarted", "XID")
			c.change(t, dir, l)
			_, err := drain(tail)
			if !errors.As(err, c.want) {
				t.Fatalf("error %v, want %T", err, c.want)
			}
			if _, again := drain(tail); !errors.Is(again, err) {
				t.Errorf("then %v", again)
			}
		})
	}
}

func TestTailKnownByName(t *testing.T) {
	dir := t.TempDir()
	newLog(t, dir, first, 1, false).add(UserVarEvent, "x").add(PartialUpdateRowsEvent, "x").addFlags(99, flagIgnorable, "x").
		add(98, "x").add(IncidentEvent, "\x01\x00").add(TransactionPayloadEvent, "x").add(QueryCompressedEvent, "x").add(XIDEvent, "12345678").save(t)
	expect(t, openTail(t, dir, Position{File: first}), "FORMAT_DESCRIPTION restarted", "USER_VAR", "PARTIAL_UPDATE_ROWS", "number 99",
		"number 98", "INCIDENT", "TRANSACTION_PAYLOAD", "QUERY_COMPRESSED", "XID")
	for kind, want := range map[EventType]bool{
		IntvarEvent: true, RandEvent: true, UserVarEvent: true, XIDEvent: true, StopEvent: true,
		PartialUpdateRowsEvent: false, 99: false, IncidentEvent: false, TransactionPayloadEvent: false, QueryCompressedEvent: false, 6: false, 12: false,
	} {
		if kind.Understood() != want {
			t.Errorf("%s: understood %t", kind, !want)
		}
	}
}

func TestRowsTable(t *testing.T) {
	for kind, want := range map[EventType]bool{PartialUpdateRowsEvent: true, 166: true, 171: true, QueryCompressedEvent: false, WriteRowsV2: false, XIDEvent: false} {
		e := Event{Type: kind, Body: []byte("\x05\x01\x00\x00\x00\x00\x01\x00rest")}
		if id, ok := e.RowsTable(); ok != want || ok && id != 0x105 {
			t.Errorf("%s: table %d, %t", kind, id, ok)
		}
	}
	if _, ok := (&Event{Type: PartialUpdateRowsEvent, Body: []byte("\x05")}).RowsTable(); ok {
		t.Error("the number of a table in one byte")
	}
}

func TestOpenTail(t *testing.T) {
	dir := t.TempDir()
	l := newLog(t, dir, first, 1, false)
	var gone *GoneError
	for _, p := range []Position{{second, 4}, {first, int64(len(l.b)) + 1}} {
		if _, err := OpenTail(dir, p); !errors.As(err, &gone) {
			t.Errorf("at %s: %v", p, err)
		}
	}
}

// TestTailFollowsNoLink: the server could put something else in the place of its next log.
func TestTailFollowsNoLink(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"link": func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), first), path) },
		"fifo": func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		dir := t.TempDir()
		newLog(t, dir, first, 1, false)
		if err := plant(filepath.Join(dir, second)); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTail(dir, Position{File: second}); !errors.Is(err, sys.ErrNotPlain) {
			t.Errorf("a %s: %v", name, err)
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkTail(b *testing.B) {
	for name, size := range map[string]int{"small": 60, "8K": 8 << 10} {
		for _, sum := range []bool{false, true} {
			b.Run(name+map[bool]string{true: " CRC32"}[sum], func(b *testing.B) {
				dir := b.TempDir()
				l := newLog(b, dir, first, 1, sum)
				for len(l.b) < 16<<20 {
					l.add(WriteRowsV2, strings.Repeat("x", size))
				}
				l.save(b)
				b.SetBytes(int64(len(l.b)))
				for b.Loop() {
					tail := openTail(b, dir, Position{File: first})
					var e Event
					for {
						if ok, err := tail.Next(&e); err != nil {
							b.Fatal(err)
						} else if !ok {
							break
						}
					}
					tail.Close()
				}
			})
		}
	}
	b.Run("nothing new", func(b *testing.B) {
		dir := b.TempDir()
		newLog(b, dir, first, 1, false)
		tail := openTail(b, dir, Position{File: first})
		time.Sleep(settled + settled/2)
		var e Event
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tail.Next(&e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
