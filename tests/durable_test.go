package tests

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// durableKills and lessDurableKills are how often TestDurable ends an instance, unless
	// RAMARIA_TEST_KILLS says otherwise.
	durableKills, lessDurableKills = 30, 4
	// durableLife is how many ends one instance and its archive live through: each recovery replays
	// the log from the base on.
	durableLife = 20
	// leastLoad and mostLoad bound the time from the first commit to the end.
	leastLoad, mostLoad = 50 * time.Millisecond, 400 * time.Millisecond
	// durableSlots is how many rows each writer updates and deletes, durableLedger how many rows
	// there are whose sum no transaction changes.
	durableSlots, durableLedger = 16, 20
)

// An ending is how an instance ends, under load or just after it.
type ending struct {
	name string
	// down is a clean `ramaria down`; else a process is killed: the supervisor, or the server.
	down, server bool
	// quiet ends the writers before that.
	quiet bool
	// lost takes the volume in RAM away after it.
	lost bool
	// flush switches to the next file of the log all the time.
	flush bool
	// bases has base backups made all the time.
	bases bool
	// again is how many recoveries are killed, each at a random moment; odd ones lose the RAM once more.
	again int
}

var endings = []ending{
	{name: "supervisor killed, RAM lost", lost: true},
	{name: "supervisor killed"},
	{name: "supervisor killed, RAM lost, two recoveries killed", lost: true, again: 2},
	{name: "down under load, RAM lost", down: true, lost: true},
	{name: "supervisor killed while bases are made, RAM lost", lost: true, bases: true},
	{name: "server killed, RAM lost", server: true, lost: true},
	{name: "supervisor killed between files of the log, RAM lost", lost: true, flush: true},
	{name: "server killed", server: true},
	{name: "supervisor killed, RAM lost, a recovery killed", lost: true, again: 1},
	{name: "down, RAM lost", down: true, quiet: true, lost: true},
	{name: "supervisor killed between files of the log", flush: true},
	{name: "down under load", down: true},
	{name: "supervisor killed, two starts killed", again: 2},
}

// TestDurable: an instance with --durable has every commit that a client was told of, whole and once,
// and nothing else, whatever ended it, and although its RAM was lost; also when recovery is cut off.
func TestDurable(t *testing.T) {
	t.Parallel()
	kinds := durableVolumes(t)
	kills := durableKills
	if os.Getenv(envKills) != "" {
		kills = killsWanted(t)
	} else {
		kills = fewer(durableKills, lessDurableKills)
	}
	for n, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			d := newDurable(t, kind)
			began := time.Now()
			for round := range kills {
				if round%durableLife == 0 {
					d.begin(t)
				}
				// Each kind of volume begins elsewhere, so that a short run has them all.
				e := endings[(round+n*kills)%len(endings)]
				err := d.round(t, e)
				if testing.Verbose() {
					t.Logf("%6.1fs round %d, %s: %v", time.Since(began).Seconds(), round+1, e.name, err)
				}
				if err != nil {
					t.Errorf("round %d, %s: %v", round+1, e.name, err)
					d.begin(t)
				}
			}
			t.Logf("%d ends, %d of them with the RAM lost, %d recoveries killed; %d commits acknowledged and found again", d.ends, d.lost, d.cut, d.total)
		})
	}
}

// durableVolumes are the kinds of volumes to try: of an ordinary user shm alone.
func durableVolumes(t *testing.T) []string {
	if kind := os.Getenv(envKillVolume); kind != "" {
		return strings.Fields(kind)
	}
	if os.Geteuid() != 0 {
		return []string{"shm"}
	}
	kinds := []string{"shm", "xfs"}
	if fewer(1, 0) == 1 {
		kinds = append(kinds, "tmpfs", "ramfs", "zram")
	}
	return slices.DeleteFunc(kinds, func(kind string) bool {
		name := map[string]string{"xfs": "xfs", "zram": "zram"}[kind]
		if name == "" {
			return false
		}
		ok, err := condition(name)
		if err != nil {
			t.Fatal(err)
		}
		return !ok
	})
}

// durable is a durable instance, and what its writers were told.
type durable struct {
	*testHome
	kind    string
	archive string
	// db is the application's, and root Ramaria's own account, which may do what is withheld from that.
	db, root *sql.DB
	made     instance.Made
	// acked is the last commit of each writer that was acknowledged.
	acked [killWriters]atomic.Int64
	lives int
	// What there was.
	ends, lost, cut, total int
}

const durableName = "shop"

func newDurable(t *testing.T, kind string) *durable {
	d := &durable{testHome: newTestHome(t), kind: kind}
	t.Cleanup(func() {
		if d.db != nil {
			d.db.Close()
			d.root.Close()
		}
	})
	return d
}

// begin makes the instance, and its archive, anew.
func (d *durable) begin(t *testing.T) {
	t.Helper()
	if d.lives++; d.lives > 1 {
		d.ramaria("down", durableName, "--rm")
		if !t.Failed() {
			if err := os.RemoveAll(d.archive); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.archive = filepath.Join(d.home, fmt.Sprintf("archive%d", d.lives))
	d.open(t, d.ramaria("up", durableName, "--volume", d.kind, "--durable", "--archive", d.archive))
	d.tables(t)
}

// beginInterval makes the instance, which may lose an interval, without its tables.
func (d *durable) beginInterval(t *testing.T, interval string) {
	t.Helper()
	d.lives = 1
	d.archive = filepath.Join(d.home, "archive")
	d.open(t, d.ramaria("up", durableName, "--volume", d.kind, "--durable="+interval, "--archive", d.archive))
}

// tables makes the tables of a new instance.
func (d *durable) tables(t *testing.T) {
	t.Helper()
	for w := range d.acked {
		d.acked[w].Store(0)
	}
	for _, text := range []string{
		"CREATE TABLE ack (writer INT, n INT, at BIGINT AUTO_INCREMENT, PRIMARY KEY (writer, n), KEY (at))",
		"CREATE TABLE slot (writer INT, k INT, n INT, pad LONGTEXT, PRIMARY KEY (writer, k))",
		"CREATE TABLE ledger (id INT PRIMARY KEY, balance INT NOT NULL)",
		"INSERT INTO ledger SELECT seq, 0 FROM " + numbers(durableLedger),
	} {
		if _, err := d.db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func (d *durable) open(t *testing.T, dsn string) {
	t.Helper()
	if d.db != nil {
		d.db.Close()
		d.root.Close()
	}
	var err error
	if d.db, err = openURL(dsn); err != nil {
		t.Fatal(err)
	}
	d.made = instance.Made{}
	if err := instance.ReadJSON(filepath.Join(d.instanceDir(d.kind, durableName), "instance.json"), &d.made); err != nil {
		t.Fatal(err)
	}
	if d.root, err = dbconn.Open(d.made.Endpoint.Socket, d.made.Supervisor, d.made.Endpoint.Database); err != nil {
		t.Fatal(err)
	}
	// A supervisor whose `up` was killed may have been starting its server yet when another `up` found it.
	for end := time.Now().Add(patience); ; time.Sleep(untilPause) {
		if err = d.db.PingContext(t.Context()); err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// statements are the n-th transaction of a writer; one alone is committed by itself.
func statements(w, n int) []string {
	ack := fmt.Sprintf("INSERT INTO ack (writer, n) VALUES (%d, %d)", w, n)
	slot := n % durableSlots
	from, to := (w+n)%durableLedger+1, (w+n*7)%durableLedger+1
	switch n % 8 {
	case 0:
		return []string{ack, fmt.Sprintf("DELETE FROM slot WHERE writer = %d AND k >= %d", w, durableSlots/2)}
	case 1, 2:
		return []string{ack, fmt.Sprintf("REPLACE INTO slot VALUES (%d, %d, %d, REPEAT('x', %d))", w, slot, n, n%3000)}
	case 3:
		return []string{
			fmt.Sprintf("UPDATE ledger SET balance = balance - 1 WHERE id = %d", from), ack,
			fmt.Sprintf("UPDATE ledger SET balance = balance + 1 WHERE id = %d", to),
			fmt.Sprintf("UPDATE slot SET n = %d WHERE writer = %d", n, w),
		}
	}
	return []string{ack}
}

// expect is what the tables slot and ledger have when the writers have committed so much.
func expect(there acks) (slots map[[2]int]int, ledger map[int]int) {
	slots, ledger = map[[2]int]int{}, map[int]int{}
	for id := range durableLedger {
		ledger[id+1] = 0
	}
	for w, last := range there {
		for n := 1; n <= last; n++ {
			switch n % 8 {
			case 0:
				for k := durableSlots / 2; k < durableSlots; k++ {
					delete(slots, [2]int{w, k})
				}
			case 1, 2:
				slots[[2]int{w, n % durableSlots}] = n
			case 3:
				ledger[(w+n)%durableLedger+1]--
				ledger[(w+n*7)%durableLedger+1]++
				for k := range durableSlots {
					if _, is := slots[[2]int{w, k}]; is {
						slots[[2]int{w, k}] = n
					}
				}
			}
		}
	}
	return slots, ledger
}

// round has the writers write, ends the instance, and has `up` bring it back.
func (d *durable) round(t *testing.T, e ending) error {
	before := d.told()
	ended := d.load(t, e)
	if err := d.end(t, e, ended); err != nil {
		return err
	}
	for n := range e.again {
		if err := d.cutOff(t, e.lost && n%2 == 1); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, talk, err := d.try("up", durableName)
	if err != nil {
		return fmt.Errorf("up: %w: %s", err, talk)
	}
	if e.lost && e.again == 0 && !strings.Contains(talk, "recovered instance") {
		return fmt.Errorf("its RAM was lost, and up says only: %s", talk)
	}
	d.open(t, out)
	least := d.told()
	if err := errors.Join(d.check(ctx), d.whole(ctx)); err != nil {
		return err
	}
	d.ends++
	if e.lost {
		d.lost++
	}
	for w, n := range least {
		d.total += n - before[w]
	}
	return nil
}

// whole checks every table; a server warns for a moment of history that it is about to remove.
func (d *durable) whole(ctx context.Context) error {
	for end := time.Now().Add(purgeTime); ; time.Sleep(untilPause) {
		if err := checkTables(ctx, d.db); err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}

func (d *durable) told() (n acks) {
	for w := range n {
		n[w] = int(d.acked[w].Load())
	}
	return n
}

// load has all writers write. What it returns waits until they have ended, or ends them.
func (d *durable) load(t *testing.T, e ending) (end func(stop bool) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	errs := make([]error, killWriters)
	committed := make(chan struct{}, 1)
	for w := range killWriters {
		conn, err := d.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			errs[w] = d.write(ctx, conn, w, committed)
			conn.Close()
		})
	}
	if e.flush {
		group.Go(func() {
			for ctx.Err() == nil {
				if _, err := d.root.ExecContext(ctx, "FLUSH BINARY LOGS"); err != nil {
					return
				}
			}
		})
	}
	made := make(chan struct{})
	if e.bases {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if _, _, err := d.try("backup", durableName); err != nil {
					return
				}
				if n == 0 {
					close(made)
				}
			}
		})
	}
	select {
	case <-committed:
	case <-time.After(patience):
		t.Fatalf("no commit in %s\n%s", patience, d.logs())
	}
	if e.bases {
		select {
		case <-made:
		case <-time.After(patience):
			t.Fatalf("no base backup in %s\n%s", patience, d.logs())
		}
	}
	time.Sleep(leastLoad + rand.N(mostLoad-leastLoad)) // #nosec G404 -- no secret
	return func(stop bool) error {
		if stop {
			cancel()
		}
		ended := make(chan struct{})
		go func() { group.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(patience):
			return errors.New("writers wait on although the server has ended")
		}
		cancel()
		return errors.Join(errs...)
	}
}

// write commits until it is stopped, or the connection ends.
func (d *durable) write(stopped context.Context, conn *sql.Conn, w int, committed chan<- struct{}) error {
	ctx := context.Background()
	for n := int(d.acked[w].Load()) + 1; stopped.Err() == nil; {
		texts := statements(w, n)
		if len(texts) > 1 {
			texts = slices.Concat([]string{"BEGIN"}, texts, []string{"COMMIT"})
		}
		var err error
		for _, text := range texts {
			if _, err = conn.ExecContext(ctx, text); err != nil {
				break
			}
		}
		const deadlock, timeout = 1213, 1205
		going := []uint16{1053, 1317, 3100} // what a server says that shuts down
		var refused *mysql.MySQLError
		switch {
		case err == nil:
			d.acked[w].Store(int64(n))
			n++
			select {
			case committed <- struct{}{}:
			default:
			}
		case errors.As(err, &refused) && (refused.Number == deadlock || refused.Number == timeout):
			if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
				return nil //nolint:nilerr // the server was killed
			}
		case errors.As(err, &refused) && !slices.Contains(going, refused.Number):
			return fmt.Errorf("writer %d: %w", w, err)
		default:
			return nil
		}
	}
	return nil
}

// end ends the instance.
func (d *durable) end(t *testing.T, e ending, ended func(stop bool) error) error {
	t.Helper()
	var p pids
	if err := json.Unmarshal([]byte(d.ramaria("status", durableName, "--json")), &p); err != nil {
		t.Fatal(err)
	}
	if e.quiet {
		if err := ended(true); err != nil {
			return err
		}
	}
	handles, err := openProcesses(p.Supervisor, p.Server)
	if err != nil {
		return err
	}
	switch {
	case e.down:
		if _, talk, err := d.try("down", durableName); err != nil {
			return fmt.Errorf("down: %w: %s", err, talk)
		}
	case e.server:
		err = syscall.Kill(p.Server, syscall.SIGKILL)
	default:
		err = syscall.Kill(p.Supervisor, syscall.SIGKILL)
	}
	if err := errors.Join(err, ended(false), gone(handles)); err != nil {
		return err
	}
	if e.lost {
		return d.loseRAM()
	}
	return nil
}

func openProcesses(pids ...int) (list []*sys.Process, err error) {
	for _, pid := range pids {
		p, err := sys.OpenProcess(pid)
		if err != nil {
			return nil, fmt.Errorf("process %d: %w", pid, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// gone waits until processes have ended.
func gone(list []*sys.Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, p := range list {
		if err := errors.Join(p.WaitExit(ctx), p.Close()); err != nil {
			return fmt.Errorf("an orphan: %w", err)
		}
	}
	return nil
}

// loseRAM takes the volume away, as a reboot does.
func (d *durable) loseRAM() error {
	if d.kind == "shm" {
		return os.RemoveAll(d.places.Shm)
	}
	dir := filepath.Join(d.places.Mounts, d.kind)
	if there, err := sys.Mounted(dir); err != nil || !there {
		return err // a recovery was killed before it had a volume
	}
	if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("umount %s: %w: %s", dir, err, out)
	}
	return nil
}

// cutOff has `up` start and kills it at a random moment, with what it has started.
func (d *durable) cutOff(t *testing.T, lost bool) error {
	t.Helper()
	cmd := d.command("up", durableName)
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(rand.N(1500 * time.Millisecond)) // #nosec G404 -- no secret
	_ = cmd.Process.Kill()                      // it may have ended
	_ = cmd.Wait()
	for end := time.Now().Add(patience); ; time.Sleep(untilPause) {
		list := d.processes()
		if len(list) == 0 {
			break
		}
		for _, pid := range list {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if time.Now().After(end) {
			return fmt.Errorf("processes %d live on", list)
		}
	}
	// Names of half written records; the test ends with a look at what is left.
	half, _ := filepath.Glob(filepath.Join(d.places.State, "instances", ".tmp-*"))
	for _, path := range half {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	d.cut++
	if lost {
		return d.loseRAM()
	}
	return nil
}

// check compares what is there with what the writers were told. What is there counts from then on.
func (d *durable) check(ctx context.Context) error { return d.checkFrom(ctx, d.told()) }

// checkFrom is check where less counts than what the writers were told last: they went on.
func (d *durable) checkFrom(ctx context.Context, least acks) error {
	most := d.told()
	for w := range most {
		most[w]++
	}
	there, err := acksBetween(ctx, d.db, least, most)
	if err != nil {
		return err
	}
	if err := inOrder(ctx, d.db); err != nil {
		return err
	}
	slots, ledger := expect(there)
	if err := cmp.Or(sameRows(ctx, d.db, "SELECT writer, k, n FROM slot", slots, func(r [3]int) ([2]int, int) { return [2]int{r[0], r[1]}, r[2] }),
		sameRows(ctx, d.db, "SELECT id, balance, 0 FROM ledger", ledger, func(r [3]int) (int, int) { return r[0], r[1] })); err != nil {
		return err
	}
	for w, n := range there {
		d.acked[w].Store(int64(n))
	}
	return nil
}

// inOrder wants the commits of each writer in the order of their automatic numbers.
func inOrder(ctx context.Context, db *sql.DB) error {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM ack a JOIN ack b ON a.writer = b.writer AND a.n + 1 = b.n AND a.at >= b.at").Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("%d commits are before the one that their writer made before", n)
	}
	return nil
}

// sameRows compares three columns of numbers with what there should be.
func sameRows[K comparable](ctx context.Context, db *sql.DB, query string, want map[K]int, split func([3]int) (K, int)) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	got := map[K]int{}
	for rows.Next() {
		var r [3]int
		if err := rows.Scan(&r[0], &r[1], &r[2]); err != nil {
			return err
		}
		k, v := split(r)
		got[k] = v
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if maps.Equal(got, want) {
		return nil
	}
	for k, v := range want {
		if g, is := got[k]; !is || g != v {
			return fmt.Errorf("%s: %v is %d (there: %t), want %d; %d rows, want %d", query, k, g, is, v, len(got), len(want))
		}
	}
	return fmt.Errorf("%s: %d rows, want %d", query, len(got), len(want))
}
