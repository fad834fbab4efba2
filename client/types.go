package client

import "time"

// Status is how an instance is. Names are those of `ramaria status --json` where
// they mean the same.
type Status struct {
	Name string `json:"name"`
	// Phase is starting, running, stopping, stopped, crashed or gone.
	Phase string `json:"phase"`
	// Since is when the phase began.
	Since time.Time `json:"since"`
	// Reason says why it crashed or did not start.
	Reason string `json:"reason,omitempty"`
	// Warnings are what the supervisor's watch has to say at present.
	Warnings []string `json:"warnings"`
	// ReadySeconds is how long the server took from exec to its first answer.
	ReadySeconds float64 `json:"ready_seconds"`

	Server   Server           `json:"server"`
	Endpoint Endpoint         `json:"endpoint"`
	Volume   Volume           `json:"volume"`
	Snapshot SnapshotEstimate `json:"snapshot"`
	// Log is on, or off for a server without a binary log: nothing can be cloned or reset then,
	// and what asks for it is CodeNoLog.
	Log string `json:"log"`
	// Marks are in the order in which they were made.
	Marks    []Mark   `json:"marks"`
	Counters Counters `json:"counters"`
}

// Server is the database software.
type Server struct {
	// Flavour is mariadb or mysql.
	Flavour string `json:"flavour"`
	// Version is as in 10.11.19.
	Version string `json:"version"`
	// Path is the daemon's, "" where the instance does not tell.
	Path string `json:"path,omitempty"`
}

// Endpoint is how an application reaches a server.
type Endpoint struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	// Socket is the path of the server's Unix socket.
	Socket   string `json:"socket"`
	User     string `json:"user"`
	Password string `json:"password"`
	Database string `json:"database"`
	// URL has all of it but the socket: mysql://USER:PASSWORD@HOST:PORT/DATABASE.
	URL string `json:"url"`
}

// Volume is the room in which an instance lives. It is shared with other instances.
type Volume struct {
	// Kind is as --volume has it: xfs, shm, disk, ...
	Kind string `json:"kind"`
	// Dir is the volume's directory.
	Dir string `json:"dir"`
	// SizeBytes is the limit that applies.
	SizeBytes int64 `json:"size_bytes"`
	// UsedBytes is what the volume's files hold.
	UsedBytes int64 `json:"used_bytes"`
	// FreeBytes is what can still be written.
	FreeBytes int64 `json:"free_bytes"`
	// Bound is what will run out first: limit, file system, inodes, memory or cgroup.
	Bound string `json:"bound"`
	// Reflink says that snapshots share their blocks with the original, so that
	// they take no time and no room until one of the two is written to.
	Reflink bool `json:"reflink"`
}

// SnapshotEstimate is what a branch or a mark would cost now.
type SnapshotEstimate struct {
	// DataBytes is what would be copied, or shared where the volume can.
	DataBytes int64 `json:"data_bytes"`
	// ExpectedPauseMicros is for how long the server would not write, in
	// microseconds.
	ExpectedPauseMicros int64 `json:"expected_pause_micros"`
}

// Counters count what was done since the supervisor started.
type Counters struct {
	Branches int64 `json:"branches"`
	Marks    int64 `json:"marks"`
	Rewinds  int64 `json:"rewinds"`
}

// BranchRequest asks for a branch.
type BranchRequest struct {
	// Name of the new instance: 1 to 40 of a-z, 0-9, - and _, beginning with a
	// letter or a digit.
	Name string `json:"name"`
}

// Branch is a new instance that runs.
type Branch struct {
	Name     string   `json:"name"`
	Endpoint Endpoint `json:"endpoint"`
	// API is the path of the new instance's own socket, for New.
	API      string   `json:"api"`
	Snapshot Snapshot `json:"snapshot"`
	// ReadyMicros is how long all of it took, from the request to the first answer of
	// the new server, in microseconds.
	ReadyMicros int64 `json:"ready_micros"`
}

// Snapshot is what a copy of a running server's data cost. Times are in microseconds.
type Snapshot struct {
	// LiveMicros is how long was copied beforehand, with the server at work.
	LiveMicros int64 `json:"live_micros"`
	// PauseMicros is for how long the server did not write.
	PauseMicros int64 `json:"pause_micros"`
	// TotalMicros is how long the snapshot took altogether.
	TotalMicros int64 `json:"total_micros"`
	// DataBytes is what was copied or shared.
	DataBytes int64 `json:"data_bytes"`
}

// MarkRequest asks for a mark.
type MarkRequest struct {
	// Label follows the rules of BranchRequest.Name.
	Label string `json:"label"`
	// Replace says that a mark with this label is to be replaced, not an error.
	Replace bool `json:"replace,omitempty"`
}

// Mark is data that an instance can be rewound to.
type Mark struct {
	Label   string    `json:"label"`
	Created time.Time `json:"created"`
	// DataBytes is the size of the data.
	DataBytes int64 `json:"data_bytes"`
	// Snapshot is what making it cost, if that is known.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// Rewind is what going back to a mark cost. Times are in microseconds.
type Rewind struct {
	Label string `json:"label"`
	// Micros is how long all of it took, from the request to the server's first
	// answer.
	Micros int64 `json:"micros"`
	// ReadyMicros is the part in which the server started.
	ReadyMicros int64 `json:"ready_micros"`
}
