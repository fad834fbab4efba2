// Package bucket keeps a copy of an archive in an S3 bucket, which is enough alone to restore from.
//
// Its invariants: at any moment, whatever was killed or cut off, the objects under the prefix are a
// manifest, all files that it names, and a log that is a beginning of the archive's own; a prefix
// that belongs to another archive is never written to; and no commit ever waits for a bucket.
// DESIGN.md walks through it; docs/formats.md is the page of the formats.
package bucket
