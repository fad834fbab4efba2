package tests

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/wheatfs"
)

// wheatRows is how many rows there are to sort, of some 600 bytes.
const wheatRows = 40000

// wheatWork are statements that need temporary files: those of sorts, temporary tables of each kind, the sort files of
// a new index, and the cache of a large transaction. Their results are sums that do not depend on where the files lie.
var wheatWork = []struct{ name, query string }{
	{"ORDER BY", "SELECT SUM(CRC32(CONCAT(k, b)) * (n % 7)) FROM (SELECT k, b, ROW_NUMBER() OVER (ORDER BY b, k) AS n FROM t) AS x"},
	{"sorted rows", "SELECT COUNT(*), MAX(b) FROM (SELECT * FROM t ORDER BY b DESC LIMIT 30000) AS x"},
	{"GROUP BY", "SELECT COUNT(*), SUM(c) FROM (SELECT CONCAT(b, k) AS g, COUNT(*) AS c FROM t GROUP BY g) AS x"},
	{"DISTINCT", "SELECT COUNT(*) FROM (SELECT DISTINCT CONCAT(k, b) FROM t) AS x"},
	{"an index", "ALTER TABLE t ADD KEY (b(200)), ALGORITHM=INPLACE"},
	{"the index", "SELECT COUNT(*), MIN(b) FROM t FORCE INDEX (b) WHERE b > ''"},
	{"no index", "ALTER TABLE t DROP KEY b"},
	{"a large transaction", "UPDATE t SET b = CONCAT('x', SUBSTRING(b, 2))"},
	{"after it", "SELECT SUM(CRC32(b)) FROM t"},
	{"a temporary table", "CREATE TEMPORARY TABLE held ENGINE=InnoDB SELECT k, CONCAT(b, b, b) AS b FROM t"},
	{"of that", "SELECT COUNT(*), SUM(CRC32(b)) FROM held"},
	{"end of that", "DROP TEMPORARY TABLE held"},
}

// wheatSettings have little memory for what wheatWork does.
func wheatSettings(srv *server.Server) []string {
	set := []string{"sort_buffer_size=32768", "tmp_table_size=1024", "max_heap_table_size=16384", "binlog_cache_size=4096", "innodb_sort_buffer_size=65536", "innodb_buffer_pool_size=16M"}
	if srv.Flavour == server.MySQL {
		set = append(set, "temptable_max_ram=2097152", "temptable_max_mmap=0")
	}
	var args []string
	for _, s := range set {
		args = append(args, "--set", s)
	}
	return args
}

func fillWheat(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, q := range []string{
		"CREATE TABLE t (k INT PRIMARY KEY, b VARCHAR(600) NOT NULL) CHARACTER SET latin1",
		fmt.Sprintf(`INSERT INTO t WITH RECURSIVE d (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 199)
SELECT x.n * 200 + y.n AS k, REPEAT(SHA2(x.n * 200 + y.n, 512), 4) FROM d AS x JOIN d AS y HAVING k < %d`, wheatRows),
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
}

// doWheat does the work and returns what it gave. The pool has one connection: temporary tables are of that.
func doWheat(ctx context.Context, db *sql.DB) (results []string, err error) {
	db.SetMaxOpenConns(1)
	for _, w := range wheatWork {
		line := w.name
		if err := dbconn.Query(ctx, db, w.query, func(cols []string) error {
			line += " " + strings.Join(cols, " ")
			return nil
		}); err != nil {
			return nil, err
		}
		results = append(results, line)
	}
	return results, nil
}

// wheatInstance is what a test needs of an instance with a wheatfs.
type wheatInstance struct {
	Server     int    `json:"server_pid"`
	Supervisor int    `json:"supervisor_pid"`
	Dir        string `json:"dir"`
	TmpDir     struct {
		Kind string `json:"kind"`
		Disk int64  `json:"disk_bytes"`
	} `json:"tmpdir"`
}

func (h *testHome) wheat(t *testing.T, name string) (is wheatInstance) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.ramaria("status", name, "--json")), &is); err != nil {
		t.Fatal(err)
	}
	return is
}

// tmp is its tmpdir, as its server sees it.
func (is wheatInstance) tmp() string {
	return filepath.Join("/proc", strconv.Itoa(is.Server), "root", is.Dir, "tmp")
}

// daemons are the processes that serve it.
func (is wheatInstance) daemons(t *testing.T) (pids []int) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), fmt.Sprintf("\nPPid:\t%d\n", is.Supervisor)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && sys.HasArg(pid, "serve") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// push has the kernel write temporary files out, again and again, instead of keeping them in its page cache: as it does
// when memory is short.
func (is wheatInstance) push(ctx context.Context) {
	for ctx.Err() == nil {
		_ = sys.SyncFS(is.tmp()) // it ends with the server
		time.Sleep(5 * time.Millisecond)
	}
}

func needWheat(t *testing.T) {
	t.Helper()
	if err := wheatfs.Check(); err != nil {
		t.Skipf("SKIPPED, UNTESTED: %v", err)
	}
}

// TestTmpDirOutgrowsRAM: sorts, temporary tables, a new index and a large transaction give the same where their files
// have all the RAM that they want, and where they have a quarter of it.
func TestTmpDirOutgrowsRAM(t *testing.T) {
	t.Parallel()
	needWheat(t)
	h := newTestHome(t)
	var want []string
	for _, c := range []struct {
		name, tmpdir string
		spills       bool
	}{{"tmpfs", "tmpfs", false}, {"in RAM", "wheatfs:400M", false}, {"as much as the RAM", "wheatfs:48M", true}, {"four times the RAM", "wheatfs:12M", true}} {
		t.Run(c.name, func(t *testing.T) {
			h.during(t)
			dsn := h.ramaria(append([]string{"up", "w", "--tmpdir", c.tmpdir}, wheatSettings(h.srv)...)...)
			defer h.ramaria("down", "w", "--rm")
			db := openDSN(t, dsn)
			fillWheat(t, db)
			is := h.wheat(t, "w")
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			pushing, stop := context.WithCancel(ctx)
			done := make(chan struct{})
			go func() {
				defer close(done)
				is.push(pushing)
			}()
			got, err := doWheat(ctx, db)
			stop()
			<-done
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			for i, line := range got {
				if line != want[i] {
					t.Errorf("%q, want %q", line, want[i])
				}
			}
			if h.srv.Flavour != server.MariaDB {
				return // MySQL gives all back
			}
			// MariaDB's file of temporary tables stays as large as it was.
			spilled := func() bool { return strings.Contains(h.ramaria("status", "w"), " on disk: ") }
			if c.spills {
				h.until("status says what lies on the disk", spilled)
			} else if spilled() {
				t.Errorf("it has spilled to the disk: %+v", h.wheat(t, "w").TmpDir)
			}
		})
	}
}

// TestWheatKilled kills the daemon of a wheatfs, the server on it or the supervisor under statements that spill: these end,
// nothing hangs, the instance comes up again, and of file systems, devices and processes nothing is left.
func TestWheatKilled(t *testing.T) {
	t.Parallel()
	needWheat(t)
	h := newTestHome(t)
	up := append([]string{"up", "w", "--tmpdir", "wheatfs:8M"}, wheatSettings(h.srv)...)
	db := openDSN(t, h.ramaria(up...))
	fillWheat(t, db)
	for n := range killsWanted(t) {
		is := h.wheat(t, "w")
		daemons := is.daemons(t)
		if len(daemons) != 1 {
			t.Fatalf("kill %d: %d daemons", n, len(daemons))
		}
		victim, pid := "daemon", daemons[0]
		switch n % 3 {
		case 1:
			victim, pid = "server", is.Server
		case 2:
			victim, pid = "supervisor", is.Supervisor
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		go is.push(ctx)
		ended := make(chan error, 1)
		go func() {
			for {
				if _, err := doWheat(ctx, db); err != nil {
					ended <- err
					return
				}
			}
		}()
		time.Sleep(rand.N(mostWork)) // #nosec G404 -- no secret
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; ctx.Err() != nil {
			t.Fatalf("kill %d, of the %s: statements hang: %v", n, victim, err)
		}
		if victim == "daemon" {
			h.until("the loss is said", func() bool {
				return strings.Contains(h.ramaria("status", "w"), "temporary files fail: the daemon of wheatfs has ended")
			})
			h.ramaria("down", "w")
		}
		cancel()
		h.until(fmt.Sprintf("kill %d, of the %s: the daemon has ended", n, victim), func() bool { return syscall.Kill(daemons[0], 0) != nil })
		db = openDSN(t, h.ramaria(up...))
		if _, err := db.Exec("SELECT 1"); err != nil {
			t.Fatalf("kill %d, of the %s: %v", n, victim, err)
		}
	}
	is := h.wheat(t, "w")
	left := is.daemons(t)
	h.ramaria("down", "w", "--rm")
	h.until("the last daemon has ended", func() bool { return syscall.Kill(left[0], 0) != nil })
	if b, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(b), h.home) {
		t.Errorf("something is mounted still, or %v", err)
	}
}
