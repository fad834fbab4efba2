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
