// Package replay applies a binary log to a data directory, by the server's own applier: the log becomes
// the relay log of a server that is started for nothing else, and the data directory is then that of a
// server that took the same writes.
//
// All or nothing: a data directory that a Job failed on, or was killed on, is of no use, and a log that
// is damaged is refused before anything is applied. So nothing is synced, and transactions of nothing but
// rows are applied several at once (binlog.Merge).
//
// What no log has is not replayed: SET PERSIST, CREATE SERVER, resource groups, undo tablespaces, plugins and
// components, that an event has run, rows of MEMORY tables (a server that starts empties them; what comes to those that are there is left out), statements with
// the log off, and how far an AUTO_INCREMENT went for rows that were rolled back.
//
// Nor has it which settings a session had. The applier has those by which it accepts all that any session could
// do; some others change what a statement does, and must be seen before it is acknowledged.
package replay
