package supervisor

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// purgePatience is how long a server may take to let files of its log go.
const purgePatience = 2 * time.Minute

// TestPurge: the files of the binary log go up to the one that the slowest of two consumers needs.
// The same log without the slow one is its negative control.
func TestPurge(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		r := servertest.Start(t, servertest.Find(t, want))
		db, err := dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		w := &watch{Supervisor: &Supervisor{
			inst: &instance.Instance{Record: instance.Record{Dir: filepath.Dir(r.DataDir())}}, db: db, log: slog.New(slog.DiscardHandler),
			store: &instance.Store{Registry: instance.Registry{Dir: t.TempDir()}},
		}}
		files := func() []string {
			t.Helper()
			list, err := binlog.Files(r.DataDir(), server.BinlogName)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		rotate := func(times int) {
			t.Helper()
			for range times {
				if _, err := db.ExecContext(t.Context(), "FLUSH BINARY LOGS"); err != nil {
					t.Fatal(err)
				}
			}
		}
		purged := func(what string, want []string) {
			t.Helper()
			var got []string
			for end := time.Now().Add(purgePatience); ; time.Sleep(10 * time.Millisecond) {
				w.purged = "" // MariaDB passes over files of which InnoDB has made no checkpoint yet
				if err := w.purge(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got = files(); slices.Equal(got, want) || time.Now().After(end) {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: there are %q, want %q", what, got, want)
			}
		}

		rotate(4)
		all := files()
		slow, err := binlog.OpenTail(r.DataDir(), binlog.Position{File: all[0]})
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		w.logs.Set("slow", slow.Pos)
		w.logs.Set("fast", func() binlog.Position { return binlog.Position{File: all[len(all)-1]} })
		purged("the slow one needs all", all)
		for e := (binlog.Event{}); slow.Pos().File == all[0]; {
			if ok, err := slow.Next(&e); err != nil || !ok {
				t.Fatalf("the slow one reads: %v, %v", ok, err)
			}
		}
		purged("the slow one has read a file", all[1:])
		rotate(1)
		all = files()
		purged("one more file", all)
		w.logs.Set("fast", func() binlog.Position { return binlog.Position{} })
		purged("the fast one needs nothing", all)
		w.logs.Remove("slow")
		purged("without the slow one", all[len(all)-keepBinlogs:])
	})
}
