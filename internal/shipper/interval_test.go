package shipper_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// slow is a log on a disk that takes so many bytes a second, or none while mu is held.
type slow struct {
	shipper.Log
	rate     float64
	mu       sync.Mutex
	archived atomic.Int64
}

func (s *slow) Append(p archive.Position, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	time.Sleep(time.Duration(float64(len(b)) / s.rate * float64(time.Second)))
	err := s.Log.Append(p, b)
	if err == nil {
		s.archived.Add(int64(len(b)))
	}
	return err
}

// follow follows the log of a server that runs and whose commits wait, until the test ends.
func follow(t *testing.T, srv *servertest.Running, rate float64, interval time.Duration) (*shipper.Shipper, *slow) {
	t.Helper()
	l, err := archive.CreateLog(archive.OSDisk{Dir: t.TempDir()}, archive.LogID{Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	disk := &slow{Log: l, rate: rate}
	r := &replica{srv: srv}
	s := &shipper.Shipper{Dir: srv.DataDir(), Base: server.BinlogName, Log: disk, Acks: r, Interval: interval}
	ctx, cancel := context.WithCancel(t.Context())
	shipped := make(chan error, 1)
	go func() { shipped <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-shipped, r.close(), l.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, disk
}

// waitingServer is a server with a table t, whose commits wait.
func waitingServer(t *testing.T, want string) (*servertest.Running, *sql.DB) {
	t.Helper()
	srv := servertest.Start(t, servertest.Find(t, want))
	srv.Load(t, "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB) ENGINE=InnoDB")
	set := waiting(srv.Server)
	maps.Copy(set, map[string]string{"max_allowed_packet": "64M"})
	srv.RestartAs(t, server.Run, false, set)
	db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(16)
	return srv, db
}

// TestIntervalIsKept: what a server has answered and a slow disk does not have is never more than what that disk takes
// in a third of the interval, whatever the size of the transactions, and however many commit at once. The disk stops at some
// moment, and all is counted; nothing is timed.
func TestIntervalIsKept(t *testing.T) {
	const rate, interval, enough = 2 << 20, time.Second, 8 << 20
	servertest.Each(t, func(t *testing.T, want string) {
		srv, db := waitingServer(t, want)
		s, disk := follow(t, srv, rate, interval)
		sizes := []int{1000, 1000, 1000, 1000, 100_000, 100_000, 1_000_000, 1_000_000, 4_000_000}
		var answered atomic.Int64
		var stop atomic.Bool
		var writers sync.WaitGroup
		for _, size := range sizes {
			writers.Go(func() {
				for !stop.Load() {
					if _, err := db.ExecContext(t.Context(), "INSERT INTO shop.t (b) VALUES (REPEAT('x', ?))", size); err != nil {
						t.Error(err)
						return
					}
					answered.Add(int64(size))
				}
			})
		}
		for end := time.Now().Add(2 * time.Minute); disk.archived.Load() < enough; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the archive has %d bytes after two minutes", disk.archived.Load())
			}
		}
		const most = int64(rate) * int64(interval) / int64(3*time.Second)
		disk.mu.Lock() // nothing is archived from here on
		lacks, before := func() int64 { return answered.Load() - disk.archived.Load() }, int64(-1)
		for now := answered.Load(); now != before && lacks() <= most; now = answered.Load() {
			before = now
			time.Sleep(time.Second)
		}
		if n := lacks(); n > most {
			t.Errorf("%d bytes were answered that the archive lacks, and the disk takes %d in a third of an interval", n, most)
		}
		stop.Store(true)
		disk.mu.Unlock()
		writers.Wait() // all go on
		if s.Pace().Slowed == 0 {
			t.Error("nothing says that commits were slowed")
		}
	})
}

// TestIntervalWaitsForNothing: commits that the disk can take do not wait.
func TestIntervalWaitsForNothing(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv, db := waitingServer(t, want)
		s, _ := follow(t, srv, 1<<40, time.Minute) // in which a disk that other work holds up takes all, too
		insert := func() {
			if _, err := db.ExecContext(t.Context(), "INSERT INTO shop.t (b) VALUES ('x')"); err != nil {
				t.Error(err)
			}
		}
		waited := func() (n int) {
			t.Helper()
			var name string
			if err := db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync%tx_waits'").Scan(&name, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		insert() // which waits for the connection
		before := waited()
		var writers sync.WaitGroup
		for range 8 {
			writers.Go(func() {
				for range 100 { // all together less than is allowed of a disk that is not known yet
					insert()
				}
			})
		}
		writers.Wait()
		if n := waited(); n != before || s.Pace().Slowed != 0 {
			t.Errorf("%d commits waited, and were slowed for %s", n-before, s.Pace().Slowed)
		}
	})
}
