package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// table is a table that rows go into.
type table struct {
	name dump.TableName
	// shape is nil if it is not understood.
	shape    *dump.Table
	triggers bool
	// ordered says that rows have numbers of a sequence.
	ordered bool
	// made says that the dump made it.
	made bool
	// fresh says that, and that nothing is in it yet.
	fresh bool
	line  int
	// asked says that the server was asked for it, since the dump names no engine.
	asked bool

	// rows are those that were not sent yet, all with one head; plain and counter are of it.
	rows    *chunk
	plain   bool
	counter int
	sent    int // bytes of rows
	looked  int // how many of them were looked at
	// keys is what makes those that were dropped, when the last row is in.
	keys string
	// odd counts chunks that LOAD DATA could not take.
	odd atomic.Int32
	// noted says that the server has notes on rows of files.
	noted atomic.Bool

	// Under loader.lock.
	outstanding int
	ended       bool // no further rows are known of
}

// key is a statement that makes a key, and the line by which it is known.
type key struct {
	table dump.TableName
	add   string
	line  int
}

// table returns a table by its name, as the server knows it if the dump has not made it.
func (l *loader) table(ctx context.Context, name dump.TableName) (*table, error) {
	if t := l.tables[name]; t != nil {
		return t, l.engine(ctx, t)
	}
	t := &table{name: name}
	l.tables[name] = t
	text, err := l.definition(ctx, t)
	if text == "" {
		return t, err // a view, or none at all: INSERT will tell
	}
	t.ordered = usesSequence([]byte(text))
	var n int
	row := l.primary.conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.triggers WHERE event_object_schema = ? AND event_object_table = ?", name.Database, name.Name)
	if err := row.Scan(&n); err != nil {
		return nil, fmt.Errorf("load %s: ask for triggers of %s: %w", l.name, name, err)
	}
	t.triggers = n > 0
	return t, nil
}

// stood reports whether a table, or a view, was there before the dump, or may have been.
func (l *loader) stood(ctx context.Context, name dump.TableName) (bool, error) {
	before := l.before[name.Database]
	if before == nil {
		before = map[string]bool{}
		l.before[name.Database] = before
		rows, err := l.primary.conn.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = ?", name.Database)
		if err != nil {
			return false, fmt.Errorf("load %s: list tables of %s: %w", l.name, name.Database, err)
		}
		defer rows.Close()
		for rows.Next() {
			var is string
			if err := rows.Scan(&is); err != nil {
				return false, fmt.Errorf("load %s: list tables of %s: %w", l.name, name.Database, err)
			}
			before[strings.ToLower(is)] = true
		}
		if err := rows.Err(); err != nil {
			return false, fmt.Errorf("load %s: list tables of %s: %w", l.name, name.Database, err)
		}
	}
	there := before[strings.ToLower(name.Name)]
	delete(before, strings.ToLower(name.Name))
	return there, nil
}

// definition asks the server for the statement that defines a table, "" for none.
func (l *loader) definition(ctx context.Context, t *table) (string, error) {
	var is, text string
	if err := l.primary.conn.QueryRowContext(ctx, "SHOW CREATE TABLE "+t.name.String()).Scan(&is, &text); err != nil {
		return "", ctx.Err()
	}
	if shape, ok := dump.ParseTable([]byte(text)); ok {
		t.shape = shape
	}
	return text, nil
}

// engine asks once for the engine of a table that the dump made: dumps that people write name none,
// and their rows went to the server one by one.
func (l *loader) engine(ctx context.Context, t *table) error {
	if t.asked || !t.fresh || t.shape == nil || t.shape.InnoDB {
		return nil
	}
	t.asked = true
	_, err := l.definition(ctx, t)
	return err
}

// free says that the order of rows means nothing, neither among themselves nor towards others.
func (l *loader) free(t *table) bool {
	return !l.alone && t.shape != nil && t.shape.InnoDB && t.shape.PrimaryKey && !t.triggers && !t.ordered &&
		(len(t.shape.ForeignKeys) == 0 || !l.facts.foreignKeyChecks)
}

// loose says that rows can be put into other statements than they stand in: what the server
// does with a row depends neither on the others, nor on whether it is alone.
func (t *table) loose() bool { return t.shape != nil && t.shape.InnoDB && !t.triggers }

// usesSequence says that a CREATE TABLE may name a sequence.
func usesSequence(text []byte) bool {
	low := bytes.ToLower(text)
	return bytes.Contains(low, []byte("nextval")) || bytes.Contains(low, []byte("next value")) || bytes.Contains(low, []byte("lastval"))
}

// dropKeys drops the keys of a table that is about to become large, if they can be made later.
func (l *loader) dropKeys(ctx context.Context, t *table) error {
	deferred, ok := t.shape.DeferKeys(t.name.String())
	if !t.fresh || !ok || deferred.AddForeign != "" && l.facts.foreignKeyChecks {
		return nil
	}
	if err := l.primary.alter(ctx, deferred.Drop); err != nil {
		if _, said := dbconn.RefusalOf(err); said {
			return nil // another table needs one of them: they stay
		}
		return l.refused(err, t.line, []byte(deferred.Drop))
	}
	if deferred.AddForeign != "" {
		l.foreign = append(l.foreign, key{t.name, deferred.AddForeign, t.line})
	}
	t.keys = deferred.Add
	return nil
}

// wait waits until all rows of a table, and its keys, are there.
func (l *loader) wait(ctx context.Context, t *table) error {
	if t == nil {
		return nil
	}
	defer l.awaken(ctx)()
	l.lock.Lock()
	defer l.lock.Unlock()
	for t.outstanding > 0 && l.fault == nil && ctx.Err() == nil {
		l.settled.Wait()
	}
	if l.fault != nil {
		return l.fault
	}
	return ctx.Err()
}

// mend makes the keys that are missing after an error.
func (l *loader) mend(ctx context.Context) error {
	missing := l.foreign
	for _, t := range l.tables {
		if t.keys != "" {
			missing = append([]key{{t.name, t.keys, t.line}}, missing...)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	s, err := l.connect(ctx, "")
	if err != nil {
		return fmt.Errorf("%w: %w", errKeys, err)
	}
	defer s.conn.Close()
	if err := s.exec(ctx, "SET foreign_key_checks = 0"); err != nil {
		return fmt.Errorf("%w: %w", errKeys, err)
	}
	var errs []error
	for _, k := range missing {
		if err := s.alter(ctx, k.add); err != nil {
			errs = append(errs, fmt.Errorf("%w: %w\nhint: in the server: %s", errKeys, err, k.add))
		}
	}
	return errors.Join(errs...)
}
