package replay

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// envTransactions is how many transactions BenchmarkReplay has, if not 20,000.
const envTransactions = "RAMARIA_BENCH_REPLAY"

// BenchmarkReplay replays transactions that change a row by its key, as sysbench's oltp_update_index does: by a Job, its
// server's start and shutdown included, and by the log reader's text piped into the client of a server that runs, without
// a log of its own.
//
//	RAMARIA_BENCH_REPLAY=100000 go test ./internal/replay -run '^$' -bench Replay -benchtime 3x -timeout 1h
func BenchmarkReplay(b *testing.B) {
	n := 20_000
	if text := os.Getenv(envTransactions); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, want := range []string{"mariadb:10.11", "mysql:9.7"} {
		b.Run(want, func(b *testing.B) { benchmarkReplay(b, want, n) })
	}
}

func benchmarkReplay(b *testing.B, want string, n int) {
	w := newTwin(b, want, "updated.sql")
	w.update(b, n)
	w.Stop(b)
	logs := w.logs(b)
	rate := func(b *testing.B, was time.Duration) {
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tx/s")
		// On a machine that others use this says more: all of it, with start and end of servers.
		b.ReportMetric(float64((processorTime(b)-was).Microseconds())/float64(n)/float64(b.N), "cpu-us/tx")
	}
	b.Run("job", func(b *testing.B) {
		was := processorTime(b)
		for range b.N {
			b.StopTimer()
			j := w.job(b, logs)
			j.Volume = "shm"
			b.StartTimer()
			if r, err := j.Run(b.Context()); err != nil || r.Groups != int64(n) {
				b.Fatal(r, err)
			}
		}
		rate(b, was)
	})
	b.Run("client", func(b *testing.B) {
		was := processorTime(b)
		for range b.N {
			b.StopTimer()
			r := servertest.StartOn(b, w.Server, w.base, map[string]string{"event_scheduler": "OFF", "max_allowed_packet": "1G"})
			r.RestartAs(b, server.Run, true, nil)
			b.StartTimer()
			pipe(b, r, logs)
			b.StopTimer()
			r.Kill()
			b.StartTimer()
		}
		rate(b, was)
	})
}

// processorTime is that of all children that have ended.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// update changes n rows.
func (w *twin) update(t testing.TB, n int) {
	t.Helper()
	w.write(t, n, func(rnd *rand.Rand) string {
		return "UPDATE updated SET k = k + 1 WHERE id = " + strconv.Itoa(1+rnd.IntN(100_000))
	})
}

// write has eight sessions execute n statements, a transaction each.
func (w *twin) write(t testing.TB, n int, statement func(*rand.Rand) string) {
	t.Helper()
	db, err := dbconn.Open(w.Endpoint.Socket, w.Endpoint.Login, "shop")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const writers = 8
	db.SetMaxIdleConns(writers)
	var all sync.WaitGroup
	for k := range writers {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(k)))
			for range (n + writers - 1 - k) / writers {
				text := statement(rnd)
				_, err := db.ExecContext(context.Background(), text)
				for err != nil && dbconn.LockTimeout(err) {
					_, err = db.ExecContext(context.Background(), text)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// pipe sends the logs as text.
func pipe(t testing.TB, r *servertest.Running, logs []Log) {
	reader := osexec.CommandContext(t.Context(), r.LogReader.Argv[0], r.LogReader.Argv[1:]...)
	reader.Env = append([]string{"LC_ALL=C"}, r.LogReader.Env...)
	for _, l := range logs {
		reader.Args = append(reader.Args, l.Path)
	}
	client := osexec.CommandContext(t.Context(), r.Mysql[0], append(r.Mysql[1:len(r.Mysql):len(r.Mysql)], "--binary-mode")...)
	client.Env = append([]string{"LC_ALL=C"}, r.Client.Env...)
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Stdout, client.Stdin = to, from
	reader.Stderr, client.Stderr = os.Stderr, os.Stderr
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	err = reader.Run()
	for _, c := range []io.Closer{to, from} {
		c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Wait(); err != nil {
		t.Fatal(err)
	}
}
