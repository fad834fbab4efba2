package tests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

const (
	// killWriters is the number of connections that write.
	killWriters = 8
	// killPages is the number of rows, of about 600 bytes, in the table that the
	// writers update. With the buffer pool of killPool the server must write pages
	// all the time, so that a kill finds some half written.
	killPages = 40000
	killPool  = "innodb_buffer_pool_size=16M"
	// Half of the writers also write large values, so that a kill finds some redo
	// records half copied while others, behind them in the log, were acknowledged.
	killBigRows, killBigSize = 40, 60000
	// purgeTime is how long a recovered server may take to remove old history: 10 s were too
	// little where five tests of this kind shared two cores.
	purgeTime = 4 * time.Minute
	// killAccounts is the number of rows whose sum no transaction changes.
	killAccounts = 100
)

// errBroken says that a writer's connection ended: the server is dead.
var errBroken = errors.New("the connection broke")

// acks is the number of commits of each writer.
type acks [killWriters]int

// load is an instance that several connections write to.
type load struct {
	h            *testHome
	name, volume string
	db           *sql.DB
	// acked is the last number that each writer was told is committed.
	acked [killWriters]atomic.Int64
}

func newLoad(h *testHome, name, volume string) *load {
	l := &load{h: h, name: name, volume: volume}
	h.t.Cleanup(func() {
		if l.db != nil {
			l.db.Close()
		}
	})
	return l
}

// dir is the instance's directory.
func (l *load) dir() string { return l.h.instanceDir(l.volume, l.name) }

// instanceDir is the directory of an instance in a volume.
func (h *testHome) instanceDir(volume, name string) string {
	root := filepath.Join(h.places.Mounts, volume)
	if volume == "shm" {
		root = h.places.Shm
	}
	return filepath.Join(root, "instances", name)
}

// told is what the writers were told so far.
func (l *load) told() (n acks) {
	for w := range n {
		n[w] = int(l.acked[w].Load())
	}
	return n
}

// tell sets what the writers are taken to have been told.
func (l *load) tell(n acks) {
	for w := range n {
		l.acked[w].Store(int64(n[w]))
	}
}

// make makes the instance and its tables; it replaces an instance that exists.
func (l *load) make(t *testing.T, args ...string) {
	t.Helper()
	l.open(t, l.h.ramaria(append([]string{"up", l.name, "--server", l.h.daemon(), "--fresh", "--volume", l.volume, "--set", killPool}, args...)...))
	l.tell(acks{})
	for _, statement := range []string{
		"CREATE TABLE ack (writer INT, n INT, pad VARCHAR(200), PRIMARY KEY (writer, n))",
		"CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)",
		"INSERT INTO account SELECT seq, 0 FROM " + numbers(killAccounts),
		"CREATE TABLE big (id INT PRIMARY KEY, photo MEDIUMBLOB NOT NULL)",
		"INSERT INTO big SELECT seq, '' FROM " + numbers(killBigRows),
		"CREATE TABLE page (id INT PRIMARY KEY, k INT NOT NULL, pad VARCHAR(600) NOT NULL, KEY (k))",
		fmt.Sprintf("INSERT INTO page SELECT seq, seq * 7919 %% %d, REPEAT(CHAR(65 + seq %% 26), 600) FROM ", killPages) + numbers(killPages),
	} {
		if _, err := l.db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func (l *load) open(t *testing.T, dsn string) {
	t.Helper()
	if l.db != nil {
		l.db.Close()
	}
	var err error
	if l.db, err = openURL(dsn); err != nil {
		t.Fatal(err)
	}
}

// start starts all writers, and returns when one has committed. stop ends them and
// wait waits until they have ended; both return what went wrong, or errBroken where the
// server was killed meanwhile and nothing else went wrong.
func (l *load) start(t *testing.T) (stop, wait func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	errs := make([]error, killWriters)
	var conns []*sql.Conn
	wait = sync.OnceValue(func() error {
		group.Wait()
		for _, conn := range conns {
			conn.Close()
		}
		broken := slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, errBroken) })
		worse := slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, errBroken) })
		if err := errors.Join(worse...); err != nil || !broken {
			return err
		}
		return errBroken
	})
	stop = func() error { cancel(); return wait() }
	t.Cleanup(func() { _ = stop() })
	for range killWriters {
		conn, err := l.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	committed := make(chan struct{}, 1)
	for w, conn := range conns {
		group.Go(func() { errs[w] = l.write(ctx, conn, w, committed) })
	}
	select {
	case <-committed:
	case <-time.After(patience):
		t.Fatalf("no commit in %s", patience)
	}
	return stop, wait
}

// write commits transactions until it is stopped or the connection breaks. Each notes
// its number, moves a unit between two accounts, and rewrites some rows.
func (l *load) write(stopped context.Context, conn *sql.Conn, w int, committed chan<- struct{}) error {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(uint64(w), uint64(l.acked[w].Load()))) // #nosec G404 -- no secret
	for n := int(l.acked[w].Load()) + 1; stopped.Err() == nil; {
		from, to := r.IntN(killAccounts)+1, r.IntN(killAccounts)+1
		err := func() error {
			tx, err := conn.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if _, err := tx.Exec("INSERT INTO ack VALUES (?, ?, REPEAT('a', 200))", w, n); err != nil {
				return err
			}
			if _, err := tx.Exec("UPDATE account SET balance = balance + IF(id = ?, 1, 0) - IF(id = ?, 1, 0) WHERE id IN (?, ?)", to, from, from, to); err != nil {
				return err
			}
			for range 4 {
				if _, err := tx.Exec("UPDATE page SET k = ?, pad = REPEAT(CHAR(?), 600) WHERE id = ?", r.IntN(killPages), 65+r.IntN(26), r.IntN(killPages)+1); err != nil {
					return err
				}
			}
			if w%2 == 1 {
				if _, err := tx.Exec("UPDATE big SET photo = REPEAT(CHAR(?), ?) WHERE id = ?", 65+r.IntN(26), r.IntN(killBigSize), r.IntN(killBigRows)+1); err != nil {
					return err
				}
			}
			return tx.Commit()
		}()
		const deadlock, timeout = 1213, 1205
		var refused *mysql.MySQLError
		switch {
		case err == nil:
			l.acked[w].Store(int64(n))
			n++
			select {
			case committed <- struct{}{}:
			default:
			}
		case errors.As(err, &refused) && (refused.Number == deadlock || refused.Number == timeout):
		case errors.As(err, &refused) && refused.Number != 1053: // a server that goes says 1053
			return fmt.Errorf("writer %d: %w", w, err)
		default:
			return errBroken
		}
	}
	return nil
}

// settled checks a recovered server. It rolls back and purges what the kill cut off
// while it answers queries already; CHECK TABLE then warns of history that is being
// removed (seen for up to half a second).
func (l *load) settled(ctx context.Context, db *sql.DB) error {
	for end := time.Now().Add(purgeTime); ; time.Sleep(untilPause) {
		if err := l.check(ctx, db); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// check checks every table, then what the writers were told.
func (l *load) check(ctx context.Context, db *sql.DB) error {
	return errors.Join(checkTables(ctx, db), l.checkAcks(ctx, db), checkSum(ctx, db))
}

// checkTables runs CHECK TABLE over all tables of a server.
func checkTables(ctx context.Context, db *sql.DB) error {
	names, err := column(ctx, db, "SELECT CONCAT('`', TABLE_SCHEMA, '`.`', REPLACE(TABLE_NAME, '`', '``'), '`') FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN ('performance_schema', 'information_schema')")
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, checkTable(ctx, db, name))
	}
	return errors.Join(errs...)
}

func checkTable(ctx context.Context, db *sql.DB, name string) error {
	rows, err := db.QueryContext(ctx, "CHECK TABLE "+name+" EXTENDED")
	if err != nil {
		return fmt.Errorf("check table %s: %w", name, err)
	}
	defer rows.Close()
	var errs []error
	for rows.Next() {
		var table, op, kind, text string
		if err := rows.Scan(&table, &op, &kind, &text); err != nil {
			return fmt.Errorf("check table %s: %w", name, err)
		}
		ok := kind == "status" && text == "OK" || kind == "note"
		if !ok && !strings.Contains(text, "doesn't support check") {
			errs = append(errs, fmt.Errorf("check table %s: %s: %s", name, kind, text))
		}
	}
	return errors.Join(append(errs, rows.Err())...)
}

// column returns the first column of a query's rows.
func column(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// checkAcks compares what is there with what the writers were told: nothing missing,
// and at most the one commit more whose answer the kill cut off. Those count from now on.
func (l *load) checkAcks(ctx context.Context, db *sql.DB) error {
	least := l.told()
	most := least
	for w := range most {
		most[w]++
	}
	there, err := acksBetween(ctx, db, least, most)
	if err == nil {
		l.tell(there)
	}
	return err
}

// acksBetween reads up to which number there are commits of each writer, without a gap,
// and wants at least and at most so many.
func acksBetween(ctx context.Context, db *sql.DB, least, most acks) (there acks, err error) {
	var errs []error
	for w := range there {
		var count int
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MAX(n), 0) FROM ack WHERE writer = ?", w).Scan(&count, &there[w]); err != nil {
			return there, fmt.Errorf("read acknowledged rows: %w", err)
		}
		if last := there[w]; count != last || last < least[w] || last > most[w] {
			errs = append(errs, fmt.Errorf("writer %d: commit %d was acknowledged, and none after %d; there are %d rows up to %d", w, least[w], most[w], count, last))
		}
	}
	return there, errors.Join(errs...)
}

// checkSum looks for half transactions.
func checkSum(ctx context.Context, db *sql.DB) error {
	var sum int
	if err := db.QueryRowContext(ctx, "SELECT SUM(balance) FROM account").Scan(&sum); err != nil {
		return fmt.Errorf("read accounts: %w", err)
	}
	if sum != 0 {
		return fmt.Errorf("half a transaction is there: the accounts sum up to %d", sum)
	}
	return nil
}
