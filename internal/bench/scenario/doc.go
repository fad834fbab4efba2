// Package scenario has what `ramaria bench` measures. Kinds lists the scenarios. Each stands in
// the files that bear its name, or in the package of its family below this one: its rows, what a
// round of them does, the check of the answer, and the conclusion. It uses the servers, dumps and directories of a lab.Lab, and is run by a
// runner.Runner.
//
// The invariant: rows of a scenario do the same work on the same data, and the answer of every
// round is checked.
package scenario
