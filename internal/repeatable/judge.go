package repeatable

import (
	"bytes"

	"github.com/ramaria-db/ramaria/internal/binlog"
)

// Verdict is what is known of a statement.
type Verdict struct {
	// Fence is why the statement is not known to give the same again, in a few words for a user;
	// "" if it is known to.
	Fence string
	// Kind is a word for counting, one of [Kinds]; "" without a Fence.
	Kind string
	// Tables are those whose engine must be InnoDB, or the statement is a fence of kind "engine":
	// those that it makes without naming one, which the session's default_storage_engine then
	// says, and those whose rows it may number, which only InnoDB reads in the order of the key.
	Tables []Table
	// Made are the tables of MariaDB that it makes by a text of its own: it is a fence of kind "option" if the .frm file of
	// one has one of [Options] that the text has not.
	Made []Table
	// Copied are tables of which MySQL drops a partition: it is a fence of kind "algorithm" if it has made their files anew, as
	// in a session that has old_alter_table. Rows of the partition then go to another one that takes them.
	Copied []Table
	// Dated are tables of MariaDB of which a column becomes a date: it is a fence of kind "now" if it has made their files anew,
	// since the session's old_mode says which date a TIME becomes.
	Dated []Table
	// Renamed are the tables that MariaDB renames, each as it was called and as it is called then: it is a fence of kind
	// "temporary" if there is the one or not the other. MariaDB renames temporary tables so, too, and logs it.
	Renamed [][2]Table
	// UTF8 lifts a fence of kind "charset": it is none if [UTF8MB3] of the .frm file of each.
	UTF8 []Table
}

// Options are what settings of a session give to tables that MariaDB makes (innodb_compression_default,
// innodb_default_encryption_key_id), by the names that they have in the .frm file and in the text.
var Options = []string{"PAGE_COMPRESSED", "PAGE_COMPRESSION_LEVEL", "ENCRYPTED", "ENCRYPTION_KEY_ID"}

// Table names a table as the statement does, without quotes, in UTF-8.
type Table struct{ Schema, Name string }

// Judge follows the statements of one server's log, in their order. It is not for use by several
// goroutines at once.
type Judge struct {
	mysql bool
	keys  keys
	// historic are tables, in lower case, whose rows lie in partitions by SYSTEM_TIME.
	historic map[string]bool
	// blind says that names may mean temporary tables, so that nothing is known of any.
	blind bool
}

// New returns a Judge of a server's log that knows no table yet.
func New(mysql bool) *Judge {
	return &Judge{mysql: mysql, keys: keys{}, historic: map[string]bool{}}
}

// Known tells of a table's primary key: its columns, in order; none if it has no such key. It is
// for what there is when the log begins to be followed.
func (j *Judge) Known(schema, table string, primary []string) {
	j.keys.set(Table{schema, table}, primary)
}

// Historic tells of a table that MariaDB partitions by SYSTEM_TIME: which rows lie in which of its
// partitions depends on the order of commits, so that dropping one may take other rows.
func (j *Judge) Historic(schema, table string) { j.historic[Table{schema, table}.fold()] = true }

// Query judges a QUERY event, and remembers what it does to primary keys.
func (j *Judge) Query(q *binlog.Query) Verdict {
	// These come with every transaction: no parser, no memory.
	if q.ErrorCode == 0 && bracket(q.SQL) {
		return Verdict{}
	}
	s := statement{judge: j, query: q, parser: newParser(q, j.mysql)}
	v := s.judgeAll()
	s.remember()
	return v
}

// bracket reports whether the statement begins or ends a transaction or a part of one, in the
// form in which servers write them into the log.
func bracket(sql []byte) bool {
	switch len(sql) {
	case 5:
		return string(sql) == "BEGIN"
	case 6:
		return string(sql) == "COMMIT"
	case 8:
		return string(sql) == "ROLLBACK"
	}
	return bytes.HasPrefix(sql, xaPrefix) || bytes.HasPrefix(sql, savepointPrefix)
}

var xaPrefix, savepointPrefix = []byte("XA "), []byte("SAVEPOINT ")
