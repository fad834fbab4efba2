package supervisor

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// unboundFiles are the files by which tables of engines are known that write without transactions, and keep some of it in
// memory: MyISAM, Aria, ARCHIVE, CSV.
var unboundFiles = []string{".MYI", ".MAI", ".ARZ", ".CSV"}

// ownSchemas are directories of the server's own tables, which a client does not write to.
var ownSchemas = []string{"mysql", "sys", "performance_schema"}

// unboundTables are the tables of such engines in a data directory, quoted.
func unboundTables(dataDir string) (tables []string, err error) {
	paths, err := sys.Glob(dataDir, "*/*")
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	for _, path := range paths {
		if !slices.Contains(unboundFiles, filepath.Ext(path)) {
			continue
		}
		schema := filepath.Base(filepath.Dir(path))
		stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		stem, _, _ = strings.Cut(stem, "#") // a partition, or, with nothing before it, a temporary table
		if stem == "" || slices.Contains(ownSchemas, schema) {
			continue
		}
		tables = append(tables, dbconn.QuoteName(datafiles.Decode(schema))+"."+dbconn.QuoteName(datafiles.Decode(stem)))
	}
	slices.Sort(tables)
	return slices.Compact(tables), nil
}

// unboundPatience is how long a snapshot waits for statements that write to such tables, in seconds.
const unboundPatience = 1

// errCopiedOpen says what comes of it where they cannot be held.
var errCopiedOpen = errors.New("tables without transactions are copied while they are written to")

// connectWithin is how long a connection may take that a snapshot can do without.
const connectWithin = 3 * time.Second

// holdUnbound has the tables of such engines be closed, and nobody write to them, until release is called: their files
// have all that was done, and what the log has of them. A table that is at work for longer is as after a kill, and all others
// with it. The error tells of those that are not held; what can be is.
func (s *Supervisor) holdUnbound(ctx context.Context) (release func(), err error) {
	nothing := func() {}
	tables, err := unboundTables(s.inst.DataDir())
	if err != nil || len(tables) == 0 {
		return nothing, err
	}
	// A statement about accounts that waits for this very base backup keeps MySQL from letting anybody in.
	limited, cancel := context.WithTimeout(ctx, connectWithin)
	conn, err := s.db.Conn(limited)
	cancel()
	if err != nil {
		return nothing, errors.Join(errCopiedOpen, err)
	}
	release = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchInterval)
		defer cancel()
		_, _ = conn.ExecContext(ctx, "UNLOCK TABLES")
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // its end would do as well, and its settings end with it
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", unboundPatience))
	var refused error
	if err == nil {
		refused, err = lockUnbound(ctx, conn, tables)
	}
	if err != nil {
		release()
		return nothing, errors.Join(errCopiedOpen, err)
	}
	return release, refused
}

// lockUnbound locks tables, which takes one statement. A table that the server refuses, as one that was dropped meanwhile or
// lacks a file, is not to keep all others from it: it is left out, and refused says so.
func lockUnbound(ctx context.Context, conn *sql.Conn, tables []string) (refused, err error) {
	lock := func(tables []string) error {
		_, err := conn.ExecContext(ctx, "FLUSH LOCAL TABLES "+strings.Join(tables, ", ")+" WITH READ LOCK")
		return err
	}
	err = lock(tables)
	if err == nil || dbconn.WaitedForLock(err) {
		return nil, err
	}
	var good []string
	for _, t := range tables {
		switch err := lock([]string{t}); {
		case err == nil:
			good = append(good, t)
		case dbconn.WaitedForLock(err), ctx.Err() != nil:
			return nil, err
		case !dbconn.Missing(err):
			refused = errors.Join(refused, fmt.Errorf("table %s: %w", t, err))
		}
		if _, err := conn.ExecContext(ctx, "UNLOCK TABLES"); err != nil {
			return nil, err
		}
	}
	if len(good) == 0 {
		return refused, nil
	}
	return refused, lock(good)
}
