// Package reset puts a database back to its template, at a cost that grows with what was
// changed, not with the size of the database. DESIGN.md says how, and why it is right.
//
// It has three parts, each of which can be read and tested by itself: the Journal follows
// the binary log and records what happens to each database, Make decides on a Plan from
// that record, and Engine.Reset carries the plan out.
package reset
