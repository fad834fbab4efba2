package numbers

import (
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
	"maps"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

const (
	// numbersDatabase and numbersTable are what the rows of insert and update work on.
	numbersDatabase = "ramaria_bench"
	numbersTable    = numbersDatabase + ".numbers"
	// numbersBulk is how many rows an INSERT has, as in the published comparison.
	numbersBulk = 1000
	// numbersRowBytes is what a row takes at most, with both of its indexes half full.
	numbersRowBytes = 256
	// numbersTextBytes is what a row takes in its statement.
	numbersTextBytes = 64
)

// numbersColumns say everything that the defaults of servers and of ramaria differ in.
const numbersColumns = `(
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  n INT NOT NULL,
  name VARCHAR(60) NOT NULL,
  KEY name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`

// describeNumbers states the table with a result.
const describeNumbers = "id INT AUTO_INCREMENT PRIMARY KEY, n INT, name VARCHAR(60) with a KEY; names of 16 to 47 characters in random order"

// The streams of the table's contents, below lab.StreamRounds.
const (
	streamN uint64 = iota
	streamName
	streamTail
)

// numbersDistinct is how many rows there are before contents, but for the id, come again: so
// many statements are held in memory.
const numbersDistinct = 500 * numbersBulk

// numberAt and nameAt are the contents of a row by its id.
func numberAt(id int) int64 {
	return int64(lab.Mix(streamN, uint64((id-1)%numbersDistinct)) % 1_000_000)
}

func nameAt(id int) string {
	i := uint64((id - 1) % numbersDistinct)
	tail := lab.Mix(streamTail, i)
	return fmt.Sprintf("%016x%016x%016x", lab.Mix(streamName, i), tail, ^tail)[:16+tail%32]
}

// numbersSum is what a row adds to the checksum of the table.
func numbersSum(id int, n int64) int64 {
	return int64(crc32.ChecksumIEEE(fmt.Appendf(nil, "%d,%d,%s", id, n, nameAt(id))))
}

// wholeBulks rounds a number of rows up to whole statements.
func wholeBulks(rows int) int { return (rows + numbersBulk - 1) / numbersBulk * numbersBulk }

// numbers is what is in the table.
type numbers struct {
	rows, max, n, sum int64
	// named is how many rows the index of names has.
	named int64
}

// numbersWork is how rows come into the table, and what they come to.
type numbersWork struct {
	// statements are the INSERTs, in order; after the last one the first comes again.
	statements []string
	numbers
}

// numbersOf makes all of that for a number of rows.
func numbersOf(rows int) numbersWork {
	w := numbersWork{numbers: numbers{rows: int64(rows), max: int64(rows), named: int64(rows)}}
	for first := 1; first <= min(rows, numbersDistinct); first += numbersBulk {
		var b strings.Builder
		b.WriteString("INSERT INTO " + numbersTable + " (n, name) VALUES ")
		for id := first; id < first+numbersBulk; id++ {
			if id > first {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "(%d,'%s')", numberAt(id), nameAt(id))
		}
		w.statements = append(w.statements, b.String())
	}
	for id := 1; id <= rows; id++ {
		n := numberAt(id)
		w.n += n
		w.sum += numbersSum(id, n)
	}
	return w
}

// numbersServer is a server in a place, and the one connection that works there.
type numbersServer struct {
	*lab.PlacedServer
	db   *sql.DB
	conn *sql.Conn
	pid  int
	logs bool // it has a binary log that nothing else purges
}

// open starts the server and connects.
func (s *numbersServer) open(ctx context.Context) (err error) {
	if err := s.Start(ctx); err != nil {
		return err
	}
	if s.db, err = s.Connect(""); err != nil {
		return err
	}
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if s.pid, err = lab.ServerPID(ctx, s.db); err != nil {
		return err
	}
	if !s.Ramaria {
		if err := s.conn.QueryRowContext(ctx, "SELECT @@log_bin").Scan(&s.logs); err != nil {
			return err
		}
	}
	return s.exec(ctx, "CREATE DATABASE IF NOT EXISTS "+numbersDatabase)
}

// end ends all of it. It may be called more than once.
func (s *numbersServer) end(ctx context.Context) error {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.db != nil {
		s.db.Close()
	}
	return s.Close(ctx)
}

func (s *numbersServer) exec(ctx context.Context, statements ...string) error {
	for _, text := range statements {
		if _, err := s.conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("%.60s: %w", text, err)
		}
	}
	return nil
}

// create makes the table empty.
func (s *numbersServer) create(ctx context.Context) error {
	return s.exec(ctx, "DROP TABLE IF EXISTS "+numbersTable, "CREATE TABLE "+numbersTable+" "+numbersColumns)
}

// fill inserts rows, a statement and a commit for numbersBulk of them.
func (s *numbersServer) fill(ctx context.Context, w numbersWork) error {
	for i := range w.rows / numbersBulk {
		if err := s.exec(ctx, w.statements[i%int64(len(w.statements))]); err != nil {
			return err
		}
	}
	return nil
}

// timed is what a piece of work took.
type timed struct {
	wall    time.Duration
	cpu     time.Duration // of the server
	written int64         // bytes, to the device
}

// counted is a way to count what work writes: running.written, or flushed.
type counted func(work func() error) (int64, error)

// time runs work and measures what it takes; what the page cache still has to write then is
// written outside of the time.
func (s *numbersServer) time(count counted, work func() error) (t timed, err error) {
	t.written, err = count(func() error {
		before, err := lab.CPUTime(s.pid)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := work(); err != nil {
			return err
		}
		t.wall = time.Since(began)
		after, err := lab.CPUTime(s.pid)
		t.cpu = after - before
		return err
	})
	return t, err
}

// beside are the measures of numbersBeside, with more.
func (s *numbersServer) beside(t timed, more map[string]float64) map[string]float64 {
	all := map[string]float64{lab.ServerCPU: t.cpu.Seconds()}
	lab.AddFsync(all, s.Fsyncs)
	lab.AddWritten(all, runner.Written, t.written, s.InRAM(), s.Device)
	maps.Copy(all, more)
	return all
}

// check compares the table with what must be in it, read by both of its indexes.
func (s *numbersServer) check(ctx context.Context, want numbers) error {
	var have numbers
	row := s.conn.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MAX(id),0), COALESCE(SUM(n),0), COALESCE(SUM(CRC32(CONCAT_WS(',',id,n,name))),0),"+
		" (SELECT COUNT(*) FROM "+numbersTable+" FORCE INDEX (name) WHERE name >= '') FROM "+numbersTable)
	if err := row.Scan(&have.rows, &have.max, &have.n, &have.sum, &have.named); err != nil {
		return fmt.Errorf("check %s: %w", numbersTable, err)
	}
	if have != want {
		return fmt.Errorf("check %s: it has %s, not %s", numbersTable, have, want)
	}
	return nil
}

func (n numbers) String() string {
	return fmt.Sprintf("%d rows up to id %d (%d by name) with the sum %d and the checksum %d", n.rows, n.max, n.named, n.n, n.sum)
}

// settle ends a round: what it logged is taken away, so that a long run does not fill the
// disk. Of an instance of ramaria's the supervisor sees to it.
func (s *numbersServer) settle(ctx context.Context, statements ...string) error {
	if s.logs {
		statements = append(statements, "FLUSH BINARY LOGS", "PURGE BINARY LOGS BEFORE NOW()")
	}
	return s.exec(ctx, statements...)
}

// numbersBeside are the measures of both scenarios.
func numbersBeside() []runner.Measure {
	return append([]runner.Measure{{Name: runner.Written, Unit: runner.Bytes}, {Name: lab.ServerCPU, Unit: runner.Seconds}}, lab.FsyncBeside()...)
}

// numbersPlaces are the places of insert and update.
func numbersPlaces(ctx context.Context, l *lab.Lab) []lab.Place {
	return l.Places(ctx, lab.PlaceDisk, lab.PlaceRelaxed, lab.PlaceRAMByHand, lab.PlaceRamariaDisk, lab.PlaceRamaria, lab.PlaceLogOff)
}

// numbersSettings are stated with both.
func numbersSettings(l *lab.Lab, rows int, published string) map[string]string {
	settings := l.Settings()
	settings[runner.Published] = published
	settings["data"] = fmt.Sprintf("%d rows", rows)
	settings["table"] = describeNumbers
	settings["seed"] = fmt.Sprint(lab.Seed)
	settings["binary log"] = "off in stock servers, as they come; on in ramaria's, not synced, unless the row says --log off"
	if l.Server.Family().Stock.Logs {
		settings["binary log"] = "on and synced in stock servers, as they come; on in ramaria's, not synced, unless the row says --log off"
	}
	return settings
}

// numbersNeed is what the servers take at most of the disk and of memory, all at once: each
// with a data directory, which has the redo log in it, and the table with its undo and binary
// logs. held is what is held here beside the statements.
func numbersNeed(l *lab.Lab, places []lab.Place, rows int, held int64) lab.Need {
	r := lab.Need{Memory: held + int64(min(rows, numbersDistinct))*numbersTextBytes}
	for _, p := range places {
		r.Memory += l.ResidentBytes()
		r.AddServer(l, p, l.FreshBytes()+3*int64(rows)*numbersRowBytes)
	}
	return r
}
