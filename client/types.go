package client

import "time"

// Status is the state of an instance. Fields have the names of `ramaria status --json` where
// they mean the same.
type Status struct {
	Name string `json:"name"`
	// Phase is starting, running, stopping, stopped, crashed or gone.
	Phase string `json:"phase"`
	// Since is when the phase began.
	Since time.Time `json:"since"`
	// Reason says why it crashed or did not start.
	Reason string `json:"reason,omitempty"`
	// Warnings say what is wrong at present, such as a volume that is nearly full.
	Warnings []string `json:"warnings"`
	// Notices say what will be wrong if it goes on so, such as a volume that is 80 % full.
	Notices []string `json:"notices,omitempty"`
	// ReadySeconds is how long the server took from exec to its first answer.
	ReadySeconds float64 `json:"ready_seconds"`

	Server   Server   `json:"server"`
	Endpoint Endpoint `json:"endpoint"`
	Volume   Volume   `json:"volume"`
	// Room says how full the volume is, and how fast it fills; nil until that was measured.
	Room     *Room            `json:"room,omitempty"`
	Snapshot SnapshotEstimate `json:"snapshot"`
	// Log is on, or off for a server without a binary log, which has no templates or leases:
	// calls about them return CodeNoLog.
	Log string `json:"log"`
	// Moving is how far it is on its way to another volume, nil if it is on none.
	Moving *Moving `json:"moving,omitempty"`
	// Durable says what a durable instance promises; nil for one that is not durable.
	Durable *Durable `json:"durable,omitempty"`
	// Replica says how a replica follows its source; nil for one that is none.
	Replica *Replica `json:"replica,omitempty"`
	// Cluster says what a member of a cluster is in it; nil for one that is none, or while its server starts.
	Cluster *Membership `json:"cluster,omitempty"`
	// Replicas are the instances of this machine that follow this one.
	Replicas []string `json:"replicas,omitempty"`
	// Marks are the instance's marks, the oldest first.
	Marks    []Mark   `json:"marks"`
	Counters Counters `json:"counters"`
	// Traffic says what the server does; nil while it does not answer.
	Traffic *Traffic `json:"traffic,omitempty"`
	// Leases say what goes on in the pool; nil while there is none: the instance is durable, keeps no
	// binary log, or its server does not run.
	Leases *Leases `json:"leases,omitempty"`
}

// Traffic is what the server says of its work. Totals count from its start.
type Traffic struct {
	// Connections are open, without the two that the supervisor has; MaxConnections is their limit.
	Connections    int64 `json:"connections"`
	MaxConnections int64 `json:"max_connections"`
	// ThreadsRunning are connections that are doing something, the one that asks among them.
	ThreadsRunning int64 `json:"threads_running"`
	// Queries are statements that clients sent, without the questions for this; SlowQueries are those that took longer than
	// long_query_time. Commits and Rollbacks are the COMMIT and ROLLBACK among them.
	Queries     int64 `json:"queries"`
	SlowQueries int64 `json:"slow_queries"`
	Commits     int64 `json:"commits"`
	Rollbacks   int64 `json:"rollbacks"`
	// AbortedConnects are attempts to connect that failed.
	AbortedConnects int64 `json:"aborted_connects"`
	// ReceivedBytes and SentBytes are what clients sent and got.
	ReceivedBytes int64 `json:"received_bytes"`
	SentBytes     int64 `json:"sent_bytes"`
	// UptimeSeconds is how long the server runs.
	UptimeSeconds int64 `json:"uptime_seconds"`
}

// Leases are what goes on in the pool of an instance. What is counted begins again with each start of
// the server.
type Leases struct {
	// Used is how many databases are in use, of Max at most, and Waiting how many requests wait for one.
	Used    int `json:"used"`
	Max     int `json:"max"`
	Waiting int `json:"waiting"`
	// Granted is how many leases were given, and Resets how many were put back to their template or
	// their savepoint.
	Granted int64 `json:"granted"`
	Resets  int64 `json:"resets"`
}

// Server is the database software.
type Server struct {
	// Flavour is mariadb or mysql.
	Flavour string `json:"flavour"`
	// Version is the server's, for example 10.11.19.
	Version string `json:"version"`
	// Path is that of the server's program; "" if the instance does not tell.
	Path string `json:"path,omitempty"`
	// ResidentBytes is the memory of the server's process that is resident, in bytes, without its data;
	// 0 if it does not run.
	ResidentBytes int64 `json:"resident_bytes,omitempty"`
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
	// URL has all of these but the socket: mysql://USER:PASSWORD@HOST:PORT/DATABASE.
	URL string `json:"url"`
}

// Volume is where an instance lies. Other instances may lie in it too.
type Volume struct {
	// Kind is as --volume has it: xfs, shm, disk, ...
	Kind string `json:"kind"`
	// Dir is the volume's directory.
	Dir string `json:"dir"`
	// SizeBytes is the limit of the volume's size, in bytes.
	SizeBytes int64 `json:"size_bytes"`
	// UsedBytes is the size of the volume's files, in bytes.
	UsedBytes int64 `json:"used_bytes"`
	// FreeBytes is how much can still be written, in bytes.
	FreeBytes int64 `json:"free_bytes"`
	// Bound is what will run out first: limit, file system, inodes, memory or cgroup.
	Bound string `json:"bound"`
	// Reflink says that snapshots share their blocks with the original, so that
	// they take no time and no room until one of the two is written to.
	Reflink bool `json:"reflink"`
}

// Room says how full the volume of an instance is, and what fills it, as the instance's supervisor has
// found it.
type Room struct {
	// At is when it was measured: some seconds ago.
	At time.Time `json:"at"`
	// Level is ample, notice (from 80 %), warning (from 90 %), last (from 95 %: servers are about to become
	// read-only) or full. It falls again when there is clearly more room.
	Level string `json:"level"`
	// UsedPercent is the part that is used of what can be, without what is kept back.
	UsedPercent int `json:"used_percent"`
	// UsedBytes and FreeBytes are as in Volume.
	UsedBytes int64 `json:"used_bytes"`
	FreeBytes int64 `json:"free_bytes"`
	// KeptBytes is the part of what is free that is kept back: servers are read-only while no more is
	// free. 0 for a volume on disk.
	KeptBytes int64 `json:"kept_bytes"`
	// Bound is as in Volume.
	Bound string `json:"bound"`
	// Cgroup is the control group whose memory limit that is; nil if it is none's.
	Cgroup *Cgroup `json:"cgroup,omitempty"`
	// GrowthBytesPerHour is by how much the use grows at present; 0 if it does not, or if that is not known yet.
	GrowthBytesPerHour int64 `json:"growth_bytes_per_hour"`
	// FullSeconds is in how much time servers become read-only, or the volume is full, at that rate; nil if
	// it does not grow.
	FullSeconds *float64 `json:"full_seconds,omitempty"`
	// Swap says what is swapped out; nil if nothing on the machine is.
	Swap *Swap `json:"swap,omitempty"`
	// Contents say what takes room in the data directory; nil until that was looked at.
	Contents *Contents `json:"contents,omitempty"`
}

// Cgroup is a control group with a memory limit.
type Cgroup struct {
	// Path is its directory.
	Path string `json:"path"`
	// LimitBytes is its limit, in bytes.
	LimitBytes int64 `json:"limit_bytes"`
}

// Swap says what of an instance is swapped out, in bytes: reading it waits for the disk.
type Swap struct {
	// FilesBytes is how much of its data is; nil if the kernel, older than 6.5, does not tell.
	FilesBytes *int64 `json:"files_bytes,omitempty"`
	// OfBytes is what its data takes, and ServerBytes how much of the server's own memory is swapped out.
	OfBytes     int64 `json:"of_bytes"`
	ServerBytes int64 `json:"server_bytes"`
	// MachineBytes is how much is on the machine, whosever it is.
	MachineBytes int64 `json:"machine_bytes"`
}

// Contents are what takes room in a data directory, by its files: each table, and logs and
// tablespaces.
type Contents struct {
	// Since is from when on growth is counted: half an hour to an hour ago, or the start of the instance.
	Since time.Time `json:"since"`
	// Files is how many there are, and Bytes what they hold.
	Files int64 `json:"files"`
	Bytes int64 `json:"bytes"`
	// Grown are the five that have grown most, by 1 MB at least, and Largest the five that take most; the
	// greatest first.
	Grown   []Use `json:"grown"`
	Largest []Use `json:"largest"`
	// Databases are the five databases whose tables, all together, have grown most.
	Databases []Use `json:"databases"`
}

// Use is what one table, log or tablespace takes.
type Use struct {
	// What is its name for people: shop.orders, ALTER in shop, redo log.
	What string `json:"what"`
	// Kind is table, alter (copies of tables at work), fulltext, tablespace, system, dictionary, undo, redo,
	// doublewrite, binlog, temporary, arialog, rocksdb, other, or database (all its tables).
	Kind string `json:"kind"`
	// Database and Name are those of a table; Database that of alter and fulltext, Name that of a tablespace.
	Database string `json:"database,omitempty"`
	Name     string `json:"name,omitempty"`
	// Bytes is what its files hold, and GrownBytes by how much that has grown.
	Bytes      int64 `json:"bytes"`
	GrownBytes int64 `json:"grown_bytes"`
}

// SnapshotEstimate is what a branch or a mark would cost now.
type SnapshotEstimate struct {
	// DataBytes is how much would be copied, or shared if the volume can, in bytes.
	DataBytes int64 `json:"data_bytes"`
	// ExpectedPauseMicros is how long the server would be paused, in microseconds.
	ExpectedPauseMicros int64 `json:"expected_pause_micros"`
}

// Counters count what the instance has done since its supervisor started.
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

// Branch is a new running instance.
type Branch struct {
	Name     string   `json:"name"`
	Endpoint Endpoint `json:"endpoint"`
	// API is the path of the new instance's own socket, for New.
	API      string   `json:"api"`
	Snapshot Snapshot `json:"snapshot"`
	// ReadyMicros is the time from the request to the first answer of the new server, in
	// microseconds.
	ReadyMicros int64 `json:"ready_micros"`
}

// Snapshot is what it cost to copy the data of a running server. Times are in microseconds.
type Snapshot struct {
	// LiveMicros is the time of the copying before the pause, while the server worked.
	LiveMicros int64 `json:"live_micros"`
	// PauseMicros is how long the server was paused.
	PauseMicros int64 `json:"pause_micros"`
	// TotalMicros is how long the whole snapshot took.
	TotalMicros int64 `json:"total_micros"`
	// DataBytes is how much was copied or shared, in bytes.
	DataBytes int64 `json:"data_bytes"`
}

// MarkRequest asks for a mark.
type MarkRequest struct {
	// Label follows the rules of BranchRequest.Name.
	Label string `json:"label"`
	// Replace says to replace the mark with this label, if there is one.
	Replace bool `json:"replace,omitempty"`
}

// Mark is data that an instance can be rewound to.
type Mark struct {
	Label   string    `json:"label"`
	Created time.Time `json:"created"`
	// DataBytes is the size of the data, in bytes.
	DataBytes int64 `json:"data_bytes"`
	// Snapshot is what it cost to make the mark; nil if unknown.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// Backup is a base backup of a durable instance.
type Backup struct {
	ID   uint32    `json:"id"`
	Time time.Time `json:"time"`
	// Position is up to where it has the log: EPOCH:FILE:OFFSET.
	Position string `json:"position"`
	// DataBytes is the size of its files, and StoredBytes what was written for it: what an earlier one
	// has is not written again.
	DataBytes   int64 `json:"data_bytes"`
	StoredBytes int64 `json:"stored_bytes"`
	// Outside is what of it is outside of the promise, such as tables that do not roll back.
	Outside []string `json:"outside,omitempty"`
	// Snapshot is what it cost the server; nil if unknown.
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// Verification is a comparison of a durable instance with what its archive gives.
type Verification struct {
	Time time.Time `json:"time"`
	// Position is up to where the log was replayed: EPOCH:FILE:OFFSET.
	Position string `json:"position"`
	// Tables is how many were compared.
	Tables int `json:"tables"`
	// RestoredBytes of a base's files took RestoreMicros, and ReplayedBytes of the log ReplayMicros.
	RestoredBytes int64 `json:"restored_bytes"`
	ReplayedBytes int64 `json:"replayed_bytes"`
	RestoreMicros int64 `json:"restore_micros"`
	ReplayMicros  int64 `json:"replay_micros"`
}

// Pruned is what was removed from an archive.
type Pruned struct {
	// Backups is how many base backups, and Epochs how many lives of a log.
	Backups int `json:"backups"`
	Epochs  int `json:"epochs"`
}

// Durable is what a durable instance promises at present.
type Durable struct {
	// Level is commit, or the time that may be lost.
	Level string `json:"level"`
	// Archive is the directory of its archive, and RoomBytes what can still be written there.
	Archive   string `json:"archive"`
	RoomBytes int64  `json:"room_bytes"`
	// Position is up to where the log is archived: EPOCH:FILE:OFFSET.
	Position string `json:"position"`
	// Backups is how many base backups there are; the newest was made at LastBackup, and SinceBytes of the
	// log came after it.
	Backups    int       `json:"backups"`
	LastBackup time.Time `json:"last_backup"`
	SinceBytes int64     `json:"since_bytes"`
	// RecoverSeconds is how long a recovery would take, and RecoverWithinSeconds how long it may.
	RecoverSeconds       float64 `json:"recover_seconds"`
	RecoverWithinSeconds float64 `json:"recover_within_seconds"`
	HistorySeconds       float64 `json:"history_seconds"`
	// Verified is when what the archive gives was last compared with the instance; nil if never.
	Verified *time.Time `json:"verified,omitempty"`
	// Outside is what is outside of the promise.
	Outside []string `json:"outside"`
	// SlowedSince is since when commits wait for the archive's disk where Level is a time: they come faster than it
	// takes them. nil if they do not.
	SlowedSince *time.Time `json:"slowed_since,omitempty"`
	// BlindSince is since when sessions may have committed what the log does not have, and what a power cut takes: they
	// may have got the right to switch the log off. nil if none may.
	BlindSince *time.Time `json:"blind_since,omitempty"`
	// Fences are the statements that the log may not repeat, nil before there was one.
	Fences *Fences `json:"fences,omitempty"`
	// Buckets have copies of the archive.
	Buckets []Bucket `json:"buckets,omitempty"`
	// Error is why the archive cannot be used; of the other fields only Level, Archive, RecoverWithinSeconds,
	// HistorySeconds and Buckets mean something then.
	Error string `json:"error,omitempty"`
}

// Fences are statements that need not give the same when the log is replayed. Each is acknowledged when a base
// backup that has it is on the disk.
type Fences struct {
	// Waiting are those that wait now, the first of them first.
	Waiting []Fence `json:"waiting"`
	// Kinds says how many there were since the instance started, by kind.
	Kinds []FenceCount `json:"kinds"`
}

// FenceCount is how many fences of a kind there were.
type FenceCount struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// Fence is one of them.
type Fence struct {
	// Position is where it is in the log: EPOCH:FILE:OFFSET.
	Position string `json:"position"`
	Kind     string `json:"kind"`
	// Why says why the log may not repeat it.
	Why   string    `json:"why"`
	Since time.Time `json:"since"`
}

// Bucket is a bucket with a copy of an archive. The promise is the archive's: no commit waits for a bucket.
type Bucket struct {
	URL string `json:"url"`
	// InSync says that it has all that the archive has.
	InSync bool `json:"in_sync"`
	// LagSeconds is how long what it lacks has waited for it.
	LagSeconds float64 `json:"lag_seconds"`
	// Position is up to where it has the log; "" if that is not known.
	Position string `json:"position,omitempty"`
	// Complete is when it last got what the archive's manifest names; nil if that is not known, or if it cannot be
	// restored from yet.
	Complete *time.Time `json:"complete,omitempty"`
	// Error is why the last upload failed.
	Error string `json:"error,omitempty"`
}

// MoveRequest asks to move an instance to another volume.
type MoveRequest struct {
	// Volume is the kind of volume, with a size or without: disk, xfs:8G.
	Volume string `json:"volume"`
}

// Moving is how far an instance is on its way to another volume, in bytes.
type Moving struct {
	Volume      string `json:"volume"`
	CopiedBytes int64  `json:"copied_bytes"`
	TotalBytes  int64  `json:"total_bytes"`
}

// Move is what moving an instance to another volume cost. Times are in microseconds.
type Move struct {
	// Volume is the kind of volume that it lies in now.
	Volume    string `json:"volume"`
	DataBytes int64  `json:"data_bytes"`
	// HeldMicros is for how long writes waited before the server ended, PauseMicros for how long there was none, and
	// TotalMicros the time of all.
	HeldMicros  int64 `json:"held_micros"`
	PauseMicros int64 `json:"pause_micros"`
	TotalMicros int64 `json:"total_micros"`
}

// Rewind is what going back to a mark cost. Times are in microseconds.
type Rewind struct {
	Label string `json:"label"`
	// Micros is the time from the request to the server's first answer.
	Micros int64 `json:"micros"`
	// ReadyMicros is the part of Micros in which the server started.
	ReadyMicros int64 `json:"ready_micros"`
}
