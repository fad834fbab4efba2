// Package scenario has what `ramaria bench` measures. Kinds lists the scenarios; each is made
// by a Lab, which has the servers, dumps and directories that its rows use, and is run by a
// bench.Runner.
//
// The invariant: rows of a scenario do the same work on the same data, the answer of every round
// is checked, and nothing that a Lab began outlives it.
package scenario
