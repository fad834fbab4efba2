// Package binlog reads the binary logs of MariaDB and MySQL as files, and turns row
// events round, so that a BINLOG statement undoes what they say.
//
// It never guesses. What it hands out was complete, had the length and checksum that it
// says, and was of a known kind; everything else is a typed error, after which the
// caller takes another way (see [GoneError], [CorruptError], [NotUnderstoodError]).
// Corrupt input costs an error, never a panic or memory without bound.
//
// It knows files and bytes only: no server, no session, no SQL.
//
// The formats are those of MariaDB 10.6 to 11.8 and MySQL 8.0 to 9.7:
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
// https://mariadb.com/docs/server/reference/clientserver-protocol/replication-protocol
package binlog
