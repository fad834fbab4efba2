package durable

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/replay"
)

// TestRefusal: what a server refuses to apply is told once, on one line, so that the hint is right below.
func TestRefusal(t *testing.T) {
	const why = "Could not execute Delete_rows event on table app.t; Can't find record in 't', Error_code: 1032; handler error HA_ERR_KEY_NOT_FOUND"
	const mysql = "Coordinator stopped because there were error(s) in the worker(s). The most recent failure being: Worker 1 failed executing transaction 'ANONYMOUS' at source log , end_log_pos 397. " +
		"See error log and/or performance_schema.replication_applier_status_by_worker table for more details about this failure or others, if any."
	const worker = "2026-11-26T01:14:19.869073Z 10 [ERROR] [MY-010584] [Repl] Replica SQL for channel 'replay': Worker 1 failed executing transaction 'ANONYMOUS' at source log , end_log_pos 397; " +
		why + "; the event's source log FIRST, end_log_pos 397, Error_code: MY-001032"
	for name, c := range map[string]struct{ text, want string }{
		"MariaDB":                      {why + "; the event's master log FIRST, end_log_pos 467\n2026-11-26  1:16:03 5 [ERROR] mariadbd: Can't find record in 't'\n2026-11-26  1:16:03 5 [ERROR] Slave SQL: " + why, why},
		"MySQL":                        {mysql + "\n" + worker, why},
		"MySQL whose log says nothing": {mysql, mysql},
		"a statement":                  {"Error 'Table 'app.t' doesn't exist' on query. Default database: 'app'. Query: 'DROP TABLE t'", "Error 'Table 'app.t' doesn't exist' on query. Default database: 'app'. Query: 'DROP TABLE t'"},
	} {
		err := placed(&replay.ApplyError{Path: filepath.Join("/x", fmt.Sprintf(logName, 1, 2)), Offset: 158, Errno: 1032, Text: c.text})
		var broken *BrokenError
		if !errors.As(err, &broken) || broken.Epoch != 1 || broken.At != (archive.Position{File: 2, Offset: 158}) {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := err.Error(), "the log cannot be replayed behind 1:2:158: the server refuses it: error 1032: "+c.want; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestUnanswered: a recovery ends before a statement that the server refuses if that waited for a base backup, and not if one
// has it, which cannot be used: then what came behind was answered.
func TestUnanswered(t *testing.T) {
	place := func(offset int64) archive.Position { return archive.Position{File: 1, Offset: offset} }
	base := func(id uint32, at int64) archive.Base { return archive.Base{ID: id, Epoch: 2, At: place(at)} }
	refused := &BrokenError{Epoch: 2, At: place(500), Err: errors.New("refused")}
	out := Recovered{Fences: []Crossed{{Epoch: 2, At: place(400)}, {Epoch: 2, At: place(520), Late: true}, {Epoch: 2, At: place(550)}}}
	for name, c := range map[string]struct {
		bases  []archive.Base
		fenced bool
		until  Until
		want   bool
	}{
		"it waited":                        {[]archive.Base{base(1, 0), base(2, 450)}, true, Until{}, true},
		"a base has it":                    {[]archive.Base{base(1, 0), base(2, 600)}, true, Until{}, false},
		"nothing waits":                    {[]archive.Base{base(1, 0)}, false, Until{}, false},
		"less than all there is is wanted": {[]archive.Base{base(1, 0)}, true, Until{Epoch: 2, At: place(900)}, false},
	} {
		a := &Archive{Manifest: &archive.Manifest{Epochs: []archive.Epoch{{Number: 2, Base: 1, Fenced: c.fenced}}, Bases: c.bases}}
		cut, why := a.unanswered(c.until, out, refused)
		if got := why != ""; got != c.want || got && cut.At != place(550) {
			t.Errorf("%s: %s, %q", name, cut.At, why)
		}
	}
}

// TestUnansweredLate: one that never waits is none that a recovery may end before: what came behind it was answered.
func TestUnansweredLate(t *testing.T) {
	at := archive.Position{File: 1, Offset: 500}
	a := &Archive{Manifest: &archive.Manifest{Epochs: []archive.Epoch{{Number: 2, Base: 1, Fenced: true}}}}
	out := Recovered{Fences: []Crossed{{Epoch: 2, At: at, Late: true}}}
	if cut, why := a.unanswered(Until{}, out, &BrokenError{Epoch: 2, At: at, Err: errors.New("refused")}); why != "" {
		t.Errorf("%s, %q", cut.At, why)
	}
}

// TestLogEndsBeforeBase: a log that does not reach the base that a recovery begins with is one whose end is missing, from the
// base on: whether there is less of it than the base has, or nothing, and whether the archive says how far it went, or only
// its manifest. To come to the base itself no log is needed.
func TestLogEndsBeforeBase(t *testing.T) {
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	based, lasted := began.Add(time.Minute), began.Add(time.Hour)
	at := archive.Position{File: 1, Offset: 500}
	for name, c := range map[string]struct {
		has  int
		said bool
	}{
		"less":                                {300, true},
		"nothing":                             {0, true},
		"less, and the base alone says so":    {300, false},
		"nothing, and the base alone says so": {0, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := &archive.Manifest{
				ID: archive.NewID(), Server: "mariadb:11.8.3",
				Epochs: []archive.Epoch{{Number: 1, Began: began, Base: 1}},
				Bases:  []archive.Base{{ID: 1, Epoch: 1, Time: began}, {ID: 2, Epoch: 1, Time: based, At: at, Total: at.Offset}},
			}
			a := &Archive{Disk: archive.OSDisk{Dir: t.TempDir()}, Manifest: m}
			log, err := archive.OpenLog(a.Disk, m.LogID(1), archive.Position{})
			if err != nil {
				t.Fatal(err)
			}
			if c.has > 0 {
				err = log.Append(archive.Position{File: 1}, make([]byte, c.has))
			}
			if err := errors.Join(err, log.Close()); err != nil {
				t.Fatal(err)
			}
			if c.said {
				a.extents = []archive.Extent{{Archive: m.ID, Epoch: 1, Place: archive.Place{Segment: 2}, At: archive.Position{File: 1, Offset: 900}, Time: lasted}}
			}
			logs := func(until Until, n int) (*logFiles, error) {
				t.Helper()
				plans, err := Plans(m, until)
				if err != nil {
					t.Fatal(err)
				}
				return a.logs(t.Context(), plans[n], filepath.Join(t.TempDir(), "log"))
			}
			_, err = logs(Until{}, 0)
			var broken *BrokenError
			var missing *archive.MissingError
			if !errors.As(err, &broken) || !errors.As(err, &missing) || broken.Epoch != 1 || broken.At != at || !missing.From.Equal(based) || missing.To.Equal(lasted) != c.said {
				t.Fatalf("of all: %+v, %v", broken, err)
			}
			if err := a.CheckLog(); !errors.As(err, &missing) {
				t.Errorf("the check of the log: %v", err)
			}
			l, err := logs(Until{Epoch: 1, At: at}, 0)
			if err != nil || l.end != at || len(l.files) > 0 {
				t.Errorf("of the base alone: %+v, %v", l, err)
			}
			if c.has > 0 {
				return // it is no log of a server
			}
			// The base that is before the time has nothing of what was committed up to it.
			if _, err := logs(Until{Time: based.Add(-time.Second)}, 0); c.said && !errors.As(err, &missing) {
				t.Errorf("of a time before the base: %v", err)
			}
		})
	}
}
