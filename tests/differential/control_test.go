package differential

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests/grammar"
)

// noFence has acknowledgements not wait for base backups that contain what a replay may do otherwise.
const noFence = "RAMARIA_FENCE=off"

// controlText is what TestControl does: each line is a trial that must be found, and recovers.
const controlText = `
given u
	CREATE TABLE u (name VARCHAR(10), v INT)
	x: BEGIN
	x: INSERT INTO u VALUES ('A', 0)
	y: INSERT INTO u VALUES ('B', 0)
	x: COMMIT

given t
	CREATE TABLE t (id INT PRIMARY KEY)
	INSERT INTO t VALUES (1), (2)

do control
	ALTER TABLE {u} ADD id INT AUTO_INCREMENT PRIMARY KEY
	ALTER TABLE {t} ADD token CHAR(36) DEFAULT (UUID())                 @mariadb
	ALTER TABLE {t} ADD r DOUBLE DEFAULT (RAND())                       @mariadb
	ALTER TABLE {t} ADD n DATETIME(6) DEFAULT (SYSDATE(6))              @mariadb
	ALTER IGNORE TABLE {u} ADD UNIQUE (v)                               @mariadb
	SET default_storage_engine=MyISAM ;; CREATE TABLE n (a INT)
`

// fatalText is of what keeps a recovery from succeeding.
const fatalText = `
given t
	CREATE TABLE t (id INT PRIMARY KEY)
	INSERT INTO t VALUES (1), (2)

do fatal
	CREATE TABLE s LIKE {t} ;; INSERT INTO s VALUES (7) ;; ALTER TABLE {t} DISCARD TABLESPACE ;; FLUSH TABLES s FOR EXPORT ;; COPY TABLESPACE s TO t ;; UNLOCK TABLES ;; ALTER TABLE {t} IMPORT TABLESPACE ;; INSERT INTO {t} VALUES (9)
`

// TestControl is the negative control of TestDifferential: without the fence, what a replay does otherwise is found.
func TestControl(t *testing.T) {
	servertest.Each(t, func(t *testing.T, want string) {
		t.Parallel()
		in := start(t, want, noFence)
		defer in.end()
		trials := controls(in, controlText, 0)
		_, differ, err := in.cycle(t.Context(), trials, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range trials {
			if differ[c.database] == "" {
				t.Errorf("the comparison does not find:\n%s", c)
			}
		}
		for _, c := range controls(in, fatalText, len(trials)) {
			_, differ, err := in.cycle(t.Context(), []*trial{c}, false)
			var u *unrecoverable
			if err == nil && differ[c.database] == "" {
				t.Errorf("the recovery does not fail, and the comparison does not find:\n%s", c)
			} else if err != nil && !errors.As(err, &u) {
				t.Fatal(err)
			}
			if err != nil {
				in.again()
			}
		}
	})
}

// controls are the lines of a text as trials.
func controls(in *instance, text string, from int) (list []*trial) {
	r := &runner{in: in, grammar: grammar.Grammar{}}
	r.grammar.Read(text, in.software)
	r.lines = lines(r.grammar)
	for n := range r.lines {
		c := &trial{database: database(from + n)}
		c.fill(rand.New(rand.NewPCG(0, 0)), r, []int{n}) // #nosec G404 -- nothing of it is random
		list = append(list, c)
	}
	return list
}
