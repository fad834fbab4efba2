// Package suite measures the user's own test command on each server in turn: how long it takes, what
// it waits for, and what a server in RAM saves.
//
// The invariant: every run of the command finds its server as the first one did: with no databases,
// accounts, templates and leases of the run before, and the same global variables.
package suite
