package ramariatest

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
)

// driverStmt is what prepared statements of the driver can do.
type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

// stmt is a prepared statement of a conn.
type stmt struct {
	driverStmt
	c *conn
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (r driver.Result, err error) {
	err = s.c.call(func() error { r, err = s.driverStmt.ExecContext(ctx, args); return err })
	return r, err
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.c.query(func() (driver.Rows, error) { return s.driverStmt.QueryContext(ctx, args) })
}

func (s *stmt) Close() error { return s.c.alone(s.driverStmt.Close) }

// tx is a transaction of a conn.
type tx struct {
	inner driver.Tx
	c     *conn
}

func (t *tx) Commit() error {
	return t.end(errRolledBack, func() error { return t.inner.Commit() })
}

// Rollback does nothing where a reset has already rolled the transaction back.
func (t *tx) Rollback() error {
	return t.end(nil, func() error { return t.inner.Rollback() })
}

func (t *tx) end(afterReset error, f func() error) error {
	return t.c.alone(func() error {
		over := t.c.rolledBack
		t.c.began, t.c.rolledBack = false, false
		if over {
			return afterReset
		}
		return f()
	})
}

// driverRows is what results of the driver can do.
type driverRows interface {
	driver.RowsNextResultSet
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// rows is a result that is read from a conn.
type rows struct {
	driverRows
	c *conn
}

func (c *conn) query(f func() (driver.Rows, error)) (driver.Rows, error) {
	r := &rows{c: c}
	err := c.call(func() error {
		inner, err := f()
		if err != nil {
			return err
		}
		full, ok := inner.(driverRows)
		if !ok {
			return errors.Join(fmt.Errorf("query: the driver's %T lacks what is needed", inner), inner.Close())
		}
		r.driverRows, c.reading = full, true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rows) Next(dest []driver.Value) error {
	return r.c.alone(func() error { return r.driverRows.Next(dest) })
}

func (r *rows) NextResultSet() error {
	return r.c.alone(r.driverRows.NextResultSet)
}

func (r *rows) Close() error {
	return r.c.alone(func() error { r.c.reading = false; return r.driverRows.Close() })
}
