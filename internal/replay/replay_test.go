package replay

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/sys"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logging are the settings of a server whose log is replayed. An event would make a difference at any time.
var logging = map[string]string{"binlog_checksum": "CRC32", "event_scheduler": "OFF"}

// twin is a server that writes, and its data directory as it was before.
type twin struct {
	*servertest.Running
	base string
	// set are its settings when it writes.
	set map[string]string
	// from is the first file of the log that base does not have.
	from string
}

// newTwin starts a server, runs a file of statements that base is to have, and copies its data directory.
func newTwin(t testing.TB, want, file string) *twin { return newTwinWith(t, want, file, nil) }

// newTwinWith is newTwin with more settings of the server when it writes.
func newTwinWith(t testing.TB, want, file string, set map[string]string) *twin {
	t.Helper()
	w := &twin{Running: servertest.Start(t, servertest.Find(t, want)), base: filepath.Join(openDir(t), "data"), set: maps.Clone(logging)}
	maps.Copy(w.set, set)
	w.Load(t, text(t, w.Server, file))
	w.rebase(t)
	return w
}

// rebase has base be the data as it is now, and the log begin behind it.
func (w *twin) rebase(t testing.TB) {
	t.Helper()
	w.Stop(t)
	filter := func(rel string, _ fs.FileMode) (bool, error) {
		return strings.HasPrefix(rel, server.BinlogName) || server.Transient(rel), nil
	}
	if err := errors.Join(os.RemoveAll(w.base), sys.CopyTree(t.Context(), w.DataDir(), w.base, filter)); err != nil {
		t.Fatal(err)
	}
	w.RestartAs(t, server.Run, false, w.set)
	files := w.files(t)
	w.from = files[len(files)-1]
}

// openDir is a directory that servers can pass through.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rp-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("files are kept in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (w *twin) files(t testing.TB) []string {
	t.Helper()
	files, err := binlog.Files(w.DataDir(), server.BinlogName)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// logs are the files that base does not have.
func (w *twin) logs(t testing.TB) (logs []Log) {
	t.Helper()
	files := w.files(t)
	for _, name := range files[slices.Index(files, w.from):] {
		logs = append(logs, Log{Path: filepath.Join(w.DataDir(), name)})
	}
	return logs
}

// job is one on a copy of base.
func (w *twin) job(t testing.TB, logs []Log) *Job {
	t.Helper()
	dir := openDir(t)
	j := &Job{Server: w.Server, Account: w.Account, Dir: dir, DataDir: filepath.Join(dir, "data"), Volume: "disk", Logs: logs, Set: w.set}
	if err := sys.CopyTree(t.Context(), w.base, j.DataDir, nil); err != nil {
		t.Fatal(err)
	}
	return j
}

// replay replays logs on a copy of base, and starts a server on the outcome.
func (w *twin) replay(t *testing.T, logs []Log) (*servertest.Running, Result) {
	t.Helper()
	j := w.job(t, logs)
	r, err := j.Run(t.Context())
	if err != nil {
		said, _ := os.ReadFile(j.logPath())
		t.Fatalf("%v\n%s", err, said)
	}
	return servertest.StartOn(t, w.Server, j.DataDir, logging), r
}

// query returns what a server answers, a line a row.
func query(t *testing.T, r *servertest.Running, text string) (lines []string) {
	t.Helper()
	db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = dbconn.Query(context.Background(), db, text, func(cols []string) error {
		lines = append(lines, strings.Join(cols, " | "))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return lines
}

// state is everything in a server: text by name.
func state(t *testing.T, r *servertest.Running) map[string]string {
	t.Helper()
	s := map[string]string{}
	add := func(name, text string) {
		s[name] = strings.Join(query(t, r, text), "\n")
	}
	notOurs := " NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"
	for _, database := range query(t, r, "SELECT schema_name FROM information_schema.schemata WHERE schema_name"+notOurs) {
		q := dbconn.QuoteName(database)
		add("database "+database, "SHOW CREATE DATABASE "+q)
	}
	for _, line := range query(t, r, "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema"+notOurs) {
		c := strings.Split(line, " | ")
		name := dbconn.QuoteName(c[0]) + "." + dbconn.QuoteName(c[1])
		add(c[2]+" "+name, "SHOW CREATE TABLE "+name)
		switch {
		case c[2] == "VIEW":
		case strings.Contains(s[c[2]+" "+name], " array)"):
			// MySQL's checksum of a table with an index of many values is another each time.
			columns := query(t, r, "SELECT GROUP_CONCAT(CONCAT('`', column_name, '`') ORDER BY ordinal_position) FROM information_schema.columns WHERE table_schema = "+dbconn.Quote(c[0])+" AND table_name = "+dbconn.Quote(c[1]))
			add("rows "+name, "SELECT "+columns[0]+" FROM "+name)
		default:
			add("checksum "+name, "CHECKSUM TABLE "+name+" EXTENDED")
			add("rows "+name, "SELECT COUNT(*) FROM "+name)
		}
		if c[2] == "SEQUENCE" {
			add("values of "+name, "SELECT * FROM "+name)
		}
	}
	for _, line := range query(t, r, "SELECT trigger_schema, trigger_name FROM information_schema.triggers WHERE trigger_schema"+notOurs) {
		c := strings.Split(line, " | ")
		name := dbconn.QuoteName(c[0]) + "." + dbconn.QuoteName(c[1])
		add("trigger "+name, "SELECT event_manipulation, event_object_table, action_order, action_statement, action_timing, sql_mode, definer, character_set_client, collation_connection, database_collation FROM information_schema.triggers WHERE trigger_schema = "+
			dbconn.Quote(c[0])+" AND trigger_name = "+dbconn.Quote(c[1]))
	}
	for _, line := range query(t, r, "SELECT routine_schema, routine_type, routine_name FROM information_schema.routines WHERE routine_schema"+notOurs) {
		c := strings.Split(line, " | ")
		name := dbconn.QuoteName(c[0]) + "." + dbconn.QuoteName(c[2])
		add(strings.ToLower(c[1])+" "+name, "SHOW CREATE "+c[1]+" "+name)
	}
	for _, line := range query(t, r, "SELECT event_schema, event_name FROM information_schema.events WHERE event_schema"+notOurs) {
		c := strings.Split(line, " | ")
		name := dbconn.QuoteName(c[0]) + "." + dbconn.QuoteName(c[1])
		add("event "+name, "SHOW CREATE EVENT "+name)
		add("event's status "+name, "SELECT status, definer, on_completion, starts, originator FROM information_schema.events WHERE event_schema = "+dbconn.Quote(c[0])+" AND event_name = "+dbconn.Quote(c[1]))
	}
	for _, account := range query(t, r, "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user WHERE user NOT IN ('app', '"+dbconn.SupervisorUser+"')") {
		role := r.Flavour == server.MariaDB && strings.HasSuffix(account, "@''")
		if role {
			account = strings.TrimSuffix(account, "@''")
		} else {
			add("account "+account, "SHOW CREATE USER "+account)
		}
		add("grants "+account, "SHOW GRANTS FOR "+account)
	}
	for _, table := range query(t, r, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'mysql' AND (table_name LIKE '%slave%' OR table_name LIKE '%gtid%' OR table_name IN ('func', 'servers', 'time_zone', 'plugin'))") {
		columns := "*"
		if table == "gtid_slave_pos" {
			columns = "domain_id, server_id, seq_no" // sub_id is a number of the server's own
		}
		add("mysql."+table, "SELECT "+columns+" FROM mysql."+table)
	}
	if r.Flavour == server.MySQL {
		add("spatial reference systems", "SELECT * FROM information_schema.st_spatial_reference_systems WHERE srs_id >= 990000")
	}
	return s
}

// equal compares the state of two servers.
func equal(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-twin +replayed):\n%.6000s", diff)
	}
}

// text is a file of statements for a server's flavour.
func text(t testing.TB, s *server.Server, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Flavoured(s, string(b))
}

// TestReplayEqualsTwin replays all kinds of writes, and compares everything with the server that made them.
func TestReplayEqualsTwin(t *testing.T) {
	t.Parallel()
	servertest.EachAlways(t, func(t *testing.T, want string) {
		t.Parallel()
		w := newTwin(t, want, "base.sql")
		w.Load(t, strings.ReplaceAll(text(t, w.Server, "writes.sql"), "@FILES@", w.Config.TmpDir))
		before := state(t, w.Running)
		w.Kill()
		got, r := w.replay(t, w.logs(t))
		if r.Groups < 100 || r.Bytes == 0 || r.Seconds == 0 || (r.GTIDState != "") != (w.Flavour == server.MariaDB) {
			t.Errorf("result %+v", r)
		}
		equal(t, before, state(t, got))
	})
}
