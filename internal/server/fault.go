package server

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"
)

// Error numbers that both flavours share.
// https://mariadb.com/kb/en/mariadb-error-code-reference/
const (
	errNoSuchThread = 1094
	errLockTimeout  = 1205
	errDeadlock     = 1213
	errNoSuchXID    = 1397
)

// NoSuchThread reports whether a connection that was to be ended is gone already.
func NoSuchThread(err error) bool { return numbered(err, errNoSuchThread) }

// LockTimeout reports whether a statement failed for a lock that another session holds.
func LockTimeout(err error) bool { return numbered(err, errLockTimeout, errDeadlock) }

// NoSuchXID reports whether there is no such XA transaction any more.
func NoSuchXID(err error) bool { return numbered(err, errNoSuchXID) }

func numbered(err error, numbers ...uint16) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && slices.Contains(numbers, e.Number)
}
