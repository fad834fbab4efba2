package dumpfile

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/ramaria-db/ramaria/internal/dump"
)

// stranger is a file that is no dump of MariaDB or MySQL: a server would say of it no more than that there is an error in
// its first statement. In what and hint %s is the file's name.
type stranger struct{ begin, what, hint string }

const (
	// strangerBytes is how many first bytes of a text tell what it is.
	strangerBytes = 4096

	fromElsewhere = "name a dump by mysqldump or mariadb-dump; a program that knows both systems has to copy this data"
	fromSQLite    = "ramaria up; eval \"$(ramaria env)\"; sqlite3mysql of the Python package sqlite3-to-mysql copies the database there"
	fromTable     = "ramaria up; eval \"$(ramaria env)\"; make the table, then load the rows: mysql --local-infile=1 DATABASE -e \"LOAD DATA LOCAL INFILE '%s' INTO TABLE NAME FIELDS TERMINATED BY ',' ENCLOSED BY '\\\"'\""
	ofServer      = "name a dump by mysqldump or mariadb-dump, or the whole data directory of a server that is shut down: --from DIR"
	unpackFirst   = "unpack it first: "
)

// binaries are files that are no text, by their first bytes.
var binaries = []stranger{
	{"PGDMP", "this is an archive of PostgreSQL's pg_dump, which neither MariaDB nor MySQL reads", fromElsewhere},
	{"SQLite format 3\x00", "this is a database of SQLite, and no dump", fromSQLite},
	{"TAPE", "this is a backup of SQL Server, which neither MariaDB nor MySQL reads", fromElsewhere},
	{"MSSQLBAK", "this is a backup of SQL Server, which neither MariaDB nor MySQL reads", fromElsewhere},
	{"\x6d\xe2\x99\x81", "this is an archive of mongodump, which neither MariaDB nor MySQL reads", fromElsewhere},
	{"\x00\x01\x00\x00Standard ", "this is a database of Microsoft Access, and no dump", fromElsewhere},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "this is a document of Microsoft Office, and no dump", "save the table as CSV; " + fromTable},
	{"REDIS", "this is a database of Redis, and no dump", fromElsewhere},
	{"\xfebin", "this is a binary log, and no dump", "load the dump that it goes on from, and then: mysqlbinlog %s | mysql"},
	{"\xfe\x01\x09", "this is the definition of a table (.frm), and no dump", ofServer},
	{"\xfe\x01\x0a", "this is the definition of a table (.frm), and no dump", ofServer},
	{"\xfe\xfe\x07", "this is the index of a table of MyISAM (.MYI), and no dump", ofServer},
	{"\xfe\xfe\x09", "this is the index of a table of Aria (.MAI), and no dump", ofServer},
	{"XBSTCK01", "this is a backup by xtrabackup or mariadb-backup, and no dump", "unpack it into a directory (mbstream -x, xbstream -x), prepare it there (--prepare), and name the directory: --from DIR"},
	{"qpress10", "this is a file of a backup by xtrabackup that qpress has compressed, and no dump", "xtrabackup --decompress and --prepare of the whole directory, and name that: --from DIR"},
	{"\x04\x22\x4d\x18", "this is an lz4 file, which is not read here", unpackFirst + "lz4 -dc %s > dump.sql"},
	{"\x89LZO\x00\r\n", "this is an lzop file, which is not read here", unpackFirst + "lzop -dc %s > dump.sql"},
	{"7z\xbc\xaf\x27\x1c", "this is a 7-Zip archive, which is not read here", unpackFirst + "7z x -so %s > dump.sql"},
	{"Rar!\x1a\x07", "this is a RAR archive, which is not read here", unpackFirst + "unrar p -inul %s > dump.sql"},
	{"LZIP", "this is an lzip file, which is not read here", unpackFirst + "lzip -dc %s > dump.sql"},
	{"\x1f\x9d", "this is a file of compress, which is not read here", unpackFirst + "gzip -dc %s > dump.sql"},
	{"Salted__", "this file is encrypted, by openssl enc", "decrypt it first: openssl enc -d with the options that it was encrypted with"},
	{"-----BEGIN PGP MESSAGE", "this file is encrypted, by gpg", "gpg -d %s > dump.sql"},
	{"\x8c\x0d\x04", "this file is encrypted, by gpg", "gpg -d %s > dump.sql"},
	{"age-encryption.org/v1", "this file is encrypted, by age", "age -d -i KEY %s > dump.sql"},
	{"\xff\xfe\x00\x00", "this is UTF-32 text, which no server reads", "iconv -f UTF-32 -t UTF-8 %s > dump.sql"},
}

// texts are texts, by a regular expression of how they begin.
var texts = []stranger{
	{`(--\n)?-- PostgreSQL database (cluster )?dump\n`, "this is a dump of PostgreSQL, whose SQL neither MariaDB nor MySQL reads", fromElsewhere},
	{quiet + `(\\restrict |SET (statement_timeout|lock_timeout|client_encoding|standard_conforming_strings) = |SELECT pg_catalog\.|COPY [^\n]* FROM stdin;)`, "this is a dump of PostgreSQL, whose SQL neither MariaDB nor MySQL reads", fromElsewhere},
	{`\s*(PRAGMA |BEGIN TRANSACTION;)`, "this is a dump of SQLite, whose SQL neither MariaDB nor MySQL reads", fromSQLite},
	{quiet + `(/\*{6} (Object|Database): |USE \[|SET ANSI_NULLS |SET QUOTED_IDENTIFIER |CREATE (DATABASE|SCHEMA|TABLE) \[|IF (NOT )?EXISTS|EXEC )(?s:.*)\n\s*(?i:GO)\s`, "this is a script of SQL Server, whose SQL neither MariaDB nor MySQL reads", fromElsewhere},
	{`\s*(?i:REM\s|SET DEFINE OFF|SET SQLBLANKLINES|PROMPT\s|WHENEVER SQLERROR)`, "this is a script of Oracle, whose SQL neither MariaDB nor MySQL reads", fromElsewhere},
	{`-{20,}\n--  File created - `, "this is an export of Oracle's SQL Developer, whose SQL neither MariaDB nor MySQL reads", fromElsewhere},
	{`(?s:.{2}TEXPORT:V|[^\n]*\x00.*"SYS_EXPORT_)`, "this is an export of Oracle, which neither MariaDB nor MySQL reads", fromElsewhere},
	{`(?s:....[\x02\x07]_id\x00)`, "this is a collection of MongoDB (BSON), and no dump", fromElsewhere},
	{`\s*(?i:<!doctype html|<html|<head)`, "this is a page of a web server, and no dump: what should have been fetched was most likely refused there, or wants a login", "head %s shows the page; curl --fail saves none"},
	{`\s*(<\?xml [^>]*>\s*)?<mysqldump`, "this is a dump that mysqldump --xml has written, and not SQL", "dump again without --xml"},
	{`\s*<(\?xml |[a-zA-Z])`, "this is XML, and not SQL", "name a dump by mysqldump or mariadb-dump"},
	{`\s*(\{\s*["}]|\[\s*[\[{"])`, "this is JSON, and not SQL", "name a dump by mysqldump or mariadb-dump; MySQL Shell's util.importJson loads documents"},
	{`version https://git-lfs\.github\.com/spec/`, "this is a pointer of Git LFS to a file that is not here", "git lfs pull --include %s"},
	{`(# [^\n]*\n)*/\*!50530 SET @@SESSION\.PSEUDO_(SLAVE|REPLICA)_MODE=1\*/;|(# [^\n]*\n)*/\*!40019 SET @@session\.max_(insert_delayed_threads|delayed_threads)=0\*/`, "this is a binary log as mysqlbinlog shows it, and no dump: it changes what is there already", "load the dump that it goes on from, and send this by the client: eval \"$(ramaria env)\"; mysql < %s"},
}

// quiet are blank lines and comments before the first statement.
const quiet = `(\s*|--[^\n]*\n)*`

// expressions are those of texts, made when a dump is opened: most commands open none.
var expressions = sync.OnceValue(func() (list []*regexp.Regexp) {
	for _, s := range texts {
		list = append(list, regexp.MustCompile(`\A(`+s.begin+`)`))
	}
	return list
})

func (s stranger) fault(name string) error {
	return &dump.Error{File: name, Msg: s.what, Hint: strings.ReplaceAll(s.hint, "%s", name)}
}

// refuseBinary refuses what no text begins with.
func refuseBinary(name string, begin []byte) error {
	for _, s := range binaries {
		if bytes.HasPrefix(begin, []byte(s.begin)) {
			return s.fault(name)
		}
	}
	switch {
	case isTablespace(begin):
		return stranger{what: "this is a file of InnoDB (.ibd, ibdata1), and no dump", hint: ofServer}.fault(name)
	case strings.HasSuffix(strings.ToLower(name), ".ibz"):
		return stranger{what: "this is a file of a backup by MySQL Enterprise Backup, and no dump", hint: ofServer}.fault(name)
	case len(begin) >= tarMark+len(tarMagic) && string(begin[tarMark:tarMark+len(tarMagic)]) == tarMagic:
		return refuseTar(name, begin)
	}
	return nil
}

// refuseText refuses texts of other programs.
func refuseText(name string, begin []byte) error {
	begin = bytes.ReplaceAll(begin, []byte("\r\n"), []byte("\n"))
	for i, e := range expressions() {
		if e.Match(begin) {
			return texts[i].fault(name)
		}
	}
	if isTable(begin) {
		return stranger{what: "this is a table as text (CSV), and not SQL", hint: fromTable}.fault(name)
	}
	return nil
}

// strangerDir refuses directories that other database systems have written.
func strangerDir(path string, entries []os.DirEntry) error {
	for _, e := range entries {
		switch {
		case e.Name() == "toc.dat":
			return stranger{what: "this is a directory of PostgreSQL's pg_dump, which neither MariaDB nor MySQL reads", hint: fromElsewhere}.fault(path)
		case strings.HasSuffix(e.Name(), ".bson"), strings.HasSuffix(e.Name(), ".bson.gz"):
			return stranger{what: "this is a directory of mongodump, which neither MariaDB nor MySQL reads", hint: fromElsewhere}.fault(path)
		}
	}
	return nil
}

// tarMagic stands at tarMark in a tar archive.
// https://www.gnu.org/software/tar/manual/html_node/Standard.html
const tarMagic, tarMark, tarName = "ustar", 257, 100

func refuseTar(name string, begin []byte) error {
	first, _, _ := strings.Cut(string(begin[:tarName]), "\x00")
	if first == "toc.dat" {
		return stranger{what: "this is an archive of PostgreSQL's pg_dump, which neither MariaDB nor MySQL reads", hint: fromElsewhere}.fault(name)
	}
	return &dump.Error{File: name, Msg: fmt.Sprintf("this is a tar archive, not a dump; it begins with %s", first), Hint: "tar -xf " + name + " unpacks it; name the dumps in it, or their directory"}
}

// isTablespace says that a file begins with the first page of a tablespace of InnoDB: page 0, of the type FSP_HDR.
// https://dev.mysql.com/doc/dev/mysql-server/latest/fil0types_8h.html
func isTablespace(begin []byte) bool {
	const number, kind, header = 4, 24, 38
	return len(begin) > header && bytes.Equal(begin[number:number+4], make([]byte, 4)) && begin[kind] == 0 && begin[kind+1] == 8
}
