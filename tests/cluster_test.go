package tests

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// envClusterRounds names the variable with how many power cuts TestClusterPowerCut makes.
const envClusterRounds = "RAMARIA_CLUSTER_ROUNDS"

const (
	appendWriters = 6
	appendKeys    = 4
)

// appends is a load of transactions each of which appends a value to the list of a key, as Jepsen's append test does: what is
// lost, doubled or put elsewhere is seen in the lists.
type appends struct {
	t     *testing.T
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu sync.Mutex
	// acked are the values of each writer that were acknowledged, in order.
	acked [appendWriters][]int64
}

const appendTable = "CREATE TABLE append (k INT, pos INT, v BIGINT, PRIMARY KEY (k, pos), UNIQUE (v)) ENGINE=InnoDB"

// beginAppends has writers append by those servers, in turn, until it ends or they do.
func beginAppends(t *testing.T, dsns []string) *appends {
	ctx, stop := context.WithCancel(context.Background())
	a := &appends{t: t, stop: stop}
	for w := range appendWriters {
		db := openDSN(t, dsns[w%len(dsns)])
		a.ended.Go(func() { a.write(ctx, w, db) })
	}
	return a
}

func (a *appends) write(ctx context.Context, w int, db *sql.DB) {
	base := time.Now().UnixNano() / 1000 * appendWriters // no other load has such values
	for n := int64(0); ctx.Err() == nil; n++ {
		v := base + n*appendWriters + int64(w)
		if err := appendOne(ctx, db, rand.IntN(appendKeys), v); err != nil {
			time.Sleep(5 * time.Millisecond) // it is unknown whether it was done
			continue
		}
		a.mu.Lock()
		a.acked[w] = append(a.acked[w], v)
		a.mu.Unlock()
	}
}

func appendOne(ctx context.Context, db *sql.DB, key int, v int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var last int
	if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(pos), 0) FROM append WHERE k = ? FOR UPDATE", key).Scan(&last); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO append VALUES (?, ?, ?)", key, last+1, v); err != nil {
		return err
	}
	return tx.Commit()
}

func (a *appends) count() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, list := range a.acked {
		n += len(list)
	}
	return n
}

// end stops the writers.
func (a *appends) end() {
	a.stop()
	a.ended.Wait()
}

// check reports what a server lacks of what was acknowledged, and what it has in another order than it was done.
func (a *appends) check(db *sql.DB) (lost int, faults []string) {
	rows, err := db.Query("SELECT k, pos, v FROM append ORDER BY k, pos")
	if err != nil {
		return 0, []string{err.Error()}
	}
	defer rows.Close()
	type place struct{ k, pos int }
	places := map[int64]place{}
	was := place{k: -1}
	for rows.Next() {
		var at place
		var v int64
		if err := rows.Scan(&at.k, &at.pos, &v); err != nil {
			return 0, []string{err.Error()}
		}
		if at.k != was.k {
			was = place{k: at.k}
		}
		if at.pos != was.pos+1 {
			faults = append(faults, fmt.Sprintf("key %d: %d follows %d", at.k, at.pos, was.pos))
		}
		was, places[v] = at, at
	}
	if err := rows.Err(); err != nil {
		faults = append(faults, err.Error())
	}
	for w, list := range a.acked {
		last := map[int]int{}
		for _, v := range list {
			at, there := places[v]
			switch {
			case !there:
				lost++
			case at.pos < last[at.k]:
				faults = append(faults, fmt.Sprintf("writer %d: key %d: what it appended later comes before %d", w, at.k, at.pos))
			default:
				last[at.k] = at.pos
			}
		}
	}
	return lost, faults
}

// clusterHome is a home whose archives lie on a disk that can lose power.
type clusterHome struct {
	*testHome
	image, disk string
	// cuts is how often it has lost power.
	cuts int
}

func newClusterHome(t *testing.T) *clusterHome {
	t.Helper()
	if os.Geteuid() != 0 || !canMount() {
		t.Skip("SKIPPED, UNTESTED: only root may mount a disk that loses power")
	}
	h := &clusterHome{testHome: newTestHome(t)}
	h.image, h.disk = filepath.Join(h.home, "disk.img"), filepath.Join(h.places.State, "archives")
	if err := os.MkdirAll(h.disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(h.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(h.image, 2<<30); err != nil {
		t.Fatal(err)
	}
	h.run("mkfs.ext4", "-q", "-m", "0", h.image)
	h.run("mount", "-o", "loop", h.image, h.disk)
	t.Cleanup(func() { // before the home goes
		h.ramariaAtEnd("down", "--all", "--rm", "--with-archive")
		_ = exec.Command("umount", "-l", h.disk).Run()
	})
	return h
}

func (h *clusterHome) run(name string, args ...string) {
	h.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		h.t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

func members(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("c-%d", i+1))
	}
	return names
}

// powerCut takes the power from all members at one moment: what was not synced is not on the disk, and what is in RAM is gone.
func (h *clusterHome) powerCut() {
	h.t.Helper()
	var all []int
	for _, name := range members(3) {
		if p := h.pids(name); p.Supervisor > 0 {
			all = append(all, p.Supervisor, p.Server)
		}
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
	}
	number, err := sys.DeviceNumber(h.disk)
	if err == nil {
		err = sys.ShutDown(h.disk, number)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	h.until("all have ended", func() bool {
		for _, pid := range all {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	})
	for _, name := range members(3) {
		if err := os.RemoveAll(h.instanceDir(testVolume, name)); err != nil {
			h.t.Fatal(err)
		}
	}
	// Of the same image the system would mount the file system that is dead, for as long as the servers of other tests have
	// it in their namespaces.
	h.run("umount", "-l", h.disk)
	old := h.image
	h.cuts++
	h.image = filepath.Join(h.home, fmt.Sprintf("disk%d.img", h.cuts))
	h.run("cp", "--sparse=always", old, h.image)
	if err := os.Remove(old); err != nil {
		h.t.Fatal(err)
	}
	h.run("mount", "-o", "loop", h.image, h.disk)
}

// writable are the DSNs that a load may use: of a group the primary's.
func (h *clusterHome) writable(dsns string) []string {
	list := strings.Fields(dsns)
	if h.srv.Flavour == server.MySQL {
		return list[:1]
	}
	return list
}

// cut has a load on the cluster, takes the power from all members, and brings the cluster back.
func (h *clusterHome) cut(dsns string) (after string, l *appends) {
	h.t.Helper()
	l = beginAppends(h.t, h.writable(dsns))
	h.until("commits", func() bool { return l.count() > 100 })
	time.Sleep(rand.N(2 * time.Second))
	h.powerCut()
	l.end()
	return h.ramaria("cluster", "up", "c"), l
}

// checkAll checks that all members are whole, lack nothing of a load, and count the same transactions.
func (h *testHome) checkAll(what, dsns string, l *appends) {
	h.t.Helper()
	if n := len(strings.Fields(dsns)); n != 3 {
		h.t.Fatalf("%s: %d members are whole", what, n)
	}
	var counts []string
	var dbs []*sql.DB
	for i, dsn := range strings.Fields(dsns) {
		db := openDSN(h.t, dsn)
		var lost int
		var faults []string
		for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) { // it applies what the others have
			if lost, faults = l.check(db); lost == 0 && len(faults) == 0 || time.Now().After(end) {
				break
			}
		}
		if lost > 0 || len(faults) > 0 {
			h.t.Fatalf("%s: member %d lacks %d of %d commits that were answered; %v", what, i+1, lost, l.count(), faults)
		}
		dbs, counts = append(dbs, db), append(counts, "")
	}
	defer func() {
		if h.t.Failed() {
			h.t.Logf("%s: members count %q", what, counts)
		}
	}()
	h.until("all members count the same transactions", func() bool {
		for i, db := range dbs {
			query := "SELECT @@GLOBAL.gtid_binlog_state"
			if h.srv.Flavour == server.MySQL {
				query = "SELECT @@GLOBAL.gtid_executed"
			}
			var state string
			if err := db.QueryRow(query).Scan(&state); err != nil {
				return false
			}
			counts[i] = state
			if h.srv.Flavour == server.MariaDB {
				counts[i] = mostOfDomain0(state)
			}
		}
		return len(slices.Compact(slices.Clone(counts))) == 1
	})
}

// mostOfDomain0 is the highest number of the cluster's transactions in a state of MariaDB's GTIDs.
func mostOfDomain0(state string) string {
	most := 0
	for gtid := range strings.SplitSeq(state, ",") {
		if parts := strings.Split(gtid, "-"); len(parts) == 3 && parts[0] == "0" {
			n, _ := strconv.Atoi(parts[2])
			most = max(most, n)
		}
	}
	return strconv.Itoa(most)
}

// TestClusterPowerCut: all members of a cluster lose power at one moment, under load, and no commit that was answered is lost,
// doubled, or in another order. The control is a cluster whose commits are answered before they are on a disk.
func TestClusterPowerCut(t *testing.T) {
	t.Parallel()
	h := newClusterHome(t)
	rounds := 1
	if text := os.Getenv(envClusterRounds); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dsns := h.ramaria("cluster", "create", "c", "--volume", testVolume, "--server", h.daemon())
	h.exec(openDSN(t, strings.Fields(dsns)[0]), appendTable)
	total := 0
	for round := range rounds {
		var l *appends
		dsns, l = h.cut(dsns)
		h.checkAll(fmt.Sprintf("cut %d", round+1), dsns, l)
		total += l.count()
	}
	// A member that was replaced is as good as the others, and one that lost its RAM alone too.
	l := beginAppends(t, h.writable(dsns))
	h.until("commits", func() bool { return l.count() > 100 })
	h.ramaria("cluster", "replace", "c", "c-2") // under load: its data is as that of one that was killed
	l.end()
	h.checkAll("one that was replaced under load", h.ramaria("cluster", "up", "c"), l)
	h.ramaria("cluster", "replace", "c", "c-1")
	dsns, l = h.cut(h.ramaria("cluster", "up", "c"))
	h.checkAll("a cut after a member was replaced", dsns, l)
	total += l.count()
	// One that was killed and joined again has in its log what it has in its data: the last commits before its death are only
	// prepared in its engine.
	l = beginAppends(t, h.writable(dsns))
	h.until("commits", func() bool { return l.count() > 100 })
	h.kill("c-2", func(p pids) int { return p.Server })
	l.end()
	dsns, l = h.cut(h.ramaria("cluster", "up", "c"))
	h.checkAll("a cut after a member was killed and had joined again", dsns, l)
	total += l.count()
	h.ramaria("cluster", "down", "c")
	if err := os.RemoveAll(h.instanceDir(testVolume, "c-2")); err != nil {
		t.Fatal(err)
	}
	h.checkAll("one that has lost its RAM", h.ramaria("cluster", "up", "c"), l)
	t.Logf("%d power cuts, %d commits answered before them, none lost", rounds+2, total)
	h.ramaria("cluster", "rm", "c", "--with-archive")

	dsns = h.ramaria("cluster", "create", "c", "--volume", testVolume, "--server", h.daemon(), "--durable=1s")
	h.exec(openDSN(t, strings.Fields(dsns)[0]), appendTable)
	time.Sleep(2 * time.Second) // the table is to be there
	// On a busy machine a second may pass without a commit.
	for cut := 1; ; cut++ {
		dsns, l = h.cut(dsns)
		if lost, _ := l.check(openDSN(t, strings.Fields(dsns)[0])); lost > 0 {
			break
		}
		if cut == 5 {
			t.Fatalf("the control, whose commits do not wait for the disk, lacks none of %d, and lacked none in %d cuts before", l.count(), cut-1)
		}
	}
}
