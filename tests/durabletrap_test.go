package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// TestDurableResetMaster: a log that is begun again is not taken for the archived one. What was acknowledged
// before comes back, and what is from then on.
func TestDurableResetMaster(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	reset := "RESET MASTER"
	if d.srv.Flavour == server.MySQL {
		reset = "RESET BINARY LOGS AND GTIDS"
	}
	var want []string
	for n, before := range [][]string{nil, {"FLUSH BINARY LOGS", "FLUSH BINARY LOGS"}} {
		send(d.root, append(before, fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (1, %d)", n))...).comes(t, "a commit")
		send(d.root, reset).comes(t, reset)
		between := d.send(fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (2, %d)", n))
		told := false
		select {
		case err := <-between:
			told = err == nil
		case <-time.After(patience):
			t.Errorf("a commit after %s is never answered, and the connection stays", reset)
		}
		var after error
		for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			if after = <-d.send(fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (3, %d)", n)); after == nil || time.Now().After(end) {
				break
			}
			var refused *mysql.MySQLError
			if errors.As(after, &refused) && refused.Number == 1062 { // it was done, and not answered
				after = nil
				break
			}
		}
		if after != nil {
			t.Errorf("no commit after %s: %v", reset, after)
		}
		var made instance.Made
		if err := instance.ReadJSON(filepath.Join(d.instanceDir(d.kind, durableName), "instance.json"), &made); err != nil {
			t.Error(err)
		} else if made.Durable.Epoch == d.made.Durable.Epoch || made.Durable.Boot != d.made.Durable.Boot {
			t.Errorf("after %s it belongs to %+v, and before to %+v", reset, made.Durable, d.made.Durable)
		}
		d.lose(t)
		d.open(t, d.ramaria("up", durableName))
		want = append(want, fmt.Sprintf("1:%d", n), fmt.Sprintf("3:%d", n))
		if told {
			want = append(want, fmt.Sprintf("2:%d", n))
		} else if _, err := d.db.Exec("DELETE FROM ack WHERE writer = 2 AND n = ?", n); err != nil { // there or not
			t.Fatal(err)
		}
		slices.Sort(want)
		d.reads(t, "SELECT CONCAT(writer, ':', n) FROM ack ORDER BY writer, n", strings.Join(want, ","))
	}
}

// TestTrapDataBehindLog: data in RAM that falls behind its log at a kill, and a log without checksums, cannot be
// had by settings.
func TestTrapDataBehindLog(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	for _, set := range []string{"innodb_flush_log_at_trx_commit=0", "binlog_checksum=NONE", "sync_binlog=1"} {
		name, _, _ := strings.Cut(set, "=")
		if _, talk, err := d.try("up", durableName, "--volume", d.kind, "--durable", "--set", set); err == nil || !strings.Contains(talk, "use --set "+name) {
			t.Errorf("--set %s: %v: %s", set, err, talk)
		}
	}
	d.begin(t)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	for name, allowed := range map[string]string{"innodb_flush_log_at_trx_commit": "1 2", "binlog_checksum": "CRC32", "sync_binlog": "0"} {
		got, err := column(ctx, d.root, "SELECT @@GLOBAL."+name)
		if err != nil || len(got) != 1 || !slices.Contains(strings.Fields(allowed), got[0]) {
			t.Errorf("%s is %q, %v; want one of %s", name, got, err, allowed)
		}
	}
	d.ramaria("rm", durableName, "--with-archive")
}

// TestDurableUnlogged: what is in no log, and the log behind it needs, is in a base soon; routines of the application
// have no more rights than it has.
func TestDurableUnlogged(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	define := "CREATE DEFINER=root@localhost PROCEDURE unlogged() SQL SECURITY DEFINER SET SESSION sql_log_bin = 0"
	if err := <-d.send(define); err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("%s: %v", define, err)
	}
	if d.srv.Flavour == server.MySQL {
		d.send("INSTALL PLUGIN mysql_no_login SONAME 'mysql_no_login.so'").comes(t, "INSTALL PLUGIN")
		var s struct {
			Durable struct {
				Backups int      `json:"backups"`
				Outside []string `json:"outside"`
			} `json:"durable"`
		}
		for end := time.Now().Add(2 * soon); s.Durable.Backups < 2; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("no base backup was made: %+v", s)
			}
			if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &s); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(strings.Join(s.Durable.Outside, "\n"), "plugin mysql_no_login") {
			t.Errorf("outside of the promise: %q", s.Durable.Outside)
		}
		d.send("CREATE USER nobody@localhost IDENTIFIED WITH mysql_no_login").comes(t, "CREATE USER")
		// The server that replays the log has the plugin of acknowledgements, which it does not need.
		d.send("CREATE PROCEDURE named() SET GLOBAL rpl_semi_sync_source_trace_level = 32").comes(t, "CREATE PROCEDURE")
	}
	d.send("INSERT INTO slot VALUES (50, 1, 0, '')").comes(t, "a commit")
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot WHERE writer = 50", "1")
	d.ramaria("rm", durableName, "--with-archive")
}

// TestTrapDataExchanged: what exchanges the data is refused, or is in the archive before anything is acknowledged.
func TestTrapDataExchanged(t *testing.T) {
	t.Parallel()
	d := newDurable(t, "shm")
	d.begin(t)
	d.ramaria("mark", durableName, "before")
	d.send("INSERT INTO slot VALUES (50, 1, 0, '')").comes(t, "a commit")
	if _, talk, err := d.try("rewind", durableName, "before"); err == nil || !strings.Contains(talk, "hint: ramaria restore "+durableName) {
		t.Errorf("rewind: %v: %s", err, talk)
	}
	d.reads(t, "SELECT COUNT(*) FROM slot WHERE writer = 50", "1")
	position := lastPosition(t, d)

	d.open(t, d.ramaria("up", durableName, "--fresh"))
	d.tables(t)
	d.send("INSERT INTO slot VALUES (50, 2, 0, ''), (50, 3, 0, '')").comes(t, "a commit, of other data,")
	d.lose(t)
	d.open(t, d.ramaria("up", durableName))
	d.reads(t, "SELECT COUNT(*) FROM slot WHERE writer = 50", "2")
	then := openDSN(t, d.ramaria("restore", durableName, "--at-position", position, "--as", "then", "--volume", d.kind))
	if got, err := column(t.Context(), then, "SELECT COUNT(*) FROM slot WHERE writer = 50"); err != nil || strings.Join(got, ",") != "1" {
		t.Errorf("what there was before --fresh: %q, %v", got, err)
	}
	then.Close()
	d.ramaria("rm", "then", durableName, "--with-archive")
}

// lastPosition is up to where the log is archived.
func lastPosition(t *testing.T, d *durable) string {
	t.Helper()
	var s struct {
		Durable struct {
			Position string `json:"position"`
		} `json:"durable"`
	}
	if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s.Durable.Position
}
