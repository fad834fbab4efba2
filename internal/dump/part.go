package dump

import "io"

// Part is a piece of a dump that lies in several files: statements, or rows of one table as LOAD DATA
// reads them. The parts of a dump are loaded in their order. Each begins as if a client were started
// for it: its session has the part's settings, and nothing that an earlier part has set.
type Part struct {
	// File names it in errors; empty for statements that stand in no file.
	File string
	// Database is the current one; empty for that of the whole dump.
	Database string
	// Settings are SET statements that its session begins with.
	Settings []string
	// Open returns its text, decompressed. It is called once or twice.
	Open func() (io.ReadCloser, error)
	// Before is how many lines of the text stand before the file's own.
	Before int
	// Binary keeps CR LF in it: the program that loads such files does.
	Binary bool
	// Pick chooses among its statements, nil for all of them. SET and USE are never left out.
	Pick func(StatementKind) bool
	// Rows says what the text is if it is not SQL.
	Rows *RowFile
}

// RowFile is what LOAD DATA must know of a file of rows.
type RowFile struct {
	// Table is the table that they go into, in the part's database.
	Table string
	// Options follow the table's name in LOAD DATA: CHARACTER SET, FIELDS and LINES.
	Options string
	// Columns follow Options: a list in parentheses, and SET. Empty if the fields are those of the
	// table: all of them, or those that are not generated.
	Columns string
	// Lines tells where rows end, as Options do.
	Lines LineFormat
	// Skip is how many lines at the beginning are no rows.
	Skip int
	// Bytes is the length of the text as the dump says it, -1 if it does not.
	Bytes int64
	// More says that rows of the same table are in the part that follows.
	More bool
}

// Count is how many rows a table has as the dump says it.
type Count struct {
	Database, Table string
	Rows            int64
	// File is where the dump says so.
	File string
}
