// Package runner measures things side by side, whatever they are. A Scenario is a list
// of Cases, the rows of its table; the Runner runs them interleaved, so that what
// changes on the machine meanwhile meets all of them alike, and a Result says
// medians, tails, spread and the ratio to the first row. Results are written as JSON lines, read
// again and compared. It knows the machine (Machine, Device, Throttle) and no database.
//
// The invariant: every value in a result comes from a round whose answer was
// checked, and no row is left out because it shows no gain.
package runner
