package shipper_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/semisync"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/internal/shipper"
)

// waiting are the settings of a server whose commits wait for acknowledgements.
func waiting(s *server.Server) map[string]string {
	set := map[string]string{"binlog_checksum": "CRC32", "innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"}
	if s.Flavour == server.MySQL {
		maps.Copy(set, map[string]string{
			"plugin_load_add": "semisync_source.so", "loose_rpl_semi_sync_source_enabled": "ON", "loose_rpl_semi_sync_source_timeout": "4294967295",
			"loose_rpl_semi_sync_source_wait_point": "AFTER_SYNC", "loose_rpl_semi_sync_source_wait_no_replica": "ON",
		})
		return set
	}
	maps.Copy(set, map[string]string{
		"rpl_semi_sync_master_enabled": "ON", "rpl_semi_sync_master_timeout": "315360000000",
		"rpl_semi_sync_master_wait_point": "AFTER_SYNC", "rpl_semi_sync_master_wait_no_slave": "ON",
	})
	return set
}

// replica acknowledges to a server.
type replica struct {
	srv *servertest.Running
	now *semisync.Replica
}

func (r *replica) Start(file string) error {
	if err := r.close(); err != nil {
		return err
	}
	var err error
	if r.now, err = semisync.Connect(context.Background(), r.srv.Endpoint.Socket, r.srv.Endpoint.Login, 4000000001); err != nil {
		return err
	}
	return r.now.Start(context.Background(), file, 4)
}

func (r *replica) Ack(file string, offset int64) error { return r.now.Ack(file, uint64(offset)) }

func (r *replica) close() error {
	if r.now == nil {
		return nil
	}
	err := r.now.Close()
	r.now = nil
	return err
}

// sink takes the archived log as files.
type sink struct{ dir string }

func (s sink) name(file uint32) string { return filepath.Join(s.dir, fmt.Sprint(file)) }

func (s sink) WriteAt(file uint32, b []byte, at int64) error {
	f, err := os.OpenFile(s.name(file), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, at)
	return errors.Join(err, f.Close())
}

func (s sink) Truncate(file uint32, size int64) error { return os.Truncate(s.name(file), size) }

// forgetful is a log that says that all is well, and keeps every other append to itself.
type forgetful struct {
	shipper.Log
	end archive.Position
	n   int
}

func (f *forgetful) End() archive.Position { return f.end }

func (f *forgetful) Append(p archive.Position, b []byte) error {
	f.end = archive.Position{File: p.File, Offset: p.Offset + int64(len(b))}
	if f.n++; f.n > 20 {
		return nil
	}
	return f.Log.Append(p, b)
}

// TestCommitsWait: as long as nothing acknowledges, no commit is answered, and no other session sees
// what it did; all goes on when something does.
func TestCommitsWait(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.Load(t, "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY) ENGINE=InnoDB")
		srv.RestartAs(t, server.Run, false, waiting(srv.Server))
		db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		done := make(chan error, 1)
		go func() {
			_, err := db.ExecContext(t.Context(), "INSERT INTO shop.t VALUES (1)")
			done <- err
		}()
		select {
		case err := <-done:
			t.Fatalf("answered without an acknowledgement: %v", err)
		case <-time.After(time.Second):
		}
		rows := func() (n int) {
			t.Helper()
			if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM shop.t").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := rows(); n != 0 {
			t.Errorf("%d rows are seen that do not last", n)
		}
		l, err := archive.CreateLog(archive.OSDisk{Dir: t.TempDir()}, archive.LogID{Epoch: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		r := &replica{srv: srv}
		s := &shipper.Shipper{Dir: srv.DataDir(), Base: server.BinlogName, Log: l, Acks: r}
		shipped := make(chan error, 1)
		go func() { shipped <- errors.Join(s.Run(ctx), r.close()) }()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case err := <-shipped:
			t.Fatalf("the shipper ended: %v", err)
		case <-time.After(2 * time.Minute):
			t.Fatal("it waits on")
		}
		if n := rows(); n != 1 {
			t.Errorf("%d rows are seen", n)
		}
		if s.Shipped() != l.End() {
			t.Errorf("shipped %s, archived %s", s.Shipped(), l.End())
		}
		cancel()
		if err := <-shipped; err != nil {
			t.Error(err)
		}
	})
}

// TestAppended: who follows the archive hears of all that was appended.
func TestAppended(t *testing.T) {
	dir := t.TempDir()
	for n, size := range []int{archive.MaxPayload + 5, 7} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%06d", n+1)), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := archive.CreateLog(archive.OSDisk{Dir: t.TempDir()}, archive.LogID{Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var heard []archive.Place
	s := &shipper.Shipper{Dir: dir, Base: "log", Log: log, Appended: func() { heard = append(heard, log.Lasts()) }}
	if _, err := s.Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 3 || heard[2] != log.Lasts() {
		t.Errorf("heard of %v; it lasts to %s", heard, log.Lasts())
	}
}

// TestOtherLog: a log that is shorter than the archive, or lacks the file, is another server's, and
// nothing of it is appended.
func TestOtherLog(t *testing.T) {
	dir := t.TempDir()
	l, err := archive.CreateLog(archive.OSDisk{Dir: t.TempDir()}, archive.LogID{Epoch: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &shipper.Shipper{Dir: dir, Base: "log", Log: l}
	put := func(n int, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%06d", n)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(1, "first")
	put(2, "second")
	if n, err := s.Catch(t.Context()); n != 11 || err != nil || l.End() != (archive.Position{File: 2, Offset: 6}) {
		t.Fatalf("%d bytes, %v, to %s", n, err, l.End())
	}
	put(2, "seco")
	if _, err := s.Catch(t.Context()); !errors.Is(err, shipper.ErrOther) {
		t.Errorf("a shorter one: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "log.000002")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Catch(t.Context()); !errors.Is(err, shipper.ErrOther) {
		t.Errorf("one that lacks the file: %v", err)
	}
	if l.End() != (archive.Position{File: 2, Offset: 6}) {
		t.Errorf("the archive ends at %s", l.End())
	}
}

var token = regexp.MustCompile(`token-[0-9]+-[0-9]+;`)

// TestAcknowledgedLasts: whatever a client was told is committed is in the archived log when all
// processes are killed at once, in the order of each client, and once.
func TestAcknowledgedLasts(t *testing.T) {
	servertest.EachAlways(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.RestartAs(t, server.Run, false, waiting(srv.Server))
		if lost := killed(t, srv, func(l *archive.Log) shipper.Log { return l }); lost != 0 {
			t.Errorf("%d acknowledged commits are lost", lost)
		}
	})
}

// TestForgetfulLogIsFound is the negative control of TestAcknowledgedLasts.
func TestForgetfulLogIsFound(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		srv := servertest.Start(t, servertest.Find(t, want))
		srv.RestartAs(t, server.Run, false, waiting(srv.Server))
		if lost := killed(t, srv, func(l *archive.Log) shipper.Log { return &forgetful{Log: l} }); lost == 0 {
			t.Error("nothing is lost with a log that forgets")
		}
	})
}

// killed writes to a server until it is killed, and returns how many acknowledged commits the
// archive lacks.
func killed(t *testing.T, srv *servertest.Running, through func(*archive.Log) shipper.Log) (lost int) {
	const writers = 8
	// A write takes longer here than in memory, as on the disks that are meant.
	dir, err := os.MkdirTemp("/var/tmp", "ramaria-archive-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	disk, id := archive.OSDisk{Dir: dir}, archive.LogID{Archive: [16]byte{7}, Epoch: 1}
	l, err := archive.CreateLog(disk, id)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := &replica{srv: srv}
	s := &shipper.Shipper{Dir: srv.DataDir(), Base: server.BinlogName, Log: through(l), Acks: r, Trouble: func(err error) { t.Log("trouble:", err) }}
	// What is there from before nobody waits for.
	if _, err := s.Catch(ctx); err != nil {
		t.Fatal(err)
	}
	shipped := make(chan error, 1)
	go func() { shipped <- errors.Join(s.Run(ctx), r.close()) }()

	db, err := dbconn.Open(srv.Endpoint.Socket, srv.Endpoint.Login, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	within, done := context.WithTimeout(ctx, 2*time.Minute)
	defer done()
	for _, text := range []string{"CREATE DATABASE shop", "CREATE TABLE shop.t (id VARCHAR(40) PRIMARY KEY) ENGINE=InnoDB"} {
		if _, err := db.ExecContext(within, text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	var acked [writers]atomic.Int64
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := int64(1); ; n++ {
				if _, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO shop.t VALUES ('token-%d-%d;')", w, n)); err != nil {
					return
				}
				acked[w].Store(n)
				if n%50 == 0 && w == 0 {
					if _, err := db.ExecContext(ctx, "FLUSH BINARY LOGS"); err != nil {
						return
					}
				}
			}
		})
	}
	sum := func() (n int64) {
		for w := range writers {
			n += acked[w].Load()
		}
		return n
	}
	for end := time.Now().Add(2 * time.Minute); sum() < 1000 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	select {
	case err := <-shipped:
		t.Fatalf("the shipper ended before the server: %v", err)
	default:
	}
	srv.Kill()
	cancel()
	group.Wait()
	if err := <-shipped; err != nil {
		t.Log("of the server that is gone:", err)
	}
	files := sink{t.TempDir()}
	from, end, err := archive.ReadLog(disk, id, files)
	if err != nil {
		t.Fatal(err)
	}
	var got [writers][]int64
	for n := max(1, from.File); n <= end.File; n++ {
		b, err := os.ReadFile(files.name(n))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range token.FindAll(b, -1) {
			var w int
			var n int64
			if _, err := fmt.Sscanf(string(text), "token-%d-%d;", &w, &n); err != nil {
				t.Fatal(err)
			}
			got[w] = append(got[w], n)
		}
	}
	for w := range writers {
		if !slices.IsSorted(got[w]) || len(slices.Compact(slices.Clone(got[w]))) != len(got[w]) {
			t.Errorf("writer %d: out of order, or twice", w)
		}
		for n := int64(1); n <= acked[w].Load(); n++ {
			if _, is := slices.BinarySearch(got[w], n); !is {
				lost++
			}
		}
	}
	if sum() < 50 {
		t.Errorf("only %d commits", sum())
	}
	t.Logf("%d commits acknowledged, the log ends at %s, %d lost", sum(), end, lost)
	return lost
}

// counting is a log that keeps no more than where it ends.
type counting struct {
	mu  sync.Mutex
	end archive.Position
}

func (c *counting) End() archive.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end
}

func (c *counting) Settle() error { return nil }

func (c *counting) Append(p archive.Position, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = archive.Position{File: p.File, Offset: p.Offset + int64(len(b))}
	return nil
}

// grown waits until it ends at an offset, or for a time, and returns where it ends.
func (c *counting) grown(to int64, most time.Duration) int64 {
	for end := time.Now().Add(most); c.End().Offset < to && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return c.End().Offset
}

// ship runs a shipper until the test ends.
func ship(t *testing.T, s *shipper.Shipper) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestUrgentShips: an urgent thread ships what comes at once and what comes after a while.
func TestUrgentShips(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "log.000001"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &counting{}
	s := &shipper.Shipper{Dir: dir, Base: "log", Log: l, Urgent: true}
	ship(t, s)
	var size int64
	for _, pause := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
		time.Sleep(pause)
		for range 100 {
			n, err := f.Write(make([]byte, 1000))
			if err != nil {
				t.Fatal(err)
			}
			size += int64(n)
		}
		if n := l.grown(size, 2*time.Minute); n != size {
			t.Errorf("after %s: of %d bytes %d are appended", pause, size, n)
		}
	}
}

// TestIntervalHoldsForMuch: however much comes in an interval, all of it is appended.
func TestIntervalHoldsForMuch(t *testing.T) {
	const interval, size = 200 * time.Millisecond, 24 << 20
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "log.000001"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := &counting{}
	s := &shipper.Shipper{Dir: dir, Base: "log", Log: l, Interval: interval}
	ship(t, s)
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if n := l.grown(size, 10*interval); n != size {
		t.Errorf("of %d bytes %d are appended after ten intervals", size, n)
	}
}

// TestLag: what is not archived is counted over all files that there are.
func TestLag(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, n int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("binlog.000003", 100)
	write("binlog.000004", 50)
	s := &shipper.Shipper{Dir: dir, Base: "binlog", Log: &counting{end: archive.Position{File: 3, Offset: 40}}}
	if n, waited, err := s.Lag(); n != 110 || waited <= 0 || err != nil {
		t.Errorf("before: %d bytes, %s, %v", n, waited, err)
	}
	if _, err := s.Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, waited, err := s.Lag(); n != 0 || waited != 0 || err != nil {
		t.Errorf("after: %d bytes, %s, %v", n, waited, err)
	}
	write("binlog.000004", 57)
	if n, waited, err := s.Lag(); n != 7 || waited <= 0 || waited > time.Minute || err != nil {
		t.Errorf("and then: %d bytes, %s, %v", n, waited, err)
	}
}

// TestShippedAfterCut: what was shipped before the server started, and was cut off since, is not said to be shipped.
func TestShippedAfterCut(t *testing.T) {
	dir, l := t.TempDir(), &counting{}
	path := filepath.Join(dir, "binlog.000001")
	if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &shipper.Shipper{Dir: dir, Base: "binlog", Log: l}
	if _, err := s.Catch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 60); err != nil {
		t.Fatal(err)
	}
	l.end.Offset = 60
	ship(t, s)
	for end := time.Now().Add(40 * time.Second); s.Shipped().Offset != 60; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("it says that %s is shipped, and the log ends at %s", s.Shipped(), l.End())
			break
		}
	}
}
