package dbconn

import (
	"context"
	"database/sql"
	"fmt"
)

// BufferPool is how InnoDB's buffer pool fares. Sizes are in pages, but for Bytes.
type BufferPool struct {
	// Bytes is its size.
	Bytes int64
	// Free and Total are its pages; Reads counts those that were not in it when they were needed.
	Free, Total, Reads int64
}

// MinBufferPool is the size in bytes of the buffer pool that a server starts with.
const MinBufferPool = 128 << 20

// ReadBufferPool asks a server. https://mariadb.com/kb/en/innodb-status-variables/
func ReadBufferPool(ctx context.Context, db *sql.DB) (b BufferPool, err error) {
	const prefix = "Innodb_buffer_pool_"
	into := map[string]*int64{"pages_free": &b.Free, "pages_total": &b.Total, "reads": &b.Reads}
	rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS WHERE Variable_name IN ('"+prefix+"pages_free', '"+prefix+"pages_total', '"+prefix+"reads')")
	if err != nil {
		return b, fmt.Errorf("read buffer pool: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return b, fmt.Errorf("read buffer pool: %w", err)
		}
		if to := into[name[min(len(name), len(prefix)):]]; to != nil {
			*to = n
		}
	}
	if err := rows.Err(); err != nil {
		return b, fmt.Errorf("read buffer pool: %w", err)
	}
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.innodb_buffer_pool_size").Scan(&b.Bytes); err != nil {
		return b, fmt.Errorf("read buffer pool: %w", err)
	}
	return b, nil
}

// ResizeBufferPool changes the size of a server's buffer pool while the server works.
// https://mariadb.com/kb/en/setting-innodb-buffer-pool-size-dynamically/
// https://dev.mysql.com/doc/refman/en/innodb-buffer-pool-resize.html
func ResizeBufferPool(ctx context.Context, db *sql.DB, bytes int64) error {
	if _, err := db.ExecContext(ctx, fmt.Sprintf("SET GLOBAL innodb_buffer_pool_size = %d", bytes)); err != nil {
		return fmt.Errorf("resize buffer pool to %d bytes: %w", bytes, err)
	}
	return nil
}
