// Package archive keeps what a durable instance needs to be there again after its RAM was lost:
// base backups, and the server's binary log from then on.
//
// Its invariant: what Log.Append has returned for is read back by ReadLog after a power failure
// at any later moment, whole and in order, or ReadLog fails and names the place. A frame that was
// being written is there whole or not at all. It relies on one promise of the disk: that a
// synchronous write, or a sync, that has returned without an error lasts.
//
// It knows files and bytes: the log is one that servers write, but no event is understood here.
// DESIGN.md walks through the crashes; docs/formats.md is the page of the formats.
package archive
