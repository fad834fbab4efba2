// Package dumpfile finds and opens files with SQL dumps: it orders those of a directory, tells
// by the first bytes how they are packed, says what files of other programs are, and gives text in UTF-8.
//
// The invariant: a file that is damaged or cut short is an error, never a shorter dump, or one of other characters.
package dumpfile
