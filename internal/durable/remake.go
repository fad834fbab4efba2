package durable

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// MariaDB logs CREATE TABLE ... SELECT as a transaction: the statement, and the rows. When it recovers, it asks of every
// statement in its DDL log whether the binary log has it, and looks for statements alone. So it drops a table of which the
// log has all, if that statement had not ended: it waited for the acknowledgement, or was about to answer. What is logged
// behind it goes on from a table that is not there.

// madeTable is such a statement of the log, the last that names its table.
type madeTable struct {
	path          string
	group         binlog.Group
	query         *binlog.Query
	schema, table string
	// engine is the table's, as the DDL log has it.
	engine string
}

// remake makes those tables again, of which it returns the names, as the log of a data directory has them up to the file
// of a number, whose server has recovered and logs nothing of it. First it removes what that left of others.
func (s *Snapshot) remake(ctx context.Context, db *sql.DB, last uint32) (names []string, err error) {
	if s.Instance.Server.Flavour != server.MariaDB {
		return nil, nil
	}
	if err := s.dropHalfMade(ctx, db); err != nil {
		return nil, err
	}
	undone, err := readPrivate(s.DataDir, ddlLog)
	if err != nil || undone == nil {
		return nil, err
	}
	made, err := s.madeTables(last)
	if err != nil {
		return nil, err
	}
	for _, m := range made {
		var there bool
		if m.engine, there = undoneEngine(undone, m.schema, m.table); !there {
			continue
		}
		name := dbconn.QuoteName(m.schema) + "." + dbconn.QuoteName(m.table)
		if missing, err := isMissing(ctx, db, m); err != nil || !missing {
			if err != nil {
				return names, fmt.Errorf("look for table %s: %w", name, err)
			}
			continue
		}
		if err := m.remake(ctx, db); err != nil {
			return names, fmt.Errorf("make table %s again, which the log has made: %w", name, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// ddlLog is what a server of MariaDB has kept of its DDL log when it recovered.
const ddlLog = "ddl_recovery-backup.log"

// readPrivate reads a file of a data directory, nil if it is not there.
func readPrivate(dir, name string) (b []byte, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	b, err = root.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = nil, nil
	}
	return b, errors.Join(err, root.Close())
}

// undoneEngine finds a table in such a log, and its engine: three strings stand there one after the other, each behind its
// length and before a zero byte.
func undoneEngine(log []byte, schema, table string) (engine string, there bool) {
	names := append(ddlString(schema), ddlString(table)...)
	for from := 0; ; {
		at := bytes.Index(log[from:], names)
		if at < 0 {
			return "", false
		}
		at += from
		if m := engineBefore.FindSubmatch(log[max(0, at-longestEngine):at]); len(m) == 3 && int(binary.LittleEndian.Uint16(m[1])) == len(m[2]) {
			return string(m[2]), true
		}
		from = at + 1
	}
}

// longestEngine is how long what is before the names may be, in bytes.
const longestEngine = 68

var engineBefore = regexp.MustCompile(`(?s)([\x01-\x40]\x00)([A-Za-z0-9_]{1,64})\x00$`)

func ddlString(text string) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(len(text))) // #nosec G115 -- a name
	return append(append(b, text...), 0)
}

// madeTables are the tables that the log makes by such statements and does not name in a later one.
func (s *Snapshot) madeTables(last uint32) (list []*madeTable, err error) {
	files, err := s.logFiles()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.number > last {
			break
		}
		if _, err := binlog.ScanMade(f.path, func(q *binlog.Query, g binlog.Group) error {
			schema, table, ok := tableMade(q)
			if !ok {
				return nil
			}
			list = slices.DeleteFunc(list, func(m *madeTable) bool { return m.schema == schema && m.table == table })
			list = append(list, &madeTable{path: f.path, group: g, query: q, schema: schema, table: table})
			return nil
		}, func(q *binlog.Query, _ binlog.Group) error {
			list = slices.DeleteFunc(list, func(m *madeTable) bool { return m.namedIn(q.SQL, q.Schema) })
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// namedIn reports whether a statement may be about the table or its database.
func (m *madeTable) namedIn(text []byte, schema string) bool {
	text = bytes.ToLower(text)
	if hasWord(text, m.schema) {
		return dropsSchema.Match(text) || hasWord(text, m.table)
	}
	return schema == m.schema && hasWord(text, m.table)
}

// hasWord reports whether a name stands in a text of small letters, and is not a part of another.
func hasWord(text []byte, name string) bool {
	word := []byte(strings.ToLower(name))
	within := func(at int) bool {
		if at < 0 || at >= len(text) {
			return false
		}
		c := text[at]
		return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
	}
	for from := 0; ; from++ {
		at := bytes.Index(text[from:], word)
		if at < 0 {
			return false
		}
		if from += at; !within(from-1) && !within(from+len(word)) {
			return true
		}
	}
}

var dropsSchema = regexp.MustCompile(`\b(?:database|schema)\b`)

// tableMade is the name of the table that such a statement makes, as the server writes it.
func tableMade(q *binlog.Query) (schema, table string, ok bool) {
	m := makesTable.FindSubmatch(q.SQL)
	if m == nil {
		return "", "", false
	}
	if schema = q.Schema; len(m[1]) > 0 {
		schema = unquoted(m[1])
	}
	return schema, unquoted(m[2]), true
}

const quotedName = "(`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[^\\s`\".(]+)"

var makesTable = regexp.MustCompile(`(?is)^CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:` + quotedName + `\.)?` + quotedName)

func unquoted(name []byte) string {
	text := string(name)
	if q := text[:1]; q == "`" || q == `"` {
		return strings.ReplaceAll(text[1:len(text)-1], q+q, q)
	}
	return text
}

// isMissing reports whether a table is not there, and its database is.
func isMissing(ctx context.Context, db *sql.DB, m *madeTable) (missing bool, err error) {
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM information_schema.schemata WHERE schema_name = ?)
		AND NOT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?)`, m.schema, m.schema, m.table).Scan(&missing)
	return missing, err
}

// remake does the statement, and what it did to rows.
func (m *madeTable) remake(ctx context.Context, db *sql.DB) error {
	return asLogged(ctx, db, m.query, func(conn *sql.Conn) error {
		if m.engine != partitioned {
			if err := dbconn.ExecAll(ctx, conn, "SET SESSION default_storage_engine = "+m.engine); err != nil {
				return err
			}
		}
		if _, err := conn.ExecContext(ctx, string(m.query.SQL)); err != nil {
			return err
		}
		err := binlog.MadeRows(m.path, m.group, func(text []byte) error {
			_, err := conn.ExecContext(ctx, "BINLOG '"+string(text)+"'")
			return err
		})
		if err != nil { // then it is made another time, when there is all of it
			_, dropped := conn.ExecContext(context.WithoutCancel(ctx), "DROP TABLE "+dbconn.QuoteName(m.schema)+"."+dbconn.QuoteName(m.table))
			err = errors.Join(err, dropped)
		}
		return err
	})
}

// partitioned is what the DDL log calls the engine of a table of partitions, which the statement names.
const partitioned = "partition"
