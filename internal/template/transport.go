package template

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Files is where a server keeps its tables. With it tables of at least Rows rows are cloned by their
// files, which takes less time than INSERT ... SELECT. Copies belong to UID and GID.
type Files struct {
	DataDir  string
	UID, GID int
	Rows     int64

	// off says that it failed once, and is not tried again.
	off atomic.Bool

	look  sync.Once
	small int64 // what apart returns

	// export is held while the template's tables are: two sessions that export the same wait for
	// each other in the server, which looks like another connection's lock.
	export sync.Mutex

	// copied, of a test, is called when the copies are there and not imported yet.
	copied func()
}

// errTransport says that tables could not be cloned by their files: SHOW CREATE TABLE does
// not tell all that must be the same, such as a row format that was the default once.
var errTransport = errors.New("tables cannot be cloned by their files")

// plainName is a name that its files have as well; others are written in a code of the
// server's.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// transportable reports whether a table can be cloned by its one file: full-text and
// vector indexes and partitions have more, others lie elsewhere, or are none that renumber knows.
// https://mariadb.com/kb/en/innodb-file-per-table-tablespaces/
func (t *Table) transportable() bool {
	return t.Kind == Base && t.Engine == "InnoDB" && plainName.MatchString(t.Name) &&
		!slices.ContainsFunc([]string{"FULLTEXT", vectorKey, "PARTITION BY", "DIRECTORY", "ROW_FORMAT=COMPRESSED", "ENCRYPTED`=", "ENCRYPTION=", " TABLESPACE "}, func(words string) bool {
			return strings.Contains(t.Create, words)
		})
}

// transport fills empty tables of the database name from the template's files, and returns
// those that must be filled in another way.
func (s *Shape) transport(ctx context.Context, conn *sql.Conn, name string, tables []string, f *Files) (rest []string, err error) {
	var list []string
	for _, table := range tables {
		if plainName.MatchString(name) && s.byFile(s.Table(table), f) {
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
			b.WriteString(words + dbconn.QuoteName(database) + "." + dbconn.QuoteName(table) + end)
		}
		return b.String()
	}
	if err := s.exportTo(ctx, conn, name, list, each, f); err != nil {
		return nil, errors.Join(errTransport, err)
	}
	if f.copied != nil {
		f.copied()
	}
	if _, err := conn.ExecContext(ctx, each("ALTER TABLE ", name, " IMPORT TABLESPACE; ")); err != nil {
		return nil, errors.Join(errTransport, err)
	}
	f.removeMetadata(name, list)
	return rest, nil
}

// ByFile reports whether a table is filled from its file.
func (s *Shape) ByFile(t *Table) bool { return s.byFile(t, s.Files) }

func (s *Shape) byFile(t *Table, f *Files) bool {
	return f != nil && !f.off.Load() && t.Rows >= f.Rows && plainName.MatchString(s.Name) && t.transportable()
}

// exportTo copies the files of tables to those of the database name, which are discarded.
func (s *Shape) exportTo(ctx context.Context, conn *sql.Conn, name string, list []string, each func(words, database, end string) string, f *Files) error {
	f.export.Lock()
	defer f.export.Unlock()
	ids, err := f.spaces(ctx, conn, name, list)
	if err != nil {
		return err
	}
	// All in as few round trips as there are: the template is locked from the export on.
	_, err = conn.ExecContext(ctx, each("ALTER TABLE ", name, " DISCARD TABLESPACE; ")+"FLUSH TABLES "+qualified(s.Name, list)+" FOR EXPORT")
	if err == nil {
		err = f.copyTables(ctx, s.Name, name, list, ids)
	}
	return errors.Join(err, unlock(ctx, conn))
}

// removeMetadata removes the descriptions of the tables that were imported, which the server leaves
// there. Without them the directory of a small database fits its inode on XFS also while a counter
// is put back, which makes and renames a file: a tenth of a small reset went into moving the
// directory out of its inode and in again. So it is no matter if one stays.
func (f *Files) removeMetadata(name string, tables []string) {
	if data, err := sys.OpenDir(f.DataDir); err == nil {
		if dir, err := data.Dir(name); err == nil {
			for _, table := range tables {
				_ = dir.Remove(table + metadataSuffix)
			}
			_ = dir.Close()
		}
		_ = data.Close()
	}
}

// smallFile is the largest file, in bytes, whose copy shares no blocks with it. The server reads all
// of a tablespace that it imports and rewrites it, since each page has the tablespace's number:
// with nothing to be shared in the end, copies in the page cache make a clone of small tables take
// 0.9 of the time on XFS. From a megabyte on there is no gain.
const smallFile = 1 << 20

// apart is smallFile where files can share blocks. Elsewhere they are all copied in the same way,
// by the kernel, which takes 0.8 of the time of reading and writing.
func (f *Files) apart() int64 {
	f.look.Do(func() {
		if sys.CanReflink(f.DataDir) {
			f.small = smallFile
		}
	})
	return f.small
}

// metadataSuffix is that of the file that describes an exported tablespace to who imports it.
const metadataSuffix = ".cfg"

// qualified lists tables of a database.
func qualified(database string, tables []string) string {
	list := make([]string, len(tables))
	for i, table := range tables {
		list[i] = dbconn.QuoteName(database) + "." + dbconn.QuoteName(table)
	}
	return strings.Join(list, ", ")
}

func unlock(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES")
	return err
}

// spaces returns the numbers that the tablespaces of a database's tables have. MySQL writes them into
// the files that it makes, and takes 10 ms a thousand tables to tell them; MariaDB writes them when it
// flushes the table, and is asked.
func (f *Files) spaces(ctx context.Context, conn *sql.Conn, name string, tables []string) (map[string]uint32, error) {
	ids, err := f.written(name, tables)
	if err != nil || len(ids) == len(tables) {
		return ids, err
	}
	prefix := name + "/"
	// INNODB_SYS_TABLESPACES looks at the files of all that there are, and takes six times as long.
	ask := fmt.Sprintf("SELECT NAME, SPACE FROM information_schema.INNODB_SYS_TABLES WHERE LEFT(NAME, %d) = BINARY %s", len(prefix), dbconn.Quote(prefix))
	return ids, dbconn.Ask(ctx, conn, dbconn.Question{Text: ask, Row: func(rows *sql.Rows) error {
		var table string
		var id uint32
		err := rows.Scan(&table, &id)
		ids[strings.TrimPrefix(table, prefix)] = id
		return err
	}})
}

// written returns the numbers that the files of tables have already.
func (f *Files) written(name string, tables []string) (ids map[string]uint32, err error) {
	data, err := sys.OpenDir(f.DataDir)
	if err != nil {
		return nil, err
	}
	defer data.CloseWith(&err)
	dir, err := data.Dir(name)
	if err != nil {
		return nil, err
	}
	defer dir.CloseWith(&err)
	ids = make(map[string]uint32, len(tables))
	for _, table := range tables {
		file, err := dir.Open(table+".ibd", os.O_RDONLY)
		if err != nil {
			return nil, err
		}
		id, err := space(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("read the number of the tablespace %s/%s: %w", name, table, err)
		}
		if id != 0 {
			ids[table] = id
		}
	}
	return ids, nil
}

// copyTables copies the files of tables from one database to another, where their tablespaces have
// the numbers that ids say.
func (f *Files) copyTables(ctx context.Context, from, to string, tables []string, ids map[string]uint32) (err error) {
	data, err := sys.OpenDir(f.DataDir)
	if err != nil {
		return err
	}
	defer data.CloseWith(&err)
	src, err := data.Dir(from)
	if err != nil {
		return err
	}
	defer src.CloseWith(&err)
	dst, err := data.Dir(to)
	if err != nil {
		return err
	}
	defer dst.CloseWith(&err)
	for _, table := range tables {
		if ids[table] == 0 {
			return fmt.Errorf("copy table: the server knows no tablespace %s/%s", to, table)
		}
		if err := f.copyTable(ctx, src, dst, table, ids[table]); err != nil {
			return fmt.Errorf("copy table: %w", err)
		}
	}
	return nil
}

// copyTable copies the files of a table. The copy has the number id from the first moment on: a
// server killed before it has imported the table would find two tablespaces of one number, and
// not start again.
func (f *Files) copyTable(ctx context.Context, from, to *sys.Dir, table string, id uint32) error {
	own := func(file *os.File) error {
		if os.Geteuid() != 0 {
			return nil
		}
		return file.Chown(f.UID, f.GID)
	}
	for _, part := range []struct {
		suffix string
		finish func(*os.File) error
	}{
		{metadataSuffix, own},
		{".ibd", func(file *os.File) error { return errors.Join(renumber(file, id), own(file)) }},
	} {
		in, err := from.Open(table+part.suffix, os.O_RDONLY)
		if err != nil {
			return err
		}
		if err := errors.Join(sys.CopyWhole(ctx, to, table+part.suffix, in, f.apart(), part.finish), in.Close()); err != nil {
			return err
		}
	}
	return nil
}
