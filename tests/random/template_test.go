package random

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
)

// template is a template of the instance, what it and a fresh clone look like, and how a plain copy
// of it answers when it is used.
type template struct {
	schema
	name string
	// itself is the template, whose events are disabled; picture is a clone, where they are as in the
	// database that became the template.
	itself, picture picture
	probes          []probe
	// used is what the copy looked like after the probes.
	used picture
}

// probe is a use of a table or sequence, with what a plain copy answered: the server's
// number of an error, or rows affected and the number given, or the rows of a query.
type probe struct{ text, answer string }

// maxAttempts is how many rows are tried until a table takes one.
const maxAttempts = 4

// newTemplate makes a database by the statements of a schema, and another one that is never
// cloned; what the server refuses is passed over in both.
func (in *instance) newTemplate(ctx context.Context, r *rand.Rand, g grammar, s schema, name string) (*template, error) {
	plain := "plain_" + name
	for _, database := range []string{name, plain} {
		if err := in.build(ctx, database, s.statements); err != nil {
			return nil, fmt.Errorf("build %s: %w", database, err)
		}
	}
	// The values that a sequence has cached are in the server's memory only: no dump shows them.
	if _, err := in.db.ExecContext(ctx, "FLUSH TABLES"); err != nil {
		return nil, err
	}
	if _, err := in.PutTemplate(ctx, name); err != nil {
		return nil, err
	}
	s.tables = in.there(ctx, name, s.tables)
	t := &template{schema: s, name: name}
	var err error
	if t.itself, err = in.look(ctx, name, blind{complete: true}); err != nil {
		return nil, err
	}
	asMade, err := in.look(ctx, plain, blind{complete: true})
	if err != nil {
		return nil, err
	}
	t.picture = t.itself.withEvents(asMade)
	session := in.newSession(in.endpoint.User, in.endpoint.Password, plain)
	defer session.close()
	m := &maker{Rand: r, grammar: g, tables: s.tables}
	if err := t.learn(ctx, session, m); err != nil {
		return nil, err
	}
	t.used, err = in.look(ctx, plain, blind{times: true, complete: true})
	return t, err
}

// build fills a database.
func (in *instance) build(ctx context.Context, database string, statements []string) error {
	if _, err := in.db.ExecContext(ctx, "CREATE DATABASE "+quote(database)+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		return err
	}
	session := in.newSession(in.endpoint.User, in.endpoint.Password, database)
	defer session.close()
	for _, text := range append([]string{"SET sql_mode='', foreign_key_checks=0, time_zone='+00:00'"}, statements...) {
		if err := session.exec(ctx, strings.ReplaceAll(text, "{DB}", quote(database))); err != nil && number(err) == 0 {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return in.settle(ctx, database)
}

// settle makes the server save counters: MariaDB forgets numbers that were given to no row
// as soon as it drops the definition of the table from its cache.
func (in *instance) settle(ctx context.Context, database string) error {
	conn, err := in.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	l := looker{ctx: ctx, conn: conn, database: database}
	for _, row := range l.ask("SELECT TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA='" + database + "' AND AUTO_INCREMENT > 0").rows {
		if len(row) > 1 && row[1] != "NULL" {
			l.ask("ALTER TABLE " + quote(database) + "." + quote(row[0]) + " AUTO_INCREMENT = " + row[1])
		}
	}
	return l.err
}

// there returns the tables that the server made.
func (in *instance) there(ctx context.Context, database string, tables []*table) (list []*table) {
	for _, t := range tables {
		var n int
		err := in.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='"+database+"' AND table_name='"+strings.ReplaceAll(t.name, "'", "''")+"'").Scan(&n)
		if err == nil && n > 0 {
			list = append(list, t)
		}
	}
	return list
}

// learn makes up probes, and writes down how the copy answers.
func (t *template) learn(ctx context.Context, s *session, m *maker) error {
	ask := func(text string) (string, error) {
		answer, err := s.probe(ctx, text)
		t.probes = append(t.probes, probe{text, answer})
		return answer, err
	}
	if err := s.exec(ctx, probing); err != nil {
		return err
	}
	for _, m.at = range t.tables {
		m.columns = nil
		for _, c := range m.at.settable() {
			if !c.counts {
				m.columns = append(m.columns, c)
			}
		}
		for range maxAttempts {
			answer, err := ask("INSERT INTO " + quote(m.at.name) + " " + columnList(m.columns) + " VALUES " + m.row())
			if err != nil {
				return err
			}
			if !strings.HasPrefix(answer, "error") {
				break
			}
		}
	}
	for _, text := range m.grammar["use"] {
		if _, err := ask(m.fill(text)); err != nil {
			return err
		}
	}
	return nil
}

// probing is what a session is set to before it probes: the time as well, for columns that have it by default.
const probing = "SET sql_mode='', time_zone='+00:00', timestamp=1900000000"

// probe runs a probe. Only what the server did not say is an error.
func (s *session) probe(ctx context.Context, text string) (answer string, err error) {
	if err := s.open(ctx); err != nil {
		return "", err
	}
	if strings.HasPrefix(text, "SELECT") {
		l := looker{ctx: ctx, conn: s.conn, database: s.auth.DBName, picture: picture{}}
		a := l.ask(text)
		return fmt.Sprint(a.rows), l.err
	}
	result, err := s.conn.ExecContext(ctx, text)
	if n := number(err); n != 0 {
		return fmt.Sprintf("error %d", n), nil
	}
	if err != nil {
		return "", err
	}
	id, _ := result.LastInsertId() // this driver has both
	rows, _ := result.RowsAffected()
	return fmt.Sprintf("%d rows, number %d", rows, id), nil
}
