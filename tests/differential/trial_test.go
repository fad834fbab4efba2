package differential

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/ramaria-db/ramaria/tests/grammar"
	"github.com/ramaria-db/ramaria/tests/home"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// step is a statement of one of a trial's connections, which are made when they are used first.
type step struct {
	conn, text string
	// line is the line of the grammar that it is of, -1 for what is needed by others.
	line int
}

func (s step) String() string { return s.conn + ": " + s.text }

// trial is what happens in one database. Everything is made up before it runs, so that it can be
// repeated, and made shorter.
type trial struct {
	database string
	// settings are those of every connection but the one that makes what the steps need.
	settings []setting
	steps    []step
	// repeats says that it is another once more, or in part.
	repeats bool
}

// builder is the connection that makes the tables that the statements of a trial need.
const builder = "0"

func (t *trial) String() string {
	var b strings.Builder
	for _, s := range t.settings {
		fmt.Fprintf(&b, "\t%s;\n", s)
	}
	for _, s := range t.steps {
		fmt.Fprintf(&b, "\t%s;\n", s)
	}
	return b.String()
}

// lines are what trials are made of: every alternative of the rules whose names begin with "do ".
func lines(g grammar.Grammar) (list []string) {
	for rule, alternatives := range g {
		if strings.HasPrefix(rule, "do ") {
			list = append(list, alternatives...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// maxSettings is how many settings a trial has at most. More hide each other.
const maxSettings = 3

// newTrial makes up the n-th trial of a seed. They go through all lines in turn; half of them have a
// second one, and two of three have settings.
func (r *runner) newTrial(n int) *trial {
	g := rand.New(rand.NewPCG(r.seed, uint64(n)+1)) // #nosec G404 -- repeatable by the seed
	t := &trial{database: database(n)}
	chosen := []int{r.order[n%len(r.order)]}
	if g.IntN(2) == 0 {
		chosen = append(chosen, g.IntN(len(r.lines)))
	}
	if g.IntN(3) > 0 && len(r.settings) > 0 {
		for range 1 + g.IntN(maxSettings) {
			s := r.settings[(n+g.IntN(len(r.settings)))%len(r.settings)]
			t.settings = append(t.settings, setting{s.name, grammar.Pick(g, s.values)})
		}
	}
	t.fill(g, r, chosen)
	return t
}

// fill adds the statements of lines, and before them what they need: for {name} there is a rule "given name",
// all of whose lines are run once.
func (t *trial) fill(g *rand.Rand, r *runner, chosen []int) {
	m := &grammar.Maker{Rand: g, Grammar: r.grammar, Words: map[string]func() string{}, Scope: t.database}
	var given, steps []step
	for rule := range r.grammar {
		if name, ok := strings.CutPrefix(rule, "given "); ok {
			done := false
			m.Words[name] = func() string {
				if !done {
					done = true
					for _, text := range r.grammar[rule] {
						s := newStep(m.Fill(text), builder, -1)
						given = append(given, s)
					}
				}
				return name
			}
		}
	}
	m.Words["wild"] = func() string { return wild(m) }
	m.Words["n"] = func() string { return fmt.Sprint(g.IntN(4)) }
	for _, line := range chosen {
		for _, text := range strings.Split(m.Fill(r.lines[line]), " ;; ") {
			steps = append(steps, newStep(text, "a", line))
		}
	}
	t.steps = slices.Concat(given, steps)
}

// maxColumns is how many columns of random types a table has at most.
const maxColumns = 4

// wild makes up a table, which the words for columns and rows are about then.
func wild(m *grammar.Maker) string {
	m.At = &grammar.Table{Name: m.Fill("{fresh}")}
	m.Columns = nil
	var list []string
	for n := range 1 + m.IntN(maxColumns) {
		c := grammar.NewColumn(fmt.Sprintf("c%d", n), m.Make("type"))
		m.At.Columns = append(m.At.Columns, c)
		list = append(list, c.Name+" "+c.Definition)
	}
	return m.At.Name + " (" + strings.Join(list, ", ") + ")"
}

// newStep reads "b: TEXT".
func newStep(text, conn string, line int) step {
	if len(text) > 3 && text[1:3] == ": " {
		conn, text = text[:1], text[3:]
	}
	return step{conn, text, line}
}

// outcome is what the server said to each step of a trial.
type outcome []error

// run runs a trial. Only what keeps it from running is an error.
func (t *trial) run(ctx context.Context, in *instance) (said outcome, err error) {
	if _, err := in.db.ExecContext(ctx, "CREATE DATABASE "+t.database); err != nil {
		return nil, err
	}
	conns := map[string]*session{}
	defer func() {
		for _, s := range conns {
			s.close()
		}
	}()
	for _, s := range t.steps {
		conn := conns[s.conn]
		if conn == nil {
			if conn, err = in.connect(ctx, t, s.conn != builder); err != nil {
				return nil, fmt.Errorf("%s: connect: %w", t.database, err)
			}
			conns[s.conn] = conn
		}
		err := in.do(ctx, conn.conn, t, s.text)
		if err != nil && picture.Number(err) == 0 { // the connection has ended
			conn.close()
			delete(conns, s.conn)
		}
		said = append(said, err)
	}
	return said, nil
}

// copying is the one step that is not a statement.
var copying = regexp.MustCompile(`^COPY TABLESPACE (\w+) TO (\w+)$`)

// do takes a step.
func (in *instance) do(ctx context.Context, conn *sql.Conn, t *trial, text string) error {
	m := copying.FindStringSubmatch(text)
	if m == nil {
		return home.Exec(ctx, conn, strings.ReplaceAll(text, "{DB}", t.database))
	}
	var dir string
	if err := conn.QueryRowContext(ctx, "SELECT @@datadir").Scan(&dir); err != nil {
		return err
	}
	for _, kind := range []string{".ibd", ".cfg"} {
		from, to := filepath.Join(dir, t.database, m[1]+kind), filepath.Join(dir, t.database, m[2]+kind)
		if out, err := exec.Command("cp", "-p", from, to).CombinedOutput(); err != nil { // #nosec G204 -- files of ours
			return &mysql.MySQLError{Number: 1, Message: fmt.Sprintf("copy: %v: %s", err, out)} // the connection is as it was
		}
	}
	return nil
}

// database is that of the n-th trial.
func database(n int) string { return fmt.Sprintf("c%d", n) }

type session struct {
	db   *sql.DB
	conn *sql.Conn
}

// connect makes a connection of a trial. A setting that the server does not take is passed over: some exclude others.
func (in *instance) connect(ctx context.Context, t *trial, odd bool) (*session, error) {
	db, err := home.Open(in.endpoint, in.endpoint.User, in.endpoint.Password, t.database, "utf8mb4")
	if err != nil {
		return nil, err
	}
	s := &session{db: db}
	if s.conn, err = db.Conn(ctx); err != nil {
		db.Close()
		return nil, err
	}
	// Statements that wait for each other must not take the test's time.
	if err := home.Exec(ctx, s.conn, "SET SESSION innodb_lock_wait_timeout=1, lock_wait_timeout=2"); err != nil {
		s.close()
		return nil, err
	}
	if odd {
		for _, set := range t.settings {
			if err := home.Exec(ctx, s.conn, set.String()); err != nil && picture.Number(err) == 0 {
				s.close()
				return nil, fmt.Errorf("%s: %w", set, err)
			}
		}
	}
	return s, nil
}

func (s *session) close() {
	s.conn.Close()
	s.db.Close()
}
