// Package repeatable judges whether a statement that a binary log has as text gives the same data
// when a server repeats it on the same data. A list says what does; everything that is not on it,
// or is not understood, is a fence: a statement that is acknowledged only when a base backup has
// what it did.
//
// It reads text and asks no server. DESIGN.md argues the list.
package repeatable
