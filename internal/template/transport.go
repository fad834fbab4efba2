package template

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Files is where a server keeps its tables. With it tables are cloned by their files, which
// on MariaDB takes half the time of INSERT ... SELECT and shares blocks where the file
// system can. Copies belong to UID and GID.
type Files struct {
	DataDir  string
	UID, GID int

	// off says that it failed once, and is not tried again.
	off atomic.Bool
}

// errTransport says that tables could not be cloned by their files: SHOW CREATE TABLE does
// not tell all that must be the same, such as a row format that was the default once.
var errTransport = errors.New("tables cannot be cloned by their files")

// leastRows is how many rows a table must have for that to be worth while.
const leastRows = 400

// plainName is a name that its files have as well; others are written in a code of the
// server's.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// transportable reports whether a table can be cloned by its one file: full-text indexes
// and partitions have more, and others lie elsewhere.
// https://mariadb.com/kb/en/innodb-file-per-table-tablespaces/
func (t *Table) transportable() bool {
	return t.Kind == Base && t.Engine == "InnoDB" && t.Rows >= leastRows && plainName.MatchString(t.Name) &&
		!strings.Contains(t.Create, "FULLTEXT") && !strings.Contains(t.Create, "PARTITION BY") && !strings.Contains(t.Create, "DIRECTORY")
}

// transport fills empty tables of the database name from the template's files, and returns
// those that must be filled in another way.
func (s *Shape) transport(ctx context.Context, conn *sql.Conn, name string, tables []string, f *Files) (rest []string, err error) {
	var list []string
	for _, table := range tables {
		if f != nil && !f.off.Load() && plainName.MatchString(name) && plainName.MatchString(s.Name) && s.Table(table).transportable() {
			list = append(list, table)
		} else {
			rest = append(rest, table)
		}
	}
	if len(list) == 0 {
		return rest, nil
	}
	each := func(words, database, end string) string {
		var b strings.Builder
		for _, table := range list {
			b.WriteString(words + server.QuoteName(database) + "." + server.QuoteName(table) + end)
		}
		return b.String()
	}
	// All in as few round trips as there are: the template is locked from the export on.
	if _, err := conn.ExecContext(ctx, each("ALTER TABLE ", name, " DISCARD TABLESPACE; ")+
		"FLUSH TABLES "+strings.TrimPrefix(each(", ", s.Name, ""), ", ")+" FOR EXPORT"); err != nil {
		return nil, errors.Join(errTransport, err, unlock(ctx, conn))
	}
	for _, table := range list {
		for _, suffix := range []string{".ibd", ".cfg"} {
			if err = f.copy(ctx, s.Name, name, table+suffix); err != nil {
				return nil, errors.Join(errTransport, err, unlock(ctx, conn))
			}
		}
	}
	if _, err := conn.ExecContext(ctx, "UNLOCK TABLES; "+each("ALTER TABLE ", name, " IMPORT TABLESPACE; ")); err != nil {
		return nil, errors.Join(errTransport, err)
	}
	return rest, nil
}

func unlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES")
	return err
}

// copy copies a table's file from one database to another.
func (f *Files) copy(ctx context.Context, from, to, file string) error {
	src, dst := filepath.Join(f.DataDir, from, file), filepath.Join(f.DataDir, to, file)
	if fi, err := os.Lstat(src); err != nil || !fi.Mode().IsRegular() {
		return fmt.Errorf("copy table: %s is no file (%w)", src, err)
	}
	if err := sys.CopyFile(ctx, src, dst); err != nil {
		return fmt.Errorf("copy table: %w", err)
	}
	if os.Geteuid() == 0 {
		if err := os.Lchown(dst, f.UID, f.GID); err != nil {
			return fmt.Errorf("copy table: %w", err)
		}
	}
	return nil
}
