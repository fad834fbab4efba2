// Package load loads SQL dumps into a running server by several connections.
//
// One goroutine, the reader, goes through the dump in order and keeps the state of a session
// as the client would. What it does not understand it sends itself, after everything before is
// done. Rows of a table for which order means nothing (InnoDB, with a primary key and explicit
// numbers, without triggers, not bound by foreign keys) go in chunks to workers, each with a
// connection that has been told the same SET and USE statements. They commit in the order of the
// dump, so that the row that is refused is the one that a client would have had refused. SETs that
// follow each other go in one round trip, before whatever comes next. Of a table that turns out to
// be large the secondary keys, but for UNIQUE ones, are dropped while it is empty and made again
// behind its last row; one that is small is filled by one worker alone where the server makes its
// pages in one go then.
//
// Workers send rows by LOAD DATA LOCAL, which takes half the time of INSERT. It also forgives
// what INSERT would not; a chunk that gave any warning, or fewer rows than it had, is therefore
// taken back and sent as INSERT, whose verdict counts.
package load
