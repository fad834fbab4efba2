package engines

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
)

// engineWork is what is done with the table of every engine.
type engineWork struct {
	name string
	// query asks, of the table that is put in place of %s; "" does something else.
	query string
	do    func(e *engine, ctx context.Context) (time.Duration, string, error)
}

const (
	engineLimit = 100     // of workOrder
	engineMost  = 990_000 // that the largest value of a group is above in workHaving
)

var workLookUp = fmt.Sprintf("%d lookups by key", engineLookups)

// Names of the works.
const (
	workGroup  = "count, group by"
	workOrder  = "order by, limit"
	workHaving = "having"
	workInsert = "insert all rows"
)

var engineWorks = []engineWork{
	{name: workGroup, query: "SELECT grp, COUNT(*), SUM(val) FROM %s GROUP BY grp ORDER BY grp"},
	{name: workOrder, query: "SELECT id, val, name FROM %s ORDER BY val, id LIMIT " + fmt.Sprint(engineLimit)},
	{name: workHaving, query: "SELECT grp, MAX(val) AS most, MIN(name) FROM %s GROUP BY grp HAVING most > " + fmt.Sprint(engineMost) + " ORDER BY grp"},
	{name: workLookUp, do: (*engine).lookUp},
	{name: workInsert, do: (*engine).insert},
}

// lookUp reads rows one by one by the key, prepared once.
func (e *engine) lookUp(ctx context.Context) (time.Duration, string, error) {
	find, err := e.conn.PrepareContext(ctx, fmt.Sprintf("SELECT val, name FROM %s WHERE id = ?", e.table()))
	if err != nil {
		return 0, "", err
	}
	defer find.Close() //nolint:errcheck // the connection forgets it at the latest
	sum := sha256.New()
	began := time.Now()
	for i := range engineLookups {
		var val int
		var name string
		if err := find.QueryRowContext(ctx, lookedUp(i, e.engines.rows)).Scan(&val, &name); err != nil {
			return 0, "", err
		}
		fmt.Fprintln(sum, val, name)
	}
	return time.Since(began), hex.EncodeToString(sum.Sum(nil)), nil
}

// lookedUp is the row of the i-th lookup: a prime steps through all of them in no order.
func lookedUp(i, rows int) int { return 1 + i*7919%rows }

// insert puts all rows into an empty table, by one statement: it is the engine that takes the
// time, and not the client.
func (e *engine) insert(ctx context.Context) (time.Duration, string, error) {
	table := e.table() + "_new"
	if err := e.create(ctx, table); err != nil {
		return 0, "", err
	}
	began := time.Now()
	if err := lab.ExecAll(ctx, e.conn, fmt.Sprintf("INSERT INTO %s SELECT * FROM %s.story", table, engineDatabase)); err != nil {
		return 0, "", err
	}
	took := time.Since(began)
	answer, err := digest(ctx, e.conn, fmt.Sprintf("SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', id, grp, val, name))) FROM %s", table))
	if err != nil {
		return 0, "", err
	}
	return took, answer, lab.ExecAll(ctx, e.conn, "DROP TABLE "+table)
}

// digest is a checksum of an answer, row by row.
func digest(ctx context.Context, conn *sql.Conn, query string) (string, error) {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return "", fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	sum := newDigest()
	row := make([]any, len(columns))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		for i, v := range values {
			row[i] = string(v)
		}
		sum.add(row...)
	}
	return sum.String(), rows.Err()
}
