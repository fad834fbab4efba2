package dump

import (
	"slices"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// TableName is the name of a table; Database is empty if that is the current one.
type TableName struct{ Database, Name string }

// String returns the name as statements have it.
func (n TableName) String() string {
	if n.Database == "" {
		return dbconn.QuoteName(n.Name)
	}
	return dbconn.QuoteName(n.Database) + "." + dbconn.QuoteName(n.Name)
}

// Table is what a CREATE TABLE statement says, as far as loading its rows matters.
type Table struct {
	// Database is empty if the statement names none.
	Database, Name string
	Columns        []Column
	// AutoIncrement is the index of that column in Columns, or -1.
	AutoIncrement int
	// PrimaryKey says that there is one: rows come back in its order, however they were
	// inserted.
	PrimaryKey bool
	// InnoDB says that the statement names this engine.
	InnoDB bool
	// ForeignKeys are its clauses of that kind, as they follow ADD in ALTER TABLE.
	ForeignKeys []string
	// Keys are the clauses of the secondary keys that can as well be made once the rows are
	// there, as they follow ADD. Bare is the statement without Keys and ForeignKeys; nil if
	// the two cannot be taken out of it.
	Keys []string
	Bare []byte
}

// Column is a column of a Table.
type Column struct {
	Name string
	Kind ColumnKind
	// Hidden is not among the columns that an INSERT without a list of them means.
	Hidden bool
	// Generated columns take no value, but for those that say when a row was valid (RowTime), which take one while the
	// session says so.
	Generated, RowTime bool
	// NullIsNow says of a TIMESTAMP that it may be NOT NULL, which LOAD DATA on MySQL takes NULL
	// for the present time in.
	NullIsNow bool
}

// ColumnKind is what a column holds, as far as the text of its values goes.
type ColumnKind uint8

// The kinds of columns.
const (
	OtherColumn   ColumnKind = iota // BIT, GEOMETRY and all that is not below
	IntegerColumn                   // TINYINT to BIGINT, BOOL
	DecimalColumn                   // DECIMAL, NUMERIC
	FloatColumn                     // FLOAT, DOUBLE, REAL
	TextColumn                      // CHAR, VARCHAR, TEXT, of any length
	BinaryColumn                    // BINARY, VARBINARY, BLOB, of any length
	TimeColumn                      // DATE, TIME, DATETIME, TIMESTAMP
	YearColumn
	ListColumn // ENUM, SET
	JSONColumn
)

// Results of Counter that are not the index of a field.
const (
	NoCounter      = -1 // the table has no AUTO_INCREMENT column
	OmittedCounter = -2 // the rows do not have it
)

// Counter returns which of the columns that rows go into is the AUTO_INCREMENT column.
func (t *Table) Counter(into []Column) int {
	if t.AutoIncrement < 0 {
		return NoCounter
	}
	name := t.Columns[t.AutoIncrement].Name
	if i := slices.IndexFunc(into, func(c Column) bool { return c.Name == name }); i >= 0 {
		return i
	}
	return OmittedCounter
}
