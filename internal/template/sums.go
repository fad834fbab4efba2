package template

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// Sums are checksums of the rows of a template's tables, by which it can be told later whether
// they are still the same. They may be used by several goroutines.
type Sums struct {
	mu   sync.Mutex
	list map[string]string // nil until they are known
}

// Known returns the checksums by table, nil if they are not known yet.
func (s *Sums) Known() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Set makes them known.
func (s *Sums) Set(list map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

// Checksums reads every row of the tables of s that wanted names, and returns a checksum of each.
func (s *Shape) Checksums(ctx context.Context, conn *sql.Conn, wanted func(table string) bool) (map[string]string, error) {
	list := map[string]string{}
	var plain []string
	for i := range s.Tables {
		t := &s.Tables[i]
		switch {
		case !wanted(t.Name), t.Kind == Sequence: // where a sequence stands is its State
		case slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Generated }), t.keyOfExpression():
			// Of computed columns MariaDB's CHECKSUM is not always the same, and MySQL's not of the
			// hidden one of a key on the elements of JSON arrays.
			var sum string
			if err := conn.QueryRowContext(ctx, s.checksum(t)).Scan(&sum); err != nil {
				return nil, fmt.Errorf("read rows of %s.%s: %w", s.Name, t.Name, err)
			}
			list[t.Name] = sum
		default:
			plain = append(plain, dbconn.QuoteName(s.Name)+"."+dbconn.QuoteName(t.Name))
		}
	}
	for _, lot := range dbconn.Lots(plain) {
		if err := s.sumsOf(ctx, conn, lot, list); err != nil {
			return nil, fmt.Errorf("read rows of %s: %w", s.Name, err)
		}
	}
	return list, nil
}

// sumsOf adds the checksums that the server itself makes, of tables with their database.
func (s *Shape) sumsOf(ctx context.Context, conn *sql.Conn, tables []string, list map[string]string) error {
	rows, err := conn.QueryContext(ctx, "CHECKSUM TABLE "+strings.Join(tables, ", "))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var sum sql.NullString
		if err := rows.Scan(&name, &sum); err != nil {
			return err
		}
		if !sum.Valid { // it is gone, or cannot be read: a warning says why
			continue
		}
		list[strings.TrimPrefix(name, s.Name+".")] = sum.String
	}
	return rows.Err()
}

// keyOfExpression reports whether a key of t is on an expression, which is a hidden column; it may
// also be one with parentheses in a name.
func (t *Table) keyOfExpression() bool {
	return slices.ContainsFunc(strings.Split(t.Create, "\n"), func(line string) bool {
		line = strings.TrimPrefix(strings.TrimSpace(line), "UNIQUE ")
		return strings.HasPrefix(line, "KEY ") && (strings.Contains(line, " ((") || strings.Contains(line, ",("))
	})
}

// checksum is the question for a checksum of what is stored in a table with computed columns.
func (s *Shape) checksum(t *Table) string {
	parts := []string{"COUNT(*)"}
	var stored []string
	for _, c := range t.Columns {
		if !c.Generated {
			stored = append(stored, "IFNULL(CAST("+dbconn.QuoteName(c.Name)+" AS BINARY), x'00')")
		}
	}
	if len(stored) > 0 {
		parts = append(parts, "IFNULL(SUM(CRC32(CONCAT_WS(x'01', "+strings.Join(stored, ", ")+"))), 0)")
	}
	return "SELECT CONCAT_WS(' ', " + strings.Join(parts, ", ") + ") FROM " + dbconn.QuoteName(s.Name) + "." + dbconn.QuoteName(t.Name)
}
