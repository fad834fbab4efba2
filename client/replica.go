package client

import "time"

// ReplicaRequest asks for a new instance that follows this one.
type ReplicaRequest struct {
	// Name is that of the new instance, as for BranchRequest.
	Name string `json:"name"`
	// Volume is the kind of volume that it is to lie in, with a size or without; "" is that of its source.
	Volume string `json:"volume,omitempty"`
	// Sync has this instance answer a commit when the new one has received it.
	Sync bool `json:"sync,omitempty"`
}

// Replica is how a replica follows its source.
type Replica struct {
	// Of is the name of the source, or HOST:PORT of a server that is no instance of this machine.
	Of string `json:"of"`
	// State is following, connecting or stopped.
	State string `json:"state"`
	// Sync says that the source answers a commit when the replica has received it.
	Sync bool `json:"sync,omitempty"`
	// LagSeconds is by how much it is behind the source, and LagBytes how much of the source's log it has not applied;
	// nil for not known.
	LagSeconds *float64 `json:"lag_seconds,omitempty"`
	LagBytes   *int64   `json:"lag_bytes,omitempty"`
	// Position is up to where it has applied the source's log: FILE:OFFSET.
	Position string `json:"position,omitempty"`
	// Error is what keeps it from following, "" for nothing.
	Error string `json:"error,omitempty"`
	// Diverged is the first statement since which it may differ from the source; nil for none.
	Diverged *Divergence `json:"diverged,omitempty"`
}

// Divergence is a statement that need not have done the same on a server that repeats the log as on the one that wrote it.
type Divergence struct {
	// Position is where it begins in the log: FILE:OFFSET.
	Position string `json:"position"`
	// Kind is a word for counting, as in Fence, and Why what a user is told of it.
	Kind string `json:"kind"`
	Why  string `json:"why"`
	// At is when it was logged, in seconds.
	At time.Time `json:"at"`
}

// PromoteRequest says how a replica is to be promoted.
type PromoteRequest struct {
	// AcceptDivergence promotes a replica that may differ from its source, too.
	AcceptDivergence bool `json:"accept_divergence,omitempty"`
}

// Promotion is what a replica was when it became an instance of its own.
type Promotion struct {
	// Of is the name of the source, and Position up to where its log was applied: FILE:OFFSET, "" for not known since the
	// replica was restarted without it.
	Of       string `json:"of"`
	Position string `json:"position,omitempty"`
	// Stopped is why it did not follow the source any more, "" if it did, or tried to.
	Stopped string `json:"stopped,omitempty"`
	// Events are those that came from the source by its log: they stay disabled.
	Events []string `json:"events,omitempty"`
	// Micros is how long it took.
	Micros int64 `json:"micros"`
}
