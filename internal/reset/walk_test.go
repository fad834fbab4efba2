package reset_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
)

// Environment variables of random tests: a seed instead of the two that there are, and
// how long to go on.
const (
	envSeed   = "RAMARIA_TEST_SEED"
	envWalk   = "RAMARIA_TEST_WALK"
	envHammer = "RAMARIA_TEST_HAMMER"
)

// duration is what an environment variable says, or normal.
func duration(t *testing.T, name string, normal time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return normal
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// seeds are the seeds of random tests: one that is always the same, and a fresh one.
func seeds(t *testing.T) []uint64 {
	t.Helper()
	text := os.Getenv(envSeed)
	if text == "" {
		return []uint64{1, rand.Uint64N(1 << 32)}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", envSeed, err)
	}
	return []uint64{n}
}

// walkPace is how long a walk with one seed goes on in a normal run, and quickPace in a quick one.
const walkPace, quickPace = 5 * time.Second, 2 * time.Second

// usualPace is how long a random test goes on that the environment says nothing of.
func usualPace() time.Duration {
	if servertest.Quick() {
		return quickPace
	}
	return walkPace
}

// TestWalk does random things to several leases of a random template, and puts them back
// now and then: each must be as it was when it was fresh, and the others untouched. The server begins
// sessions with odd settings.
func TestWalk(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		for _, seed := range seeds(t) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				// Long walks go through many schemas.
				for end := time.Now().Add(duration(t, envWalk, usualPace())); time.Now().Before(end); seed++ {
					t.Logf("%s=%d", envSeed, seed)
					ok := t.Run("schema", func(t *testing.T) { walkOnce(t, want, seed, min(time.Until(end), 10*time.Second)) })
					if !ok {
						return
					}
				}
			})
		}
	})
}

// walker is one connection of a lease.
type walker struct {
	conn   *sql.Conn
	inside bool
	pinned bool // it said autocommit = 0
	xa     bool
	empty  bool // its XA transaction did nothing
}

// walk is a lease with what is done to it.
type walk struct {
	*lease
	walkers [2]walker
	done    []string
	// saved is the state at its savepoint, "" if it has none.
	saved string
}

func walkOnce(t *testing.T, want string, seed uint64, pace time.Duration) {
	r := rand.New(rand.NewPCG(seed, 1)) // #nosec G404 -- to be repeated
	flavour := servertest.Find(t, want).Flavour
	schema := newWalkSchema(r, flavour)
	srv := servertest.Start(t, servertest.Find(t, want))
	l := newLabOn(t, srv, "random", schema.text, func() { srv.Odd(t, r) })
	if seed%2 == 1 { // by files also where that is not faster
		l.shape.Files.Rows = 0
	}
	var walks []*walk
	for i := range 3 {
		walks = append(walks, &walk{lease: l.lease(fmt.Sprintf("random_%d", i))})
	}
	m := &walkMoves{Rand: r, schema: &schema, flavour: flavour}
	var steps, failed, resets, savepoints int
	ways := map[reset.Way]int{}
	errs := map[uint16]int{}
	for end := time.Now().Add(pace); time.Now().Before(end); resets++ {
		w := walks[r.IntN(len(walks))]
		savepointAt := r.IntN(18)
		for i := range r.IntN(12) {
			if i == savepointAt && w.setSavepoint() {
				savepoints++
			}
			o := pick(r, w, w, w, walks[r.IntN(len(walks))])
			err := o.step(m, pick(r, "quiet", "rows", "rows", "rows", "wild"))
			steps++
			var e *mysql.MySQLError
			if errors.As(err, &e) {
				failed++
				errs[e.Number]++
			}
		}
		toSavepoint := w.saved != "" && r.IntN(3) > 0
		way := w.back(walks[r.IntN(len(walks))], resets%150 == 0, toSavepoint, r.IntN(8))
		switch {
		case toSavepoint && w.saved == "":
			way = "savepoint lost"
		case toSavepoint:
			way += " to a savepoint"
		}
		ways[way]++
		if t.Failed() {
			return
		}
	}
	t.Logf("%d statements, %d failed; %d savepoints; %d resets: %v; errors %v", steps, failed, savepoints, resets, ways, errs)
	if failed*2 > steps {
		t.Errorf("%d of %d statements failed", failed, steps)
	}
	for _, way := range []reset.Way{reset.Noop, reset.Undo, reset.Refill} {
		if ways[way] == 0 && resets > 100 {
			t.Errorf("no reset was a %s", way)
		}
	}
}

// step does one random statement on one of the lease's connections.
func (w *walk) step(m *walkMoves, mood string) error {
	i := m.IntN(2)
	c := &w.walkers[i]
	ctx := context.WithoutCancel(w.t.Context())
	if c.conn == nil {
		conn, err := w.pool.Conn(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		*c = walker{conn: conn}
		// Waiting is not what this is about.
		if _, err := conn.ExecContext(ctx, "SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 1"); err != nil {
			w.t.Fatal(err)
		}
	}
	// Beside an open transaction the other connection only reads, or both would wait.
	text := m.next(mood, c.inside, !w.walkers[1-i].inside)
	if w.walkers[1-i].inside && (strings.HasSuffix(text, "FOR UPDATE") || strings.Contains(text, "TABLE")) {
		text = "SELECT 1"
	}
	if c.xa && (ends(text) || m.IntN(4) == 0) {
		text = "XA END 'x'"
	}
	// Two leases cannot have one of the same name.
	text = strings.ReplaceAll(text, "'x'", "'"+w.Name+"'")
	w.done = append(w.done, fmt.Sprintf("%d: %s", i, text))
	_, err := c.conn.ExecContext(ctx, text)
	if err != nil {
		w.done = append(w.done, "   "+err.Error())
	}
	switch {
	case err == nil && strings.HasPrefix(text, "XA START"):
		c.inside, c.xa = true, true
		// One without a change of InnoDB's is not in the log, nor known to be anybody's.
		insert := fmt.Sprintf("INSERT INTO self (id) VALUES (%d)", 1000000+m.IntN(1000000))
		_, xerr := c.conn.ExecContext(ctx, insert)
		w.done = append(w.done, "   "+insert)
		c.empty = xerr != nil
	case err == nil && strings.HasPrefix(text, "XA END"):
		w.endXA(m, c)
	case err == nil && begins(text):
		c.inside, c.pinned = true, c.pinned || text == "SET autocommit = 0"
	case ends(text):
		c.pinned = c.pinned && text != "SET autocommit = 1"
		c.inside = c.pinned
	}
	var e *mysql.MySQLError
	if err != nil && !errors.As(err, &e) { // it was ended with its transaction
		c.conn.Close()
		c.conn = nil
	}
	return err
}

// endXA decides on an XA transaction, or leaves it without a verdict.
func (w *walk) endXA(m *walkMoves, c *walker) {
	c.xa, c.inside = false, false
	id := "'" + w.Name + "'"
	lists := [][]string{{"XA PREPARE " + id, "XA COMMIT " + id}, {"XA PREPARE " + id, "XA ROLLBACK " + id}, {"XA PREPARE " + id}, {"XA COMMIT " + id + " ONE PHASE"}, {"XA ROLLBACK " + id}}
	list := pick(m.Rand, lists...)
	if c.empty {
		list = lists[len(lists)-1]
	}
	for _, text := range list {
		w.done = append(w.done, "   "+text)
		if _, err := c.conn.ExecContext(context.WithoutCancel(w.t.Context()), text); err != nil {
			w.done = append(w.done, "   "+err.Error())
		}
		c.inside = strings.HasPrefix(text, "XA PREPARE")
	}
}

// setSavepoint sets the savepoint of the lease, with whatever transactions are open, if that can be done.
func (w *walk) setSavepoint() bool {
	w.t.Helper()
	err := w.SetSavepoint(w.t.Context(), w.session, &w.Database)
	switch {
	case err == nil:
		w.saved = w.state()
		w.done = append(w.done, "-- a savepoint")
	case errors.Is(err, reset.ErrNoSavepoint):
		w.saved = ""
	default:
		w.t.Errorf("%v, after:\n%s", err, strings.Join(w.done, "\n"))
	}
	return err == nil
}

// back puts the lease back to its savepoint or its template and compares; another lease must stay as it
// is. One time in four counters are kept first and then restored, with a look at the rows between,
// or, since that opens all tables, without.
func (w *walk) back(other *walk, dump, toSavepoint bool, chance int) reset.Way {
	w.t.Helper()
	var before string
	if other != w {
		before = other.state()
	}
	putBack, was := w.Reset, w.asFresh
	if toSavepoint {
		putBack, was = w.RollBack, w.saved
	}
	var first reset.Way
	if chance < 2 {
		res, err := putBack(w.t.Context(), w.session, &w.Database, reset.KeepCounters)
		now := was
		if errors.Is(err, reset.ErrSavepointLost) {
			err, now = nil, w.asFresh
		}
		first = res.Way
		diff := ""
		if chance == 0 {
			diff = differences(withoutCounters(now), withoutCounters(w.state()))
		}
		if err != nil || diff != "" {
			w.t.Errorf("%s has not the rows that it had after %s (%s), %v:\n%s\nof:\n%s", w.Name, res.Way, res.Why, err, diff, strings.Join(w.done, "\n"))
		}
	}
	res, err := putBack(w.t.Context(), w.session, &w.Database, reset.RestoreCounters)
	if toSavepoint && errors.Is(err, reset.ErrSavepointLost) {
		err, toSavepoint = nil, false
		was = w.asFresh
	}
	if !toSavepoint {
		w.saved = ""
	}
	history := strings.Join(w.done, "\n")
	if err != nil {
		w.t.Errorf("%v, after:\n%s", err, history)
		return ""
	}
	if diff := differences(was, w.state()); diff != "" {
		w.t.Errorf("%s is not as it was after %s (%s):\n%s\nof:\n%s", w.Name, res.Way, res.Why, diff, history)
	}
	if other != w {
		if diff := differences(before, other.state()); diff != "" {
			w.t.Errorf("%s was changed when %s was put back:\n%s\nof:\n%s", other.Name, w.Name, diff, history)
		}
	}
	if dump && !toSavepoint {
		w.check()
	}
	if w.done = nil; toSavepoint {
		w.done = []string{"-- from a savepoint"}
	}
	// A connection with an open transaction was ended, and sees that at its next statement.
	for i := range w.walkers {
		c := &w.walkers[i]
		if c.inside && c.conn != nil {
			c.conn.Close()
			c.conn = nil
		}
		c.inside, c.xa, c.pinned = false, false, false
	}
	return cmp.Or(first, res.Way)
}
