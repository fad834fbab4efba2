// Package tier measures one writer that writes more than the RAM that its file system has, and reads it
// back: tmpfs, a wheatfs, and what else spills.
//
// The invariant: a figure counts only if every byte that was written came back.
package tier
