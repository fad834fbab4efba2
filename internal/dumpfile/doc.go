// Package dumpfile finds and opens files with SQL dumps: it orders those of a directory, tells
// their compression by the first bytes, and gives their text.
//
// The invariant: a file that is damaged or cut short is an error, never a shorter dump.
package dumpfile
