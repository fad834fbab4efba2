package reset

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

// few is how many tables are asked for their counters one by one at most: that takes 20 us a
// table, and information_schema 110 and 2 a table, since it makes a temporary table each time.
//
// On MySQL all are (2 ms for 100 tables instead of 1): of a table that the server has forgotten,
// since it knows more than table_definition_cache says, information_schema tells the number that
// was given last for the one that comes next, until a connection opens the table.
const few = 6

// askCounters asks for AUTO_INCREMENT of the tables of a database that have it above 1. The
// question is an error if tables of the shape are not there and they are asked one by one.
func askCounters(srv *server.Server, name string, shape *template.Shape, into map[string]uint64) []dbconn.Question {
	tables := shape.Counted()
	if len(tables) > few && !srv.HidesCounters() {
		return []dbconn.Question{askAllCounters(name, into)}
	}
	return askEachCounter(name, tables, into)
}

// askEachCounter asks for those of the given tables one by one.
func askEachCounter(name string, tables []string, into map[string]uint64) []dbconn.Question {
	var list []dbconn.Question
	for _, table := range tables {
		list = append(list, dbconn.Question{
			Text: "SHOW CREATE TABLE " + dbconn.QuoteName(name) + "." + dbconn.QuoteName(table),
			Row: func(rows *sql.Rows) error {
				var same, create string
				if err := rows.Scan(&same, &create); err != nil {
					return err
				}
				n, err := template.CounterOf(create)
				if n > 1 {
					into[table] = n
				}
				return err
			},
		})
	}
	return list
}

// askAllCounters asks for them of whatever tables there are.
func askAllCounters(name string, into map[string]uint64) dbconn.Question {
	return dbconn.Question{
		Text: "SELECT table_name, auto_increment FROM information_schema.tables WHERE table_schema = " + dbconn.Quote(name) + " AND auto_increment > 1",
		Row: func(rows *sql.Rows) error {
			var table string
			var n uint64
			if err := rows.Scan(&table, &n); err != nil {
				return err
			}
			into[table] = n
			return nil
		},
	}
}

// counters returns the counters of a database whose tables are those of its shape.
func (s *Session) counters(ctx context.Context, name string, shape *template.Shape) (map[string]uint64, error) {
	list := map[string]uint64{}
	if err := dbconn.Ask(ctx, s.Conn, askCounters(s.server, name, shape, list)...); err != nil {
		return nil, fmt.Errorf("ask for counters: %w", err)
	}
	return list, nil
}

// moved returns what the counters of a database must be set to that are others than they were,
// by table.
func moved(want, have map[string]uint64) map[string]uint64 {
	list := map[string]uint64{}
	for table, n := range have {
		if was, known := want[table]; !known {
			list[table] = 1
		} else if was != n {
			list[table] = was
		}
	}
	for table, n := range want {
		if _, known := have[table]; !known {
			list[table] = n
		}
	}
	return list
}

// setting returns the statements that set counters of a database.
func (r *Engine) setting(ctx context.Context, s *Session, name string, counters map[string]uint64) []string {
	if len(counters) == 0 {
		return nil
	}
	list, after := r.sampling.around(ctx, s)
	for table, n := range counters {
		list = append(list, fmt.Sprintf("ALTER TABLE %s.%s AUTO_INCREMENT = %d", dbconn.QuoteName(name), dbconn.QuoteName(table), n))
	}
	return append(list, after...)
}

// restore carries out what setting returned.
func (s *Session) restore(ctx context.Context, statements []string) error {
	for _, lot := range dbconn.Lots(statements) {
		if err := s.exec(ctx, strings.Join(lot, ";")); err != nil {
			return fmt.Errorf("put counters back: %w", err)
		}
	}
	return nil
}

// reopen makes the server reopen tables at their next use, so that counters show that it
// hides (see server.HidesCounters). To use a table is not enough: a session takes one that is open
// already, unless another does that now.
func (s *Session) reopen(ctx context.Context, name string, tables []string) error {
	list := make([]string, len(tables))
	for i, table := range tables {
		list[i] = dbconn.QuoteName(name) + "." + dbconn.QuoteName(table)
	}
	for _, lot := range dbconn.Lots(list) {
		if err := s.exec(ctx, "FLUSH LOCAL TABLES "+strings.Join(lot, ", ")); err != nil {
			return fmt.Errorf("reopen tables: %w", err)
		}
	}
	return nil
}

// settle puts back the counters of a database that show only now, after the given tables were
// altered or made again: MySQL reopens the tables that a foreign key ties to them, and finds
// in the dictionary what an insert that failed left there (see server.HidesCounters). Some it opens
// at once and others when it comes to that, so all of them are opened here.
func (r *Engine) settle(ctx context.Context, s *Session, d *Database, altered map[string]uint64) error {
	set := map[string]bool{}
	for len(altered) > 0 {
		tied := map[string]bool{}
		for _, k := range d.Shape.Keys {
			for a, b := range map[string]string{k.Child: k.Parent, k.Parent: k.Child} {
				if _, was := altered[a]; was && a != b {
					tied[b] = true
				}
			}
		}
		// No other counter can show by that.
		counted := slices.DeleteFunc(d.Shape.Counted(), func(table string) bool { return !tied[table] })
		if len(counted) == 0 {
			return nil
		}
		if err := s.reopen(ctx, d.Name, counted); err != nil {
			return err
		}
		want, have := map[string]uint64{}, map[string]uint64{}
		for _, table := range counted {
			if n, known := d.Counters[table]; known {
				want[table] = n
			}
		}
		if err := dbconn.Ask(ctx, s.Conn, askEachCounter(d.Name, counted, have)...); err != nil {
			return fmt.Errorf("ask for counters: %w", err)
		}
		altered = moved(want, have)
		for table := range altered {
			if set[table] { // another connection inserts, and no ALTER goes below that
				return fmt.Errorf("put counters back: that of %s moves", table)
			}
			set[table] = true
		}
		if err := s.restore(ctx, r.setting(ctx, s, d.Name, altered)); err != nil {
			return err
		}
	}
	return nil
}
