package dbconn

import (
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// Error numbers that both flavours share.
// https://mariadb.com/kb/en/mariadb-error-code-reference/
const (
	errDatabaseExists = 1007
	errDropNotEmpty   = 1010
	errAccessDenied   = 1045
	errNoDatabase     = 1049
	errDuplicateKey   = 1062
	errNoIndex        = 1091
	errNoSuchThread   = 1094
	errNoTable        = 1146
	errNoKey          = 1176
	errLockTimeout    = 1205
	errDeadlock       = 1213
	errUnknownVar     = 1193
	errFixed          = 1238
	errReadOnly       = 1290
	errRoutineExists  = 1304
	errNoRoutine      = 1305
	errInterrupted    = 1317
	errTriggerHeader  = 1341
	errTriggerComment = 1342
	errTriggerValue   = 1343
	errNoTrigger      = 1360
	errNoSuchXID      = 1397
	errRolledBackXID  = 1402
	errEventExists    = 1537
	errNoEvent        = 1539
	errSchemaDirStays = 3678 // MySQL
	errSchemaDirOnly  = 3681 // MySQL
	errReadOnlySchema = 3989
	errSequenceOver   = 4084 // MariaDB
	errNoSequence     = 4091 // MariaDB
)

// IsUnknownVariable reports whether a statement names a variable that the server does not have.
func IsUnknownVariable(err error) bool { return numbered(err, errUnknownVar) }

// IsView reports whether a view stands in the place of a table of the server's own; see Dialect.
func IsView(err error) bool {
	return numbered(err, errNoKey) && strings.Contains(err.Error(), "(null)")
}

// NoSuchThread reports whether a connection that was to be ended is gone already.
func NoSuchThread(err error) bool { return numbered(err, errNoSuchThread) }

// LockTimeout reports whether a statement failed for a lock that another session holds.
func LockTimeout(err error) bool { return numbered(err, errLockTimeout, errDeadlock) }

// BrokenTriggers reports whether a database could not be dropped for the files of its triggers: one
// cannot be read, or belongs to no table.
func BrokenTriggers(err error) bool {
	return numbered(err, errDropNotEmpty, errTriggerHeader, errTriggerComment, errTriggerValue)
}

// WaitedForLock reports whether a statement waited for a lock until its time ran out.
func WaitedForLock(err error) bool { return numbered(err, errLockTimeout) }

// ObjectExists reports whether a routine or event was to be made that is there.
func ObjectExists(err error) bool { return numbered(err, errRoutineExists, errEventExists) }

// Missing reports whether a statement failed since what it names is not there.
func Missing(err error) bool {
	return numbered(err, errNoDatabase, errNoTable, errNoRoutine, errNoTrigger, errNoEvent, errNoSequence)
}

// NoIndex reports whether an index, or its table, is not there.
func NoIndex(err error) bool { return numbered(err, errNoIndex, errNoTable, errNoDatabase) }

// Refused reports whether it is the server that says why not: the connection goes on.
func Refused(err error) bool {
	var refused *mysql.MySQLError
	return errors.As(err, &refused)
}

// SequenceOver reports whether a sequence has no next value.
func SequenceOver(err error) bool { return numbered(err, errSequenceOver) }

// Interrupted reports whether a statement was ended by KILL QUERY.
func Interrupted(err error) bool { return numbered(err, errInterrupted) }

// DuplicateKey reports whether a statement failed for rows that a unique key does not allow.
func DuplicateKey(err error) bool { return numbered(err, errDuplicateKey) }

// OthersRows reports whether a statement failed for rows that another session has written meanwhile: a key is there, or, on
// MariaDB with innodb_snapshot_isolation, a row is another one than was read.
func OthersRows(err error) bool { return DuplicateKey(err) || numbered(err, 1020) }

// OtherRows reports whether rows could not be changed as a log has it, since the data is not as it was there: a key is there
// already, or rows are not, or refer to none, or the table is another one.
func OtherRows(err error) bool {
	return Missing(err) || DuplicateKey(err) || numbered(err, 1022, 1032, 1451, 1452, 1535, 1677)
}

// DatabaseExists reports whether a database was to be made that is there.
func DatabaseExists(err error) bool { return numbered(err, errDatabaseExists) }

// DirectoryStays reports whether a database was to be made or dropped of which there is nothing but a
// directory, which MySQL leaves where that holds what it does not know.
func DirectoryStays(err error) bool { return numbered(err, errSchemaDirStays, errSchemaDirOnly) }

// OtherDialect reports whether a statement failed since the server does not speak it: a syntax, a
// character set, a collation, a variable, an engine or a type of the other flavour.
func OtherDialect(err error) bool {
	return numbered(err, 1064, 1101, 1115, 1178, 1193, 1231, 1273, 1286, errNoRoutine, 1901, 1911, 3679, 3763, 4161)
}

// Starved reports whether a statement failed in a way in which statements fail where there is no
// room left: the file system says so, or the supervisor has made the server read-only.
func Starved(err error) bool {
	return Gone(err) || ReadOnly(err) || numbered(err, 3, 1021, 1026, 1030, 1114, errInterrupted)
}

// ReadOnly reports whether a statement was refused since the server, or InnoDB, is read-only. Of the
// number for options that forbid a statement only the text tells which option it was, in every
// language: --read-only, --super-read-only.
func ReadOnly(err error) bool {
	var e *mysql.MySQLError
	return numbered(err, 1836) || errors.As(err, &e) && e.Number == errReadOnly && strings.Contains(strings.ReplaceAll(e.Message, "_", "-"), "read-only")
}

// FixedVariable reports whether a variable was to be set that cannot be.
func FixedVariable(err error) bool { return numbered(err, errFixed) }

// NoSuchXID reports whether there is no such XA transaction any more.
func NoSuchXID(err error) bool { return numbered(err, errNoSuchXID) }

// RolledBackXID reports whether an XA transaction was rolled back by the server before.
func RolledBackXID(err error) bool { return numbered(err, errRolledBackXID) }

// ReadOnlyDatabase reports whether a statement failed since its database is read only, by ALTER
// DATABASE.
func ReadOnlyDatabase(err error) bool { return numbered(err, errReadOnlySchema) }

func numbered(err error, numbers ...uint16) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && slices.Contains(numbers, e.Number)
}

// NoLocalFiles reports whether a server takes no LOAD DATA LOCAL.
func NoLocalFiles(err error) bool { return numbered(err, 1148, 3948, 4166) }

// Gone reports whether a statement failed since the server has ended, or the connection.
func Gone(err error) bool {
	for _, cause := range []error{driver.ErrBadConn, mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNREFUSED} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return numbered(err, 1053) // it is about to end
}

// AccessRefused reports whether the server answers, and refuses the account.
func AccessRefused(err error) bool { return numbered(err, errAccessDenied, 1698) }

// AccountLost reports whether the server no longer knows the account of a session, or takes its rights
// away: access denied (1045, 1698), host (1130), no such grant (1141), privilege (1227), account locked
// (4151 of MariaDB, 3118 of MySQL).
func AccountLost(err error) bool {
	return numbered(err, errAccessDenied, 1130, 1141, 1227, 1698, 3118, 4151)
}

// Refusal is what a server says of a statement that it does not carry out.
type Refusal struct {
	Code int
	// State is the SQLSTATE.
	State, Message string
}

// RefusalOf returns what the server said, false if the error is none of its own.
func RefusalOf(err error) (Refusal, bool) {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return Refusal{}, false
	}
	return Refusal{Code: int(e.Number), State: string(e.SQLState[:]), Message: e.Message}, true
}

// ErrorNumber is the number of a server's error, 0 for another.
func ErrorNumber(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}
