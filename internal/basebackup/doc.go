// Package basebackup writes a data directory into an archive, and back. Of a base that follows
// another one it writes only the pages that have changed.
//
// Its invariant: a base that Write has returned for is restored by its index and the packs that this
// names, as the pages were when they were read, or Restore and Check fail and name the place. It relies on what archive.Disk promises, and on a directory that nothing writes
// to meanwhile: that of a server that was shut down.
//
// DESIGN.md has the reasons, docs/formats.md the formats.
package basebackup
