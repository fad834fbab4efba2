// Package replay applies a binary log to a data directory, by the server's own applier: the files
// become the relay log of a server that is started for nothing else, and the data directory is then
// that of a server that took the same writes.
//
// All or nothing: a data directory that a Job failed on, or was killed on, is of no use, and a log
// that is damaged is refused before anything is applied.
package replay
