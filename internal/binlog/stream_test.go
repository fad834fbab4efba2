package binlog

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// TestStream holds what comes in pieces against what the file has.
func TestStream(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		_, l := writeScanned(t, want)
		testStream(t, l)
	})
}

func testStream(t *testing.T, l scanned) {
	want := tailed(t, l.path)
	for _, size := range []int{1, 7, 19, 64, 4096, len(l.b)} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			s := &Stream{Whole: func(t EventType, _ int64) bool { return t == QueryEvent }}
			var got []string
			for at := 0; at < len(l.b); at += size {
				if s.Next() != int64(at) {
					t.Fatalf("after %d bytes it has taken %d", at, s.Next())
				}
				if err := s.Write(l.b[at:min(at+size, len(l.b))], func(e *Event) error {
					got = append(got, describe(t, e))
					return nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if s.At() != int64(len(l.b)) {
				t.Errorf("the next event is at %d of %d", s.At(), len(l.b))
			}
		})
	}
}

func describe(t *testing.T, e *Event) string {
	text := fmt.Sprintf("%d %s %d %d %x", e.Offset, e.Type, e.Length, e.Timestamp, e.Flags)
	if e.Type == QueryEvent {
		q, err := ParseQuery(e)
		if err != nil {
			t.Fatal(err)
		}
		if Begins(e) != (string(q.SQL) == "BEGIN") {
			t.Errorf("%q begins a transaction: %t", q.SQL, Begins(e))
		}
		text += " " + q.Schema + " " + string(q.SQL)
	}
	return text
}

// tailed are the events of a file, by Tail.
func tailed(t *testing.T, path string) (list []string) {
	t.Helper()
	tail, err := OpenTail(filepath.Dir(path), Position{File: filepath.Base(path)})
	if err != nil {
		t.Fatal(err)
	}
	defer tail.Close()
	var e Event
	for {
		ok, err := tail.Next(&e)
		if err != nil {
			t.Fatal(err)
		}
		if !ok || e.File != filepath.Base(path) {
			return list
		}
		list = append(list, describe(t, &e))
	}
}
