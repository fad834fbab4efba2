package tests

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// moment is what an instance was at some time.
type moment struct {
	// time and position are what ramaria restore takes.
	time, position string
	picture        []string
}

// TestRestoreAnyMoment restores random moments in the life of a durable instance, with base backups, a power
// failure and a fresh start in it, and compares each with what the instance was then.
func TestRestoreAnyMoment(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	archive := filepath.Join(h.home, "archive")
	var moments []moment
	epoch := 1
	var db *sql.DB
	up := func(args ...string) {
		t.Helper()
		if db != nil {
			db.Close()
		}
		db = openDSN(t, h.ramaria(append([]string{"up", "shop"}, args...)...))
		db.SetMaxOpenConns(1)
	}
	up("--durable", "--archive", archive)
	// look notes what the instance is in this second, of which it is left no more.
	look := func() {
		t.Helper()
		now := time.Now()
		moments = append(moments, moment{time: now.Format("2006-01-02 15:04:05"), position: fmt.Sprintf("%d:%s", epoch, h.logEnd(db)), picture: h.picture(db)})
		if time.Now().Unix() != now.Unix() { // none of this is written to the log
			moments[len(moments)-1].time = time.Now().Format("2006-01-02 15:04:05")
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + 5*time.Millisecond)))
	}
	live := func() {
		t.Helper()
		for range 2 + rng.IntN(2) {
			h.exec(db, h.randomWrites(rng, 30)...)
			if rng.IntN(3) == 0 {
				h.ramaria("backup", "shop")
			}
			look()
		}
	}
	h.exec(db, dialect(h.srv, restoreData...)...)
	look()
	live()
	h.powerCut("shop")
	up()
	epoch++
	live()
	up("--fresh")
	epoch++
	h.exec(db, dialect(h.srv, restoreData...)...)
	live()
	for n, m := range moments {
		for flag, value := range map[string]string{"--at": m.time, "--at-position": m.position} {
			if n > 0 && n < len(moments)-1 && rng.IntN(3) == 0 {
				continue
			}
			name := fmt.Sprintf("then%d", n)
			out, talk, err := h.try("restore", "shop", flag, value, "--as", name)
			if err != nil {
				t.Fatalf("restore %s %s: %v\n%s", flag, value, err, talk)
			}
			then := openDSN(t, out)
			if diff := cmp.Diff(m.picture, h.picture(then)); diff != "" {
				t.Errorf("moment %d, %s %s (-was +restored):\n%s\n%s", n, flag, value, talk, diff)
			}
			then.Close()
			h.ramaria("rm", name)
		}
	}
	h.restoreCopies(archive, db)
}

// restoreCopies copies the archive while the instance writes: each copy gives a beginning of what was written.
func (h *testHome) restoreCopies(archive string, db *sql.DB) {
	t := h.t
	t.Helper()
	h.exec(db, "CREATE TABLE app.counted (id INT PRIMARY KEY AUTO_INCREMENT, pad VARCHAR(2000))")
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				done <- n
				return
			default:
			}
			if _, err := db.ExecContext(t.Context(), "INSERT INTO app.counted (pad) VALUES (REPEAT('x', 2000))"); err != nil {
				t.Error(err)
				<-stop
				done <- n
				return
			}
		}
	}()
	var copies []string
	for n := range 4 {
		time.Sleep(200 * time.Millisecond)
		dir := fmt.Sprintf("%s-copy-%d", archive, n)
		if out, err := exec.Command("cp", "-r", archive, dir).CombinedOutput(); err != nil {
			for line := range strings.Lines(string(out)) {
				if !strings.Contains(line, ".new'") { // a file that got its name meanwhile
					t.Errorf("copy the archive: %v: %s", err, line)
				}
			}
		}
		copies = append(copies, dir)
	}
	close(stop)
	all := <-done
	least := 0
	for _, dir := range copies {
		out, talk, err := h.try("restore", dir, "--as", "copy")
		if at := strings.Index(talk, "--at-position "); err != nil && at > 0 { // cut in an unlucky place
			t.Logf("%s", talk)
			out, talk, err = h.try("restore", dir, "--at-position", strings.Fields(talk[at:])[1], "--as", "copy")
		}
		if err != nil {
			t.Fatalf("restore a copy: %v\n%s", err, talk)
		}
		then := openDSN(t, out)
		var rows, last int
		if err := then.QueryRowContext(t.Context(), "SELECT COUNT(*), COALESCE(MAX(id), 0) FROM app.counted").Scan(&rows, &last); err != nil {
			t.Fatal(err)
		}
		if rows != last || rows < least || rows > all {
			t.Errorf("the copy has %d rows up to %d; the one before had %d, and %d were written", rows, last, least, all)
		}
		least = rows
		then.Close()
		h.ramaria("rm", "copy")
	}
	if least == 0 {
		t.Error("no copy has a row")
	}
}

// restoreData is what random writes change.
var restoreData = []string{
	"CREATE TABLE app.customer (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(100) NOT NULL, KEY (name))",
	"INSERT INTO app.customer (name) SELECT CONCAT('customer ', seq) FROM " + numbers(500),
	"CREATE TABLE app.purchase (id INT PRIMARY KEY AUTO_INCREMENT, customer INT NOT NULL, price DECIMAL(8,2), FOREIGN KEY (customer) REFERENCES app.customer (id) ON DELETE CASCADE)",
	"INSERT INTO app.purchase (customer, price) SELECT 1 + seq % 500, seq / 7 FROM " + numbers(1000),
	"CREATE TRIGGER app.before_purchase BEFORE INSERT ON app.purchase FOR EACH ROW SET NEW.price = NEW.price + 1",
}

// randomWrites are statements of an application, and of one who changes it.
func (h *testHome) randomWrites(rng *rand.Rand, n int) (list []string) {
	for range n {
		k := rng.IntN(1 << 30)
		list = append(list, []string{
			fmt.Sprintf("INSERT INTO app.customer (name) VALUES ('new %d'), ('and %d')", k, k),
			fmt.Sprintf("UPDATE app.customer SET name = CONCAT('was ', %d) ORDER BY id LIMIT 3", k),
			fmt.Sprintf("DELETE FROM app.customer ORDER BY SHA2(id + %d, 256) LIMIT 2", k),
			fmt.Sprintf("INSERT INTO app.purchase (customer, price) SELECT id, %d FROM app.customer LIMIT 4", k%1000),
			fmt.Sprintf("UPDATE app.purchase SET price = price / 2 WHERE id %% 50 = %d", k%50),
			fmt.Sprintf("CREATE TABLE app.t%d AS SELECT * FROM app.purchase LIMIT 20", k),
			fmt.Sprintf("ALTER TABLE app.customer ADD COLUMN c%d INT DEFAULT %d", k, k%7),
			fmt.Sprintf("CREATE USER u%d@localhost IDENTIFIED BY 'x'", k),
			fmt.Sprintf("CREATE OR REPLACE VIEW app.v%d AS SELECT COUNT(*) AS n FROM app.purchase", k%5),
			fmt.Sprintf("CREATE EVENT app.e%d ON SCHEDULE EVERY 1 DAY STARTS '2035-01-01 00:00:00' DO DELETE FROM app.purchase", k),
		}[rng.IntN(10)])
	}
	return list
}

// logEnd is where the server's log ends: FILE:OFFSET.
func (h *testHome) logEnd(db *sql.DB) string {
	h.t.Helper()
	query := "SHOW MASTER STATUS"
	if h.srv.Flavour == "mysql" {
		query = "SHOW BINARY LOG STATUS"
	}
	rows, err := db.QueryContext(h.t.Context(), query)
	if err != nil {
		h.t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		h.t.Fatal(err, rows.Err())
	}
	values := make([]any, len(columns))
	for n := range values {
		values[n] = new(sql.NullString)
	}
	if err := rows.Scan(values...); err != nil {
		h.t.Fatal(err)
	}
	var file int
	if _, err := fmt.Sscanf(strings.TrimLeft(filepath.Ext(values[0].(*sql.NullString).String), "."), "%d", &file); err != nil {
		h.t.Fatal(err)
	}
	return fmt.Sprintf("%d:%s", file, values[1].(*sql.NullString).String)
}

// powerCut kills all of an instance, and takes its RAM away.
func (h *testHome) powerCut(name string) {
	h.t.Helper()
	p := h.pids(name)
	if err := syscall.Kill(p.Supervisor, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
	h.gone(p)
	if err := os.RemoveAll(filepath.Join(h.places.Shm, "instances", name)); err != nil {
		h.t.Fatal(err)
	}
}
