// Package view looks at all instances of a home together, as often as somebody wants to see them:
// what they are, what they take, and what goes on in them a second. A look asks each instance that
// runs one question; it starts nothing, changes nothing, and waits for no instance longer than
// answerTime. Between two looks nothing runs.
package view

import (
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// Overview is what one look has found. It is the JSON of `ramaria top --json`, and of the page's
// stream: fields are added, never changed.
type Overview struct {
	At      time.Time `json:"at"`
	Machine Machine   `json:"machine"`
	// Instances are sorted by name.
	Instances []Instance `json:"instances"`
	// Groups are what belongs together, by name: clusters, and instances with their replicas.
	Groups []Group `json:"groups,omitempty"`
	// Notes say which records cannot be read.
	Notes []string `json:"notes,omitempty"`
}

// Machine is the memory of the machine, in bytes.
type Machine struct {
	TotalBytes     int64 `json:"total_bytes"`
	AvailableBytes int64 `json:"available_bytes"`
	// LimitBytes is the limit of the control group that this process is in, if that leaves less than
	// what is available, and LimitUsedBytes what counts against it; 0 for none.
	LimitBytes     int64 `json:"limit_bytes,omitempty"`
	LimitUsedBytes int64 `json:"limit_used_bytes,omitempty"`
	// SwapUsedBytes is how much is swapped out, whosever it is.
	SwapUsedBytes int64 `json:"swap_used_bytes,omitempty"`
	// TakenBytes is what the instances take: the volumes in RAM in which they lie, and their servers.
	TakenBytes int64 `json:"taken_bytes"`
}

// Instance is what is known of one. What is only known while it runs is zero, or nil, otherwise.
type Instance struct {
	Name  string         `json:"name"`
	Phase instance.Phase `json:"phase"`
	Since time.Time      `json:"since,omitzero"`
	// Reason says why it crashed or did not start.
	Reason string `json:"reason,omitempty"`
	// Trouble says why it does not tell more: it does not answer, or its files cannot be read. What
	// else is said is then the last that it told.
	Trouble string `json:"trouble,omitempty"`
	// Passing instances belong to a `ramaria run`.
	Passing  bool     `json:"passing,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Notices  []string `json:"notices,omitempty"`
	// Server is as in `ramaria ls`: mariadb-10.11.19.
	Server   string `json:"server,omitempty"`
	Host     string `json:"host,omitempty"`
	Port     int    `json:"port,omitempty"`
	Socket   string `json:"socket,omitempty"`
	User     string `json:"user,omitempty"`
	Database string `json:"database,omitempty"`
	// Log is off for a server without a binary log, which has no templates and leases.
	Log string `json:"log,omitempty"`

	Volume Volume `json:"volume"`
	// DataBytes is what its data takes in the volume, and ServerBytes the memory of the server's
	// process.
	DataBytes   int64 `json:"data_bytes,omitempty"`
	ServerBytes int64 `json:"server_bytes,omitempty"`

	Traffic *Traffic        `json:"traffic,omitempty"`
	Leases  *Leases         `json:"leases,omitempty"`
	Durable *client.Durable `json:"durable,omitempty"`
	// Cluster says what a member of a cluster is in it; nil for others, and while it does not run.
	Cluster *client.Membership `json:"cluster,omitempty"`
	// Replica says how a replica follows its source; nil for others.
	Replica *client.Replica `json:"replica,omitempty"`
	// Group is the name of the Group that it is in, and Role what it is there, "" for none.
	Group   string           `json:"group,omitempty"`
	Role    string           `json:"role,omitempty"`
	Moving  *client.Moving   `json:"moving,omitempty"`
	Marks   []Mark           `json:"marks,omitempty"`
	Largest []client.Use     `json:"largest,omitempty"`
	Pause   *PauseEstimation `json:"pause,omitempty"`
}

// Volume is how full the volume of an instance is. Others may lie in it too.
type Volume struct {
	Kind string `json:"kind"`
	// Dir tells volumes apart.
	Dir string `json:"dir,omitempty"`
	// SizeBytes is its limit, and UsedBytes what its files take.
	SizeBytes int64 `json:"size_bytes,omitempty"`
	UsedBytes int64 `json:"used_bytes,omitempty"`
	FreeBytes int64 `json:"free_bytes,omitempty"`
	// UsedPercent is the share of what servers may fill, and Level as in client.Room.
	UsedPercent int    `json:"used_percent"`
	Level       string `json:"level,omitempty"`
	// Bound is what runs out first.
	Bound string `json:"bound,omitempty"`
	// GrowthBytesPerHour is by how much its use grows, and FullSeconds in how much time it is full at
	// that rate; nil if it does not grow.
	GrowthBytesPerHour int64    `json:"growth_bytes_per_hour,omitempty"`
	FullSeconds        *float64 `json:"full_seconds,omitempty"`

	// at is when it was measured.
	at time.Time
}

// Traffic is what goes on in a server.
type Traffic struct {
	Connections int64 `json:"connections"`
	// QueriesPerSecond is counted since the look before; nil in the first.
	QueriesPerSecond *float64 `json:"queries_per_second,omitempty"`
}

// Leases are what goes on in a pool. Rates are nil in the first look.
type Leases struct {
	Used             int      `json:"used"`
	Max              int      `json:"max"`
	Waiting          int      `json:"waiting"`
	GrantedPerSecond *float64 `json:"granted_per_second,omitempty"`
	ResetsPerSecond  *float64 `json:"resets_per_second,omitempty"`
}

// Mark is what an instance can be rewound to.
type Mark struct {
	Label   string    `json:"label"`
	Created time.Time `json:"created"`
	Bytes   int64     `json:"bytes"`
}

// PauseEstimation is what a branch, a mark or a base backup costs: whether the volume shares blocks, and
// for how long the server is paused if it does not.
type PauseEstimation struct {
	Shares  bool    `json:"shares"`
	Seconds float64 `json:"seconds"`
}
