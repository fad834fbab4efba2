package tests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
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
