package durable

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

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
	out := Recovered{Fences: []Crossed{{Epoch: 2, At: place(400)}, {Epoch: 2, At: place(550)}}}
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
