// Package durable measures durable instances: what their commits cost beside those of a server that
// syncs each to a disk (Scenario), and how long it takes to have all of them back (Recovery).
//
// The invariant: a round of a durable instance counts only if its archive has every transaction of the
// round, and a recovery only if it brings back the same rows.
package durable
