// Package wheatfs makes a file system for temporary files that lie in RAM while there is some, and on a disk beyond:
// nobody waits, nothing is copied when it is full, and memory is given back as files are removed.
package wheatfs
