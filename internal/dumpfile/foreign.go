package dumpfile

import (
	"bytes"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// strangers are files of other database systems, by how they begin: a server would say of them no
// more than that there is an error in their first statement.
var strangers = []struct{ begin, what, hint string }{
	{"--\n-- PostgreSQL database ", "this is a dump of PostgreSQL, whose SQL neither MariaDB nor MySQL reads", fromPostgres},
	{"PGDMP", "this is an archive of PostgreSQL's pg_dump, which neither MariaDB nor MySQL reads", fromPostgres},
	{"PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;", "this is a dump of SQLite, whose SQL neither MariaDB nor MySQL reads", fromSQLite},
	{"SQLite format 3\x00", "this is a database of SQLite, and no dump", fromSQLite},
	{"XBSTCK01", "this is a backup by xtrabackup or mariadb-backup, and no dump", "unpack it into a directory (mbstream -x, xbstream -x), prepare it there (--prepare), and name the directory: --from DIR"},
}

const (
	fromPostgres = "name a dump by mysqldump or mariadb-dump; a program that knows both systems has to copy this data"
	fromSQLite   = "ramaria up; eval \"$(ramaria env)\"; sqlite3mysql of the Python package sqlite3-to-mysql copies the database there"
)

// strangerBytes is how many first bytes of a text tell what it is.
const strangerBytes = tarMark + len(tarMagic)

// refuseStranger refuses what another database system has written, by its first bytes.
func refuseStranger(name string, begin []byte) error {
	begin = bytes.ReplaceAll(begin, []byte("\r\n"), []byte("\n"))
	for _, s := range strangers {
		if bytes.HasPrefix(begin, []byte(s.begin)) {
			return &dump.Error{File: name, Msg: s.what, Hint: s.hint}
		}
	}
	if len(begin) >= tarMark+len(tarMagic) && string(begin[tarMark:tarMark+len(tarMagic)]) == tarMagic {
		return &dump.Error{File: name, Msg: "this is a tar archive, not a dump", Hint: "tar -xf " + name + " unpacks it; name the dumps in it, or their directory"}
	}
	return nil
}

// tarMagic stands at tarMark in a tar archive.
// https://www.gnu.org/software/tar/manual/html_node/Standard.html
const tarMagic, tarMark = "ustar", 257
