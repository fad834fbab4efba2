// Package sort measures sorts and temporary tables that are too large for memory, by the place of
// their files.
//
// The invariant: a round counts only if the counters of the server show that it wrote such files, and
// if all rows came back, in order where order was asked for.
package sort
