package dumper

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// momentLock is for how long a dump waits for the moment at which nothing is written: meanwhile writes wait for it.
const momentLock = 10 * time.Second

// moment is one at which nothing is written.
type moment struct {
	conn *sql.Conn // nil once it has ended
}

// holdWrites has writes wait until the moment ends. A single dumper needs no moment but its own.
func (d *dirJob) holdWrites(ctx context.Context, dumpers int) (*moment, error) {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	m := &moment{conn: conn}
	if dumpers < 2 {
		return m, nil
	}
	for _, statement := range []string{fmt.Sprintf("SET SESSION lock_wait_timeout = %d", int(momentLock.Seconds())), "FLUSH TABLES WITH READ LOCK"} {
		_, err := conn.ExecContext(ctx, statement)
		if err == nil {
			continue
		}
		if dbconn.LockTimeout(err) {
			err = fmt.Errorf("a statement that has run for longer than %s kept the dumpers from beginning together: %w\nhint: %s, which takes no lock", momentLock, err, d.Again("--jobs", "1"))
		}
		return nil, errors.Join(fmt.Errorf("dump instance %s: %w", d.Name, err), m.end())
	}
	return m, nil
}

// end has writes go on.
func (m *moment) end() error {
	if m.conn == nil {
		return nil
	}
	conn := m.conn
	m.conn = nil
	_, err := conn.ExecContext(context.Background(), "UNLOCK TABLES")
	return errors.Join(err, conn.Close())
}

// definitions are sums of the columns of tables, by database.table.
type definitions map[string]sum

type sum = [sha256.Size]byte

// definitions are those of now of what is dumped, or of one table alone.
func (d *dirJob) definitions(ctx context.Context, only string) (definitions, error) {
	all := definitions{}
	for _, database := range d.Databases {
		query := "SELECT table_name, column_name, column_type, is_nullable, COALESCE(collation_name, ''), extra, COALESCE(generation_expression, '') FROM information_schema.columns WHERE table_schema = " + dbconn.Quote(strings.ReplaceAll(database, `\`, `\\`))
		if only != "" {
			query += " AND table_name = " + dbconn.Quote(strings.ReplaceAll(only, `\`, `\\`))
		}
		texts := map[string]*strings.Builder{}
		if err := dbconn.Query(ctx, d.db, query+" ORDER BY table_name, ordinal_position", func(c []string) error {
			if texts[c[0]] == nil {
				texts[c[0]] = &strings.Builder{}
			}
			fmt.Fprintf(texts[c[0]], "%q\n", c[1:])
			return nil
		}); err != nil {
			return nil, err
		}
		for name, text := range texts {
			all[database+"."+name] = sha256.Sum256([]byte(text.String()))
		}
	}
	return all, nil
}

// unchanged fails where a table is no longer what it was at the moment of the dump: its rows would not fit the schema.
func (d *dirJob) unchanged(ctx context.Context, database string, tables ...string) error {
	only := ""
	if len(tables) == 1 {
		only = tables[0]
	}
	now, err := d.definitions(ctx, only)
	if err != nil {
		return err
	}
	for _, t := range d.tables {
		full := t.database + "." + t.name
		if t.ignored || t.kind != aTable && t.kind != aVersioned || only != "" && (t.name != only || t.database != database) {
			continue
		}
		if now[full] != d.made[full] {
			return fmt.Errorf("dump instance %s: the columns of %s changed while it was dumped\nhint: %s, when what alters tables is through", d.Name, full, d.Again())
		}
	}
	return nil
}

// stillThere fails where a table is gone that had no rows to read: it may be for that.
func (d *dirJob) stillThere(ctx context.Context, tables []table) error {
	now, err := d.definitions(ctx, "")
	if err != nil {
		return err
	}
	for _, t := range tables {
		if full := t.database + "." + t.name; now[full] == (sum{}) {
			return fmt.Errorf("dump instance %s: %s was dropped while it was dumped\nhint: %s, when what drops tables is through", d.Name, full, d.Again())
		}
	}
	return nil
}
