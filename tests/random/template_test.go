package random

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ramaria-db/ramaria/tests/grammar"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// template is a template of the instance, what it and a fresh clone look like, and how a plain copy
// of it answers when it is used.
type template struct {
	grammar.Schema
	name string
	// itself is the template, whose events are disabled; picture is a clone, where they are as in the
	// database that became the template.
	itself, picture picture.Picture
	probes          []probe
	// used is what the copy looked like after the probes.
	used picture.Picture
}

// probe is a use of a table or sequence, with what a plain copy answered: the server's
// number of an error, or rows affected and the number given, or the rows of a query.
type probe struct{ text, answer string }

// maxAttempts is how many rows are tried until a table takes one.
const maxAttempts = 4

// newTemplate makes a database by the statements of a schema, and another one that is never
// cloned; what the server refuses is passed over in both.
func (in *instance) newTemplate(ctx context.Context, r *rand.Rand, g grammar.Grammar, s grammar.Schema, name string) (*template, error) {
	plain := "plain_" + name
	for _, database := range []string{name, plain} {
		if err := in.build(ctx, database, s.Statements); err != nil {
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
	s.Tables = in.there(ctx, name, s.Tables)
	t := &template{Schema: s, name: name}
	var err error
	if t.itself, err = in.look(ctx, name, picture.Blind{Complete: true}); err != nil {
		return nil, err
	}
	asMade, err := in.look(ctx, plain, picture.Blind{Complete: true})
	if err != nil {
		return nil, err
	}
	t.picture = t.itself.WithEvents(asMade)
	session := in.newSession(in.endpoint.User, in.endpoint.Password, plain).calmed()
	defer session.close()
	m := &grammar.Maker{Rand: r, Grammar: g, Tables: s.Tables}
	if err := t.learn(ctx, session, m); err != nil {
		return nil, err
	}
	t.used, err = in.look(ctx, plain, picture.Blind{Times: true, Complete: true})
	return t, err
}

// build fills a database.
func (in *instance) build(ctx context.Context, database string, statements []string) error {
	if _, err := in.db.ExecContext(ctx, "CREATE DATABASE "+grammar.Quote(database)+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		return err
	}
	session := in.newSession(in.endpoint.User, in.endpoint.Password, database).calmed()
	defer session.close()
	for _, text := range append([]string{"SET sql_mode='', foreign_key_checks=0, time_zone='+00:00'"}, statements...) {
		if err := session.exec(ctx, strings.ReplaceAll(text, "{DB}", grammar.Quote(database))); err != nil && picture.Number(err) == 0 {
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
	l := picture.NewLooker(ctx, conn, database)
	for _, row := range l.Ask("SELECT TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA='" + database + "' AND AUTO_INCREMENT > 0").Rows {
		if len(row) > 1 && row[1] != "NULL" {
			l.Ask("ALTER TABLE " + grammar.Quote(database) + "." + grammar.Quote(row[0]) + " AUTO_INCREMENT = " + row[1])
		}
	}
	return l.Err()
}

// there returns the tables that the server made.
func (in *instance) there(ctx context.Context, database string, tables []*grammar.Table) (list []*grammar.Table) {
	for _, t := range tables {
		var n int
		err := in.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='"+database+"' AND table_name='"+strings.ReplaceAll(t.Name, "'", "''")+"'").Scan(&n)
		if err == nil && n > 0 {
			list = append(list, t)
		}
	}
	return list
}

// learn makes up probes, and writes down how the copy answers.
func (t *template) learn(ctx context.Context, s *session, m *grammar.Maker) error {
	ask := func(text string) (string, error) {
		answer, err := s.probe(ctx, text)
		t.probes = append(t.probes, probe{text, answer})
		return answer, err
	}
	if err := s.exec(ctx, probing); err != nil {
		return err
	}
	for _, m.At = range t.Tables {
		m.Columns = nil
		for _, c := range m.At.Settable() {
			if !c.Counts {
				m.Columns = append(m.Columns, c)
			}
		}
		for range maxAttempts {
			answer, err := ask("INSERT INTO " + grammar.Quote(m.At.Name) + " " + grammar.ColumnList(m.Columns) + " VALUES " + m.Row())
			if err != nil {
				return err
			}
			if !strings.HasPrefix(answer, "error") {
				break
			}
		}
	}
	for _, text := range m.Grammar["use"] {
		if _, err := ask(m.Fill(text)); err != nil {
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
		l := picture.NewLooker(ctx, s.conn, s.auth.DBName)
		a := l.Ask(text)
		return fmt.Sprint(a.Rows), l.Err()
	}
	result, err := s.conn.ExecContext(ctx, text)
	if n := picture.Number(err); n != 0 {
		return fmt.Sprintf("error %d", n), nil
	}
	if err != nil {
		return "", err
	}
	id, _ := result.LastInsertId() // this driver has both
	rows, _ := result.RowsAffected()
	return fmt.Sprintf("%d rows, number %d", rows, id), nil
}
