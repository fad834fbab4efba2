// Package pack rewrites SQL dumps so that any client loads them faster: rows in fewer statements,
// one transaction for the rows of a table, the keys of large tables made behind their rows.
//
// The invariant: what a packed dump loads is what the dump loads, into an empty server or one that
// has the same tables from before. What is not understood goes out as it is, in its place,
// after all that stands before it is finished; and what it may have changed is no longer relied on.
package pack
