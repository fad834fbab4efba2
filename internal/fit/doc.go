// Package fit has a server take a dump that another one wrote: it leaves out settings that mean nothing there, and
// maps what is asked to be mapped (collations, definers, accounts).
//
// The invariant: nothing that is loaded changes unless an option asks for it, and whatever is left out or changed
// is told.
package fit
