package xa

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// trial does groups of the log once more, to see which of them the data has.
type trial struct {
	*settling
	tables map[string]*table
	// stays says that what could be done is committed; else it is taken back.
	stays bool
}

// table is one that groups change.
type table struct {
	// undone says that what is done there can be taken back: it is of InnoDB, and no sequence.
	undone bool
	// keyed says that it has a key by which each row is found, and no other is touched.
	keyed bool
	// hash is an expression for a row.
	hash string
	// waiting are rows that prepared transactions have inserted, by their hashes; nil before it was looked for.
	waiting map[string]int
}

// waits reports whether prepared transactions have rows in it that no group has taken.
func (t *table) waits() bool {
	for _, n := range t.waiting {
		if n > 0 {
			return true
		}
	}
	return false
}

// verdict is what doing a group once more tells.
type verdict uint8

const (
	// done: it could be done, which tells nothing of inserted rows that no key identifies.
	done verdict = iota
	// locked: a prepared transaction has its rows, so it was not committed.
	locked
	// there: the data has it.
	there
)

// lost returns those groups that were not committed.
func (t *trial) lost(ctx context.Context, groups []*group) (lost []*group, err error) {
	for _, g := range groups {
		is, err := t.do(ctx, g)
		if err != nil {
			return nil, fmt.Errorf("look for the transaction at %s: %w", g, err)
		}
		if is == locked {
			lost = append(lost, g)
		}
	}
	return lost, nil
}

// do does a group. What cannot be done by rows alone counts as there.
func (t *trial) do(ctx context.Context, g *group) (is verdict, err error) {
	format, statements, err := binlog.RowStatements(g.path, g.Group)
	var other *binlog.NotUnderstoodError
	if errors.As(err, &other) {
		return there, nil
	}
	if err != nil {
		return is, err
	}
	err = t.unlogged(ctx, func(conn *sql.Conn) error {
		for _, text := range []string{
			"SET SESSION innodb_lock_wait_timeout = 0, tx_isolation = 'READ-COMMITTED'", "BINLOG '" + string(format.Base64()) + "'", "START TRANSACTION",
		} {
			if _, err := conn.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		for _, statement := range statements {
			if is, err = t.statement(ctx, conn, g, statement); err != nil || is != done {
				break
			}
		}
		if err == nil && is == done && !t.stays {
			is, err = t.waits(ctx, conn, g, statements)
		}
		if err != nil {
			return err
		}
		if is == done {
			return exec(ctx, conn, "COMMIT")
		}
		return exec(ctx, conn, "ROLLBACK")
	})
	return is, err
}

// statement does a statement of a group.
func (t *trial) statement(ctx context.Context, conn *sql.Conn, g *group, s binlog.RowStatement) (verdict, error) {
	keyed := true
	for _, m := range s.Tables {
		about, err := t.about(ctx, m)
		if err != nil {
			return done, err
		}
		if !about.undone && !t.stays {
			return done, nil
		}
		keyed = keyed && about.keyed
	}
	_, err := conn.ExecContext(ctx, "BINLOG '"+string(s.Text)+"'")
	switch {
	case dbconn.WaitedForLock(err):
		g.sure = g.sure && keyed
		return locked, nil
	case dbconn.OtherRows(err):
		return there, nil
	case dbconn.Refused(err) && !t.stays: // as for rows that the table was altered since not to take: it was not locked then
		return there, nil
	}
	return done, err
}

// waits tells of a group that could be done, and is so in a session, whether prepared transactions have its rows: that is
// so if they have as many of the kind, in all tables that have no key. Of two groups with the same rows, the first is taken.
func (t *trial) waits(ctx context.Context, conn *sql.Conn, g *group, statements []binlog.RowStatement) (verdict, error) {
	g.keyless, g.sure = true, false
	adds := map[string]map[string]int{}
	for _, s := range statements {
		for _, m := range s.Tables {
			about := t.tables[m.Name()]
			if !s.Inserts || !about.undone || about.keyed || adds[m.Name()] != nil {
				continue
			}
			if about.waiting != nil && !about.waits() {
				return there, nil
			}
			rows, err := t.rows(ctx, conn, m, about)
			if err != nil {
				return there, err
			}
			adds[m.Name()] = rows
		}
	}
	for name, rows := range adds {
		for hash, n := range rows {
			if t.tables[name].waiting[hash] < n {
				return there, nil
			}
		}
	}
	for name, rows := range adds {
		for hash, n := range rows {
			t.tables[name].waiting[hash] -= n
		}
	}
	if len(adds) == 0 { // of those that have one, nobody has the rows
		return there, nil
	}
	return locked, nil
}

// rows are those that a session has inserted into a table.
func (t *trial) rows(ctx context.Context, conn *sql.Conn, m *binlog.TableMap, about *table) (rows map[string]int, err error) {
	err = t.unlogged(ctx, func(committed *sql.Conn) (err error) {
		if err := exec(ctx, committed, "SET SESSION tx_isolation = 'READ-COMMITTED'"); err != nil {
			return err
		}
		rows, err = more(ctx, conn, committed, m, about)
		return err
	})
	if err != nil || about.waiting != nil {
		return rows, err
	}
	err = t.unlogged(ctx, func(all *sql.Conn) (err error) {
		if err := exec(ctx, all, "SET SESSION tx_isolation = 'READ-UNCOMMITTED'"); err != nil {
			return err
		}
		about.waiting, err = more(ctx, all, conn, m, about)
		return err
	})
	return rows, err
}

// more is how many rows of each kind a session sees that another does not.
func more(ctx context.Context, a, b *sql.Conn, m *binlog.TableMap, about *table) (_ map[string]int, err error) {
	query := fmt.Sprintf("SELECT %s AS h, COUNT(*) FROM %s.%s GROUP BY h ORDER BY h", about.hash, dbconn.QuoteName(m.Schema), dbconn.QuoteName(m.Table)) // #nosec G201 -- names are quoted
	x, err := a.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	y, err := b.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	list := map[string]int{}
	var of string
	var others int
	for x.Next() {
		var hash string
		var n int
		if err := x.Scan(&hash, &n); err != nil {
			return nil, err
		}
		for of < hash && y.Next() {
			if err := y.Scan(&of, &others); err != nil {
				return nil, err
			}
		}
		if of == hash {
			n -= others
		}
		if n > 0 {
			list[hash] = n
		}
	}
	return list, errors.Join(x.Err(), y.Err())
}

// about is what there is to know of a table.
func (t *trial) about(ctx context.Context, m *binlog.TableMap) (*table, error) {
	if about := t.tables[m.Name()]; about != nil {
		return about, nil
	}
	about := &table{}
	where := " WHERE table_schema = " + dbconn.Quote(m.Schema) + " AND table_name = " + dbconn.Quote(m.Table)
	err := t.db.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM information_schema.tables"+where+" AND engine = 'InnoDB' AND table_type <> 'SEQUENCE'").Scan(&about.undone)
	if err != nil {
		return nil, err
	}
	if err := t.db.QueryRowContext(ctx, "SELECT COUNT(*) > 0 FROM (SELECT 1 FROM information_schema.statistics"+where+
		" AND non_unique = 0 GROUP BY index_name HAVING SUM(nullable = 'YES') = 0) k").Scan(&about.keyed); err != nil {
		return nil, err
	}
	var columns []string
	if err := dbconn.Query(ctx, t.db, "SELECT column_name, data_type FROM information_schema.columns"+where+" ORDER BY ordinal_position", func(c []string) error {
		value := dbconn.QuoteName(c[0])
		switch c[1] {
		case "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection":
			value = "ST_AsBinary(" + value + ")"
		}
		columns = append(columns, "IFNULL(MD5("+value+"), '')")
		return nil
	}); err != nil {
		return nil, err
	}
	about.hash = "MD5(CONCAT_WS(',', " + strings.Join(columns, ", ") + "))"
	t.tables[m.Name()] = about
	return about, nil
}
