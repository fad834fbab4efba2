// Package reset puts a database back to what its template is, at a cost that follows
// what was changed. DESIGN.md says how, and why it is right.
//
// Three parts, each of which can be read and tested by itself: the Journal follows the
// binary log and keeps what happened to each database, Make decides on a Plan from that,
// and Engine.Reset carries it out.
package reset
