// Package parts writes a dump as a directory of files: the schema, the rows of each table in files of
// a bounded size, and what goes behind the rows.
//
// The invariant: loading the files in the order of their names, each by any client in a session of its
// own or all by one, gives what the dump in one file would give; and files of rows load in any order,
// and at the same time. The directory appears whole, or not at all.
package parts
