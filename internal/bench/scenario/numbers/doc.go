// Package numbers measures bulk inserts and single updates in one table of numbers and names, by the
// place of the server (Insert, Update).
//
// The invariant: after each round the table has exactly the rows that are expected of it, read by both
// of its indexes.
package numbers
