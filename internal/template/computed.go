package template

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// by is what makes a value depend on the session that computes it: on its time zone, on how its sql_mode has fractions of
// seconds rounded (TIME_TRUNCATE_FRACTIONAL), or texts padded (PAD_CHAR_TO_FULL_LENGTH); MariaDB takes no column that depends on these.
var by = regexp.MustCompile(`(?i)time|to_date|cast|convert|\bchar\(`)

// CheckComputed returns an error, which is ErrUnclonable, if a stored computed column has other
// values than a clone would compute: those who wrote the rows had another time zone, or sql_mode. Only a copy
// tells for certain, and only tables that by fits are copied, once, for a moment.
func (s *Shape) CheckComputed(ctx context.Context, conn *sql.Conn) error {
	for i := range s.Tables {
		t := &s.Tables[i]
		for _, c := range t.Columns {
			if !c.Stored || t.Kind != Base || !by.MatchString(t.Create) {
				continue
			}
			same, err := s.computesSame(ctx, conn, t, c)
			if err != nil {
				return fmt.Errorf("compute column %s of %s again: %w", c.Name, t.Name, err)
			}
			if !same {
				return fmt.Errorf("%w: table %s: its column %s was computed in another time zone or sql_mode than the server's, in which clones compute it\n"+
					"hint: load the rows with SET time_zone = 'SYSTEM', sql_mode = @@GLOBAL.sql_mode and without PAD_CHAR_TO_FULL_LENGTH, or make the column VIRTUAL", ErrUnclonable, t.Name, c.Name)
			}
		}
	}
	return nil
}

// computesSame reports whether a column has the same values in a copy.
func (s *Shape) computesSame(ctx context.Context, conn *sql.Conn, t *Table, c Column) (same bool, err error) {
	const copied = "ramaria_computed"
	own, copyOf := dbconn.QuoteName(s.Name)+"."+dbconn.QuoteName(t.Name), dbconn.QuoteName(s.Name)+"."+dbconn.QuoteName(copied)
	drop := "DROP TEMPORARY TABLE IF EXISTS " + copyOf // #nosec G202 -- names are quoted, here and below
	defer func() {
		_, dropped := conn.ExecContext(context.WithoutCancel(ctx), drop)
		err = errors.Join(err, dropped)
	}()
	list, _ := t.given()
	columns := strings.Join(list, ",")
	fill := []string{"INSERT INTO " + copyOf + " (" + columns + ") SELECT " + columns + " FROM " + own}
	if list == nil {
		fill = fillComputed(copyOf, t.Count)
	}
	if _, err := conn.ExecContext(ctx, drop+"; CREATE TEMPORARY TABLE "+copyOf+" LIKE "+own); err != nil {
		if ctx.Err() != nil {
			return false, err
		}
		return true, nil // with partitions or a full-text index there is no such copy, and it is not known
	}
	if err := dbconn.ExecAll(ctx, conn, fill...); err != nil {
		return false, err
	}
	var sums [2]string
	for i, table := range []string{own, copyOf} {
		query := "SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(CRC32(HEX(" + dbconn.QuoteName(c.Name) + "))), 0)) FROM " + table
		if err := conn.QueryRowContext(ctx, query).Scan(&sums[i]); err != nil {
			return false, err
		}
	}
	return sums[0] == sums[1], nil
}
