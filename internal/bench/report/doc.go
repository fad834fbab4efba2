// Package report shows finished results of benchmarks: as one HTML file, as
// Markdown, as SVG plots, and as bars on a terminal.
//
// The invariant: a report shows every row that it was given. A row without figures
// stays, with the reason; a scenario in which nothing was gained says so; an axis
// that is logarithmic says that too. Nothing is fetched and no script runs, so that
// a report reads the same from a disk, in a mail and on paper.
package report
