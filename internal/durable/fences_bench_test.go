package durable

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// BenchmarkFences shows the gate the log of transactions that change a row by its key, in pieces of four: what a commit
// waits for because of it.
func BenchmarkFences(b *testing.B) {
	const transactions, together = 2000, 4
	for _, want := range []string{"mariadb:10.11", "mysql:9.7"} {
		b.Run(want, func(b *testing.B) {
			srv := servertest.Start(b, servertest.Find(b, want))
			srv.RestartAs(b, server.Run, false, nil)
			db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			statements := []string{"CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, k INT, c CHAR(120), KEY (k)) ENGINE=InnoDB", "INSERT INTO d.t VALUES (1, 0, 'x')", "FLUSH BINARY LOGS"}
			for n := range transactions {
				statements = append(statements, fmt.Sprintf("UPDATE d.t SET k = %d WHERE id = 1", n+1))
			}
			for _, s := range statements {
				if _, err := db.Exec(s); err != nil {
					b.Fatalf("%s: %v", s, err)
				}
			}
			files, err := binlog.Files(srv.DataDir(), server.BinlogName)
			if err != nil {
				b.Fatal(err)
			}
			number, err := fileNumber(files[len(files)-1])
			if err != nil {
				b.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(srv.DataDir(), serverLog(number)))
			if err != nil {
				b.Fatal(err)
			}
			i := &instance.Instance{Record: instance.Record{Dir: filepath.Dir(srv.DataDir())}, Made: instance.Made{Server: srv.Server}}
			size := len(text) / transactions * together
			for b.Loop() {
				f, err := newFences(i, 1, archive.Position{}, archive.Position{File: number}, &repeatable.Powers{}, slog.New(slog.DiscardHandler), func() {})
				if err != nil {
					b.Fatal(err)
				}
				for at := 0; at < len(text); at += size {
					f.Pass(archive.Position{File: number, Offset: int64(at)}, text[at:min(at+size, len(text))])
				}
				if len(f.open) > 0 {
					b.Fatalf("fences: %v", f.open)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/transactions, "ns/transaction")
		})
	}
}
