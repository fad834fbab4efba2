// Package dump reads the text of SQL dumps: it splits it into statements as the mariadb
// client does in its binary mode, refuses what must not run, and tells what a dump holds.
//
// The invariant: a statement is given out only after all of it was scanned, and rows
// of a larger INSERT only after they were. What is refused (client commands, a dump
// that ends in the middle) is therefore never executed.
//
// The rules are those of read_and_execute and add_line in the client's source,
// https://github.com/MariaDB/server/blob/10.11/client/mysql.cc, and were compared
// with a real client; see client_test.go.
package dump
