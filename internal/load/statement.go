package load

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
)

// statement carries out a statement that is no INSERT of rows.
func (l *loader) statement(ctx context.Context, st *dump.Statement) error {
	l.computed.head = nil // its table may be another now
	text := st.Text
	if !l.comments {
		text = l.scanner.WithoutComments(text)
	}
	text, keep, err := l.fit.Statement(ctx, text, l.scanner.Meant(text))
	if err != nil || !keep {
		return err
	}
	meant := l.scanner.Meant(text)
	class := dump.Classify(meant, st.Delimiter)
	var shape *dump.Table
	if class.Kind == dump.StatementCreateTable {
		var ok bool
		if shape, ok = dump.ParseTable(meant); !ok {
			class.Kind = dump.StatementOther // it may take its rows from others
		}
	}
	name := l.resolve(class.Database, class.Table)
	stood := true // a table of that name, as far as is known
	if !l.alone && keepsAnswers(class.Kind) && dump.AsksForLast(meant) {
		return &dump.Error{File: l.name, Line: st.Line, Msg: "it asks what the statement before it has done (ROW_COUNT() or the like), which is sent in another way here",
			Hint: "put the number there that it is to be, or load the file with ramaria sql"}
	}
	switch class.Kind {
	case dump.StatementSet, dump.StatementSetTransactions, dump.StatementUse:
		return l.set(ctx, st, string(text), class)
	case dump.StatementUnlock:
		if l.open.locked { // only then it commits
			l.open.commit()
		}
		l.open.locked = false
		if !l.alone {
			return nil
		}
	case dump.StatementLock, dump.StatementBegin, dump.StatementCommit:
		l.open.commit()
		if class.Kind != dump.StatementCommit {
			l.open.locked = class.Kind == dump.StatementLock // BEGIN gives them up
		}
		if !l.alone { // workers would wait for the locks for ever, and see nothing of transactions
			l.open.begun = class.Kind == dump.StatementBegin || class.Chain
			return nil
		}
	case dump.StatementSavepoint:
		if !l.alone { // nobody goes back to it
			return nil
		}
	case dump.StatementRollback:
		if l.open.line > 0 {
			return &dump.Error{File: l.name, Line: st.Line, Msg: "ROLLBACK would take back what was loaded before it, which cannot be done here",
				Hint: "remove what is taken back, or load the file with ramaria sql"}
		}
		l.open.commit()
		if !l.alone {
			l.open.begun = class.Chain
			return nil
		}
	case dump.StatementKeys:
		if t := l.tables[name]; t != nil && t.shape != nil && t.shape.InnoDB {
			l.open.commit()
			return nil // means nothing to it
		}
	}
	l.open.note(class.Kind, st.Line, meant)
	if err := l.flush(ctx); err != nil { // before a setting that is refused
		return err
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	switch class.Kind {
	case dump.StatementCreateTable, dump.StatementDropTable, dump.StatementTrigger, dump.StatementKeys:
		if err := l.wait(ctx, l.tables[name]); err != nil {
			return err
		}
		if err := l.know(ctx); err != nil {
			return err
		}
		if l.facts.foreignKeyChecks && class.Kind == dump.StatementDropTable || slices.ContainsFunc(l.foreign, func(k key) bool { return k.table == name }) {
			if err := l.makeForeign(ctx); err != nil {
				return err
			}
		}
		if class.Kind == dump.StatementCreateTable || class.Kind == dump.StatementDropTable {
			there, err := l.stood(ctx, name)
			if err != nil {
				return err
			}
			stood = there || l.tables[name] != nil
			if there { // rows that are not the dump's are not to go if it fails before that
				if err := l.waitAll(ctx); err != nil {
					return err
				}
			}
		}
		if class.Kind == dump.StatementTrigger && (l.tables[name] == nil || !l.tables[name].made) {
			if err := l.waitAll(ctx); err != nil {
				return err
			}
		}
	case dump.StatementStoredObject:
		if err := l.waitToReplace(ctx, meant); err != nil {
			return err
		}
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
	err = l.primary.exec(ctx, string(text))
	if _, said := dbconn.RefusalOf(err); said && whole(class.Kind) && (busy || dbconn.LockTimeout(err)) {
		// It made something that refers to a key that is not there yet, or was simply wrong.
		if err := l.barrier(ctx); err != nil {
			return err
		}
		err = l.primary.exec(ctx, string(text))
	}
	if err != nil {
		_, err = l.yield(ctx, l.primary, setting{text: string(text), line: st.Line, last: st.Delimiter == ""}, err)
	}
	if err != nil && (whole(class.Kind) || strings.EqualFold(dump.FirstWord(meant), "alter")) {
		err = l.lenient(ctx, l.primary, string(text), err)
	}
	if err != nil && class.Kind == dump.StatementCreateTable {
		if text, err = l.repaired(ctx, text, err); err == nil {
			if shape, _ = dump.ParseTable(l.scanner.Meant(text)); shape == nil {
				class.Kind = dump.StatementOther
			}
		}
	}
	if err != nil {
		return l.because(ctx, l.refused(err, st.Line, text))
	}
	switch class.Kind {
	case dump.StatementCreateTable:
		delete(l.tables, name)
		// One that was there already is another: the server will tell.
		if l.dropped[name] || !stood || !bytes.Contains(bytes.ToLower(meant), []byte("exists")) {
			l.tables[name] = &table{name: name, shape: shape, made: true, fresh: true, ordered: usesSequence(meant)}
		}
		delete(l.dropped, name)
	case dump.StatementDropTable:
		delete(l.tables, name)
		l.dropped[name] = true
	case dump.StatementRows, dump.StatementQuery: // which may call what fills tables
		l.filled()
	case dump.StatementTrigger:
		if t := l.tables[name]; t != nil {
			t.triggers = true
		}
	case dump.StatementOther, dump.StatementUnknown:
		l.alone = l.alone || class.Kind == dump.StatementUnknown
		l.known = false
		// Whatever it was: what is known of tables may be wrong.
		clear(l.tables)
		clear(l.dropped)
		clear(l.before)
		l.current = nil
		return l.whereabouts(ctx)
	}
	return nil
}

// keepsAnswers says that a statement of a kind can put what it is answered where the dump has it; a query only shows it.
func keepsAnswers(kind dump.StatementKind) bool {
	switch kind {
	case dump.StatementRows, dump.StatementSet, dump.StatementSetTransactions, dump.StatementUnknown:
		return true
	}
	return false
}

// whole says that statements of a kind do all or nothing, so that they can be sent again.
func whole(kind dump.StatementKind) bool {
	switch kind {
	case dump.StatementCreateTable, dump.StatementDropTable, dump.StatementTrigger, dump.StatementStoredObject:
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

// set runs a statement about the session in every session.
func (l *loader) set(ctx context.Context, st *dump.Statement, text string, class dump.StatementClass) error {
	before := l.flushBatch
	if class.Kind == dump.StatementUse {
		before = l.flush // rows name their table alone
	}
	if err := before(ctx); err != nil {
		return err
	}
	own := setting{text: text, line: st.Line, last: st.Delimiter == ""}
	l.alone = l.alone || class.Kind != dump.StatementUse && len(l.sets) >= maxSets // no worker is told anything any more
	if class.Kind == dump.StatementSet && !l.alone && own.joins() {
		l.sets, l.known = append(l.sets, own), false // told with those that follow
		return nil
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	l.known = false
	if err := l.primary.exec(ctx, text); err != nil {
		rest, err := l.yield(ctx, l.primary, own, err)
		if err != nil {
			return l.refused(err, st.Line, []byte(text))
		}
		for _, one := range rest {
			if !l.alone {
				l.sets = append(l.sets, setting{text: one, line: st.Line})
			}
		}
		l.primary.told = len(l.sets)
		return nil
	}
	if class.Kind == dump.StatementUse { // workers use the last one only: it may be dropped, like those before
		l.database = class.Database
		return nil
	}
	if !l.alone {
		l.sets = append(l.sets, own)
	}
	if class.Kind == dump.StatementSetTransactions {
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
		l.sets = append(l.sets, setting{text: each, line: st.Line})
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
