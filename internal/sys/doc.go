// Package sys is the only importer of the Linux calls that the rest of Ramaria
// needs: file locks, copying and cloning of file ranges, holes, process handles,
// parent-death signals, polling of sockets. It keeps no state and knows nothing of
// databases.
package sys
