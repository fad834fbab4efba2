package dbconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	flushPoll = 5 * time.Millisecond
	// flushCapacity is how many pages a second a server may write while it flushes, which by
	// default are 200 of some.
	flushCapacity = 100_000
)

// FlushPages makes a server write out the dirty pages of its buffer pool until no more than few are
// left, and waits for that, but not for longer than patience, and it is not begun, or ended, if may, unless
// it is nil, does not allow it of the bytes of dirty pages that there are: what the server is about to
// write then it still writes. It returns how many pages are left. The
// account must be one that sets global variables; these are as before in the end.
// https://mariadb.com/kb/en/innodb-page-flushing/
// https://dev.mysql.com/doc/refman/en/innodb-buffer-pool-flushing.html
func FlushPages(ctx context.Context, db *sql.DB, few int64, patience time.Duration, may func(bytes int64) bool) (left int64, err error) {
	var bytes int64
	look := func() error {
		left, bytes, err = DirtyPages(ctx, db)
		return err
	}
	if err := look(); err != nil || left <= few || may != nil && !may(bytes) {
		return left, err
	}
	var most, low, capacity, capacityMost string
	row := db.QueryRowContext(ctx, "SELECT @@GLOBAL.innodb_max_dirty_pages_pct, @@GLOBAL.innodb_max_dirty_pages_pct_lwm, @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max")
	if err := row.Scan(&most, &low, &capacity, &capacityMost); err != nil {
		return left, fmt.Errorf("flush pages: %w", err)
	}
	set := func(ctx context.Context, statements ...string) error {
		for _, s := range statements {
			if _, err := db.ExecContext(ctx, "SET GLOBAL "+s); err != nil {
				return fmt.Errorf("flush pages: SET GLOBAL %s: %w", s, err)
			}
		}
		return nil
	}
	defer func() {
		back := set(context.WithoutCancel(ctx), "innodb_max_dirty_pages_pct = "+most+", GLOBAL innodb_max_dirty_pages_pct_lwm = "+low,
			"innodb_io_capacity = "+capacity+", GLOBAL innodb_io_capacity_max = "+capacityMost)
		err = errors.Join(err, back)
	}()
	// A server does not let the lower one of a pair be the higher one, even for a moment.
	if err := set(ctx, fmt.Sprintf("innodb_io_capacity_max = %d, GLOBAL innodb_io_capacity = %[1]d", flushCapacity),
		"innodb_max_dirty_pages_pct_lwm = 0, GLOBAL innodb_max_dirty_pages_pct = 0"); err != nil {
		return left, err
	}
	for began := time.Now(); left > few && time.Since(began) < patience && (may == nil || may(bytes)); {
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-time.After(flushPoll):
		}
		if err := look(); err != nil {
			return left, err
		}
	}
	return left, nil
}

// DirtyPages is how many pages of the buffer pool differ from those in the files, and how many
// bytes they have.
func DirtyPages(ctx context.Context, db *sql.DB) (n, bytes int64, err error) {
	for name, into := range map[string]*int64{"pages": &n, "bytes": &bytes} {
		var same string
		if err := db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_"+name+"_dirty'").Scan(&same, into); err != nil {
			return 0, 0, fmt.Errorf("count dirty pages: %w", err)
		}
	}
	return n, bytes, nil
}
