// Package differential holds recoveries of durable instances against what was there before.
// Trials, made up by a grammar (statements.txt) under odd settings of the session (settings.txt),
// run in databases of their own; the RAM is taken away; and after `ramaria up` everything that
// SQL can see must be as it was: rows, definitions, counters, accounts.
//
// A replay that repeats a statement with another result is what it looks for. It is written from
// docs/durability.md, and knows nothing of how a recovery works.
package differential
