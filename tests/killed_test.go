package tests

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// A longer run of TestKilledServerLosesNothing, which docs/durability.md quotes:
// how many kills, and a setting of the instance (name=value) to compare with.
const (
	envKills   = "RAMARIA_TEST_KILLS"
	envKillSet = "RAMARIA_TEST_KILL_SET"
)

const (
	// defaultKills is the number of kills of an ordinary run.
	defaultKills = 5
	// supervisorEvery is how often it is the supervisor that is killed.
	supervisorEvery = 3
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
	// purgeTime is how long a recovered server may take to remove old history.
	purgeTime = 10 * time.Second
	// killAccounts is the number of rows whose sum no transaction changes.
	killAccounts = 100
	// leastWork and mostWork bound the time from the start of writing to the kill.
	leastWork, mostWork = 150 * time.Millisecond, 700 * time.Millisecond
)

// TestKilledServerLosesNothing kills a server, or its supervisor, under a write
// load, time and again: each time `ramaria up` must bring back every acknowledged
// commit, no half transaction, and tables that check clean.
func TestKilledServerLosesNothing(t *testing.T) {
	h := newHouse(t)
	k := newKilled(h, os.Getenv(envKillSet))
	kills := killsWanted(t)
	bad := map[string]int{}
	for n := 1; n <= kills; n++ {
		victim := "server"
		if n%supervisorEvery == 0 {
			victim = "supervisor"
		}
		acks := k.loadAndKill(t, victim)
		err := k.recover(t)
		t.Logf("kill %d, of the %s: %d commits acknowledged in this round; pages mended from the doublewrite buffer: %d", n, victim, acks, k.mended())
		if err != nil {
			bad[victim]++
			t.Errorf("kill %d, of the %s: %v", n, victim, err)
			k.begin(t)
		}
	}
	t.Logf("%d kills, every %drd of the supervisor; damaged: %v; recoveries that mended a torn page: %d; commits acknowledged and found again: %d",
		kills, supervisorEvery, bad, k.mendings, k.total)
	if t.Failed() || kills != defaultKills {
		return
	}
	// The check must be able to fail.
	if _, err := k.db.Exec("DELETE FROM ack WHERE writer = 3 AND n = 1"); err != nil {
		t.Fatal(err)
	}
	if err := k.check(t.Context(), k.db); err == nil || !strings.Contains(err.Error(), "writer 3") {
		t.Errorf("an acknowledged row was deleted, and the check says %v", err)
	}
	if _, err := k.db.Exec("UPDATE account SET balance = balance + 1 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	if err := k.check(t.Context(), k.db); err == nil || !strings.Contains(err.Error(), "half") {
		t.Errorf("half a transaction was left out, and the check says %v", err)
	}
}

// copies is how many directories of killed servers TestKilledDirectoryIsRecovered
// copies, unless RAMARIA_TEST_KILLS says otherwise.
const copies = 2

// TestKilledDirectoryIsRecovered makes instances from copies of the data directory of
// a killed server that had a binary log. The copy leaves the log out, and recovery
// must find every acknowledged commit all the same.
func TestKilledDirectoryIsRecovered(t *testing.T) {
	h := newHouse(t)
	k := newKilled(h, "")
	n := copies
	if os.Getenv(envKills) != "" {
		n = killsWanted(t)
	}
	for i := range n {
		k.loadAndKill(t, "server")
		source, name := filepath.Join(h.home, "source"), fmt.Sprintf("copy%d", i)
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", k.data(), source).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
		// A transaction that was prepared and not acknowledged may be committed in the
		// copy, which has no log to ask, and rolled back in the original.
		acked := k.acked
		if err := k.settled(t.Context(), openDSN(t, h.ramaria("up", name, "--from", source, "--server", h.daemon()))); err != nil {
			t.Errorf("copy %d: %v", i+1, err)
		}
		k.acked = acked
		h.ramaria("down", name, "--rm")
		if err := errors.Join(os.RemoveAll(source), k.recover(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// killed is an instance that is killed under load.
type killed struct {
	h   *house
	set string
	db  *sql.DB
	// acked is the last number that each writer was told is committed.
	acked [killWriters]int
	// total counts acknowledged commits, mendings the recoveries that used the
	// doublewrite buffer.
	total, mendings int
}

const killedName = "killed"

func newKilled(h *house, set string) *killed {
	k := &killed{h: h, set: set}
	h.t.Cleanup(func() { k.db.Close() })
	k.begin(h.t)
	return k
}

// begin makes the instance anew.
func (k *killed) begin(t *testing.T) {
	t.Helper()
	args := []string{"up", killedName, "--server", k.h.daemon(), "--fresh", "--volume", "shm", "--set", killPool}
	for s := range strings.FieldsSeq(k.set) {
		args = append(args, "--set", s)
	}
	k.open(t, k.h.ramaria(args...))
	k.acked = [killWriters]int{}
	for _, statement := range []string{
		"CREATE TABLE ack (writer INT, n INT, pad VARCHAR(200), PRIMARY KEY (writer, n))",
		"CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)",
		fmt.Sprintf("INSERT INTO account SELECT seq, 0 FROM seq_1_to_%d", killAccounts),
		"CREATE TABLE big (id INT PRIMARY KEY, photo MEDIUMBLOB NOT NULL)",
		fmt.Sprintf("INSERT INTO big SELECT seq, '' FROM seq_1_to_%d", killBigRows),
		"CREATE TABLE page (id INT PRIMARY KEY, k INT NOT NULL, pad VARCHAR(600) NOT NULL, KEY (k))",
		fmt.Sprintf("INSERT INTO page SELECT seq, seq * 7919 %% %d, REPEAT(CHAR(65 + seq %% 26), 600) FROM seq_1_to_%d", killPages, killPages),
	} {
		if _, err := k.db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func (k *killed) open(t *testing.T, dsn string) {
	t.Helper()
	if k.db != nil {
		k.db.Close()
	}
	var err error
	if k.db, err = openURL(dsn); err != nil {
		t.Fatal(err)
	}
}

// loadAndKill writes with several connections, kills the victim at a random
// moment, waits until both processes are gone, and returns how many commits were
// acknowledged.
func (k *killed) loadAndKill(t *testing.T, victim string) int {
	t.Helper()
	var p pids
	if err := json.Unmarshal([]byte(k.h.ramaria("status", killedName, "--json")), &p); err != nil {
		t.Fatal(err)
	}
	before := k.acked
	var group sync.WaitGroup
	errs := make([]error, killWriters)
	var conns []*sql.Conn
	for range killWriters {
		conn, err := k.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	committed := make(chan struct{}, 1)
	for w, conn := range conns {
		group.Go(func() { errs[w] = k.write(conn, w, committed) })
	}
	select {
	case <-committed:
	case <-time.After(patience):
		t.Fatalf("no commit in %s", patience)
	}
	time.Sleep(leastWork + rand.N(mostWork-leastWork)) // #nosec G404 -- no secret
	pid := p.Server
	if victim == "supervisor" {
		pid = p.Supervisor
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var handles []*sys.Process
	for _, pid := range []int{p.Server, p.Supervisor} {
		handle, err := sys.OpenProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, handle)
	}
	defer func() {
		for _, handle := range handles {
			handle.Close()
		}
	}()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, handle := range handles {
		if err := handle.WaitExit(ctx); err != nil {
			t.Fatalf("an orphan: %v", err)
		}
	}
	acks := 0
	for w, n := range k.acked {
		acks += n - before[w]
	}
	k.total += acks
	return acks
}

// write commits transactions until the connection breaks. Each notes its number,
// moves a unit between two accounts, and rewrites some rows.
func (k *killed) write(conn *sql.Conn, w int, committed chan<- struct{}) error {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(uint64(w), uint64(k.acked[w]))) // #nosec G404 -- no secret
	for n := k.acked[w] + 1; ; {
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
			k.acked[w] = n
			n++
			select {
			case committed <- struct{}{}:
			default:
			}
		case errors.As(err, &refused) && (refused.Number == deadlock || refused.Number == timeout):
		case errors.As(err, &refused) && refused.Number != 1053: // a server that goes says 1053
			return fmt.Errorf("writer %d: %w", w, err)
		default:
			return nil // the server is dead
		}
	}
}

// recover brings the instance up again and checks it.
func (k *killed) recover(t *testing.T) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, talk, err := k.h.try("up", killedName)
	if err != nil {
		return fmt.Errorf("up: %w: %s", err, talk)
	}
	k.open(t, out)
	if k.mended() > 0 {
		k.mendings++
	}
	return k.settled(ctx, k.db)
}

// settled checks a recovered server. It rolls back and purges what the kill cut off
// while it answers queries already; CHECK TABLE then warns of history that is being
// removed (seen for up to half a second).
func (k *killed) settled(ctx context.Context, db *sql.DB) error {
	for end := time.Now().Add(purgeTime); ; time.Sleep(untilPause) {
		if err := k.check(ctx, db); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// data is the instance's data directory.
func (k *killed) data() string {
	return filepath.Join(k.h.places.Shm, "instances", killedName, "data")
}

// killsWanted reads RAMARIA_TEST_KILLS.
func killsWanted(t *testing.T) int {
	t.Helper()
	s := os.Getenv(envKills)
	if s == "" {
		return defaultKills
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", envKills, err)
	}
	return n
}

// mendedLine is what the server logs for each page that it found torn and took
// from the doublewrite buffer.
var mendedLine = regexp.MustCompile(`(?i)recovered page .* from the doublewrite buffer`)

// mended counts the pages that the last recovery took from the doublewrite buffer.
func (k *killed) mended() int {
	log, err := os.ReadFile(filepath.Join(k.h.places.Shm, "instances", killedName, "server.log"))
	if err != nil {
		return 0
	}
	return len(mendedLine.FindAll(log, -1))
}

// check checks every table, then what the writers were told.
func (k *killed) check(ctx context.Context, db *sql.DB) error {
	return errors.Join(checkTables(ctx, db), k.checkAcks(ctx, db), checkSum(ctx, db))
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

// checkAcks compares what is there with what the writers were told: nothing
// missing, and at most the one commit more whose answer the kill cut off.
func (k *killed) checkAcks(ctx context.Context, db *sql.DB) error {
	var errs []error
	for w := range killWriters {
		var count, last int
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*), COALESCE(MAX(n), 0) FROM ack WHERE writer = ?", w).Scan(&count, &last); err != nil {
			return fmt.Errorf("read acknowledged rows: %w", err)
		}
		if count != last || last < k.acked[w] || last > k.acked[w]+1 {
			errs = append(errs, fmt.Errorf("writer %d: commit %d was acknowledged; there are %d rows up to %d", w, k.acked[w], count, last))
			continue
		}
		k.acked[w] = last
	}
	return errors.Join(errs...)
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
