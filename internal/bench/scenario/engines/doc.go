// Package engines measures the same work on the same rows, in RAM, by the storage engine.
//
// The invariant: the answer to each query is computed from the rows, without a server; no engine is
// checked against another.
package engines
