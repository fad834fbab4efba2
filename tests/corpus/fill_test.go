package corpus

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// filledRows is how many rows an empty table gets.
const filledRows = 4

// words are what text columns get: quotes, backslashes, line ends, scripts, what looks like SQL.
var words = []string{"it's", `back\slash`, "two\nlines", "naïve 日本 🎉", `"quoted"; -- no`, "tab\there", "%_`", "0"}

// column is a column of a table that takes values.
type column struct {
	name, kind, whole string
	length            int
}

// fill gives rows to the tables that have none. What a server refuses is left out: a row that a
// check or a unique key does not take.
func fill(ctx context.Context, at *stand, database string) error {
	return at.within(ctx, database, func(conn *sql.Conn) error { return fillTables(ctx, conn, database) })
}

func fillTables(ctx context.Context, conn *sql.Conn, database string) error {
	if _, err := conn.ExecContext(ctx, "SET foreign_key_checks=0, unique_checks=0, time_zone='+00:00', sql_mode='NO_AUTO_VALUE_ON_ZERO'"); err != nil {
		return err
	}
	l := picture.NewLooker(ctx, conn, database)
	tables := l.Ask("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA='" + database + "' AND TABLE_TYPE='BASE TABLE' ORDER BY 1").Rows
	for _, row := range tables {
		if len(l.Ask("SELECT 1 FROM "+dbconn.QuoteName(row[0])+" LIMIT 1").Rows) == 0 {
			if err := fillTable(ctx, conn, l, database, row[0]); err != nil {
				return err
			}
		}
	}
	return l.Err()
}

func fillTable(ctx context.Context, conn *sql.Conn, l *picture.Looker, database, table string) error {
	rows := l.Ask("SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(CHARACTER_MAXIMUM_LENGTH, 0) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='" + database +
		"' AND TABLE_NAME='" + strings.ReplaceAll(table, "'", "''") + "' AND EXTRA NOT LIKE '%GENERATED%' ORDER BY ORDINAL_POSITION").Rows
	var columns []column
	for _, row := range rows {
		if len(row) == 4 {
			c := column{name: row[0], kind: strings.ToLower(row[1]), whole: row[2]}
			c.length, _ = strconv.Atoi(row[3]) // a number; the longest are too large, and take all
			columns = append(columns, c)
		}
	}
	for i := range filledRows {
		var names, values []string
		for j, c := range columns {
			names = append(names, dbconn.QuoteName(c.name))
			values = append(values, c.value(i, j))
		}
		text := "INSERT IGNORE INTO " + dbconn.QuoteName(table) + " (" + strings.Join(names, ",") + ") VALUES (" + strings.Join(values, ",") + ")"
		if _, err := conn.ExecContext(ctx, text); err != nil && picture.Number(err) == 0 {
			return fmt.Errorf("fill %s: %w", table, err)
		}
	}
	return l.Err()
}

// value is an expression for row i of column j.
func (c column) value(i, j int) string {
	switch c.kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year":
		return fmt.Sprint(i + 1)
	case "bit":
		return fmt.Sprintf("b'%b'", i%2)
	case "date":
		return fmt.Sprintf("'2024-02-%02d'", 26+i)
	case "datetime", "timestamp":
		return fmt.Sprintf("'2024-02-%02d 03:04:05'", 26+i)
	case "time":
		return fmt.Sprintf("'0%d:59:59'", i)
	case "json":
		return fmt.Sprintf(`'{"n": %d, "s": "it''s"}'`, i)
	case "enum", "set":
		options := strings.Split(strings.TrimSuffix(c.whole[strings.Index(c.whole, "(")+1:], ")"), ",")
		return options[i%len(options)]
	case "uuid":
		return fmt.Sprintf("'00000000-0000-1000-8000-%012d'", i+1)
	case "inet4":
		return fmt.Sprintf("'10.0.0.%d'", i)
	case "inet6":
		return fmt.Sprintf("'fe80::%d'", i)
	case "geometry", "point":
		return fmt.Sprintf("ST_GeomFromText('POINT(%d %d)')", i, i)
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return c.cut(fmt.Sprintf("%d%s", i, words[(i+j)%len(words)]))
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return fmt.Sprintf("LEFT(X'%02X00FF275C0A0D1A22%02X', %d)", i, j%256, c.length)
	}
	return "NULL"
}

// cut is a text as a literal, as long as the column takes.
func (c column) cut(text string) string {
	if r := []rune(text); len(r) > c.length {
		text = string(r[:c.length])
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
}
