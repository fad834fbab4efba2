package load

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/server"
)

// statement carries out a statement that is no INSERT of rows.
func (l *loader) statement(ctx context.Context, st *dump.Statement) error {
	text := st.Text
	if !l.comments {
		text = l.scanner.WithoutComments(text)
	}
	deed := dump.DeedOf(text, st.Delimiter)
	var shape *dump.Table
	if deed.Kind == dump.DeedCreateTable {
		var ok bool
		if shape, ok = dump.ParseTable(text); !ok {
			deed.Kind = dump.DeedOther // it may take its rows from others
		}
	}
	name := l.resolve(deed.Database, deed.Table)
	switch deed.Kind {
	case dump.DeedSet, dump.DeedSetTransactions, dump.DeedUse:
		return l.set(ctx, st, string(text), deed)
	case dump.DeedLock, dump.DeedBegin, dump.DeedCommit:
		l.open.commit()
		if !l.alone { // workers would wait for the locks for ever, and see nothing of transactions
			l.open.begun = deed.Kind == dump.DeedBegin
			return nil
		}
	case dump.DeedRollback:
		if l.open.line > 0 {
			return &dump.Error{File: l.name, Line: st.Line, Msg: "ROLLBACK would take back what was loaded before it, which cannot be done here",
				Hint: "remove what is taken back, or load the file with ramaria sql"}
		}
		l.open.commit()
		if !l.alone {
			return nil
		}
	case dump.DeedKeys:
		if t := l.tables[name]; t != nil && t.shape != nil && t.shape.InnoDB {
			l.open.commit()
			return nil // means nothing to it
		}
	}
	l.open.note(deed.Kind, st.Line, text)
	if err := l.settle(ctx); err != nil {
		return err
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	switch deed.Kind {
	case dump.DeedCreateTable, dump.DeedDropTable, dump.DeedTrigger, dump.DeedKeys:
		if err := l.wait(ctx, l.tables[name]); err != nil {
			return err
		}
		if err := l.know(ctx); err != nil {
			return err
		}
		if l.facts.foreignKeyChecks && deed.Kind == dump.DeedDropTable || slices.ContainsFunc(l.foreign, func(k key) bool { return k.table == name }) {
			if err := l.makeForeign(ctx); err != nil {
				return err
			}
		}
	case dump.DeedAside:
		if st.Delimiter == ";" || bytes.IndexByte(text, ';') < 0 {
			break
		}
		fallthrough // there may be something behind a body
	default:
		if err := l.barrier(ctx); err != nil {
			return err
		}
	}
	busy := l.busy()
	err := l.primary.exec(ctx, string(text))
	if _, said := server.RefusalOf(err); said && whole(deed.Kind) && (busy || server.LockTimeout(err)) {
		// It made something that refers to a key that is not there yet, or was simply wrong.
		if err := l.barrier(ctx); err != nil {
			return err
		}
		err = l.primary.exec(ctx, string(text))
	}
	if err != nil {
		return l.refused(err, st.Line, text)
	}
	switch deed.Kind {
	case dump.DeedCreateTable:
		delete(l.tables, name)
		// One that was there already is another: the server will tell.
		if l.dropped[name] || !bytes.Contains(bytes.ToLower(text), []byte("exists")) {
			l.tables[name] = &table{name: name, shape: shape, fresh: true, ordered: usesSequence(text)}
		}
		delete(l.dropped, name)
	case dump.DeedDropTable:
		delete(l.tables, name)
		l.dropped[name] = true
	case dump.DeedRows, dump.DeedQuery: // which may call what fills tables
		l.filled()
	case dump.DeedTrigger:
		if t := l.tables[name]; t != nil {
			t.triggers = true
		}
	case dump.DeedOther, dump.DeedMystery:
		l.alone = l.alone || deed.Kind == dump.DeedMystery
		l.known = false
		// Whatever it was: what is known of tables may be wrong.
		clear(l.tables)
		clear(l.dropped)
		l.current = nil
		return l.whereabouts(ctx)
	}
	return nil
}

// whole says that statements of a kind do all or nothing, so that they can be sent again.
func whole(kind dump.DeedKind) bool {
	switch kind {
	case dump.DeedCreateTable, dump.DeedDropTable, dump.DeedTrigger, dump.DeedAside:
		return true
	}
	return false
}

// whereabouts asks for the current database.
func (l *loader) whereabouts(ctx context.Context) error {
	var name sql.NullString
	if err := l.primary.conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&name); err != nil {
		return fmt.Errorf("load %s: ask for the database: %w", l.name, err)
	}
	l.database = name.String
	return nil
}

// set has a statement about the session carried out in every session.
func (l *loader) set(ctx context.Context, st *dump.Statement, text string, deed dump.Deed) error {
	before := l.flushBatch
	if deed.Kind == dump.DeedUse {
		before = l.flush // rows name their table alone
	}
	if err := before(ctx); err != nil {
		return err
	}
	own := setting{text, st.Line}
	l.alone = l.alone || deed.Kind != dump.DeedUse && len(l.sets) >= maxSets // no worker is told anything any more
	if deed.Kind == dump.DeedSet && !l.alone && own.joins() {
		l.sets, l.known = append(l.sets, own), false // told with those that follow
		return nil
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	l.known = false
	if err := l.primary.exec(ctx, text); err != nil {
		return l.refused(err, st.Line, []byte(text))
	}
	if deed.Kind == dump.DeedUse { // workers use the last one only: it may be dropped, like those before
		l.database = deed.Database
		return nil
	}
	if !l.alone {
		l.sets = append(l.sets, own)
	}
	if deed.Kind == dump.DeedSetTransactions {
		on := true
		if err := l.primary.conn.QueryRowContext(ctx, "SELECT @@autocommit").Scan(&on); err != nil {
			return fmt.Errorf("load %s: ask for autocommit: %w", l.name, err)
		}
		if on && l.open.manual {
			l.open.commit()
		}
		l.open.manual = !on
		const each = "SET autocommit = 1" // what is not committed would keep others waiting
		if err := l.primary.exec(ctx, each); err != nil {
			return l.refused(err, st.Line, []byte(text))
		}
		l.sets = append(l.sets, setting{each, st.Line})
	}
	l.primary.told = len(l.sets)
	return nil
}

// maxSets is how many statements about the session are kept for workers.
const maxSets = 10_000

// resolve returns the name of a table in the current database.
func (l *loader) resolve(database, name string) dump.TableName {
	if database == "" {
		database = l.database
	}
	return dump.TableName{Database: database, Name: name}
}
