// Package labtest has what tests of scenarios share: labs with a server and without, rounds that
// nothing measured, and what every scenario's rows must say and leave.
//
// The invariant: what a test gets here goes with the test.
package labtest
