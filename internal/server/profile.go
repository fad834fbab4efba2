package server

import (
	"runtime"
	"slices"
	"strings"
)

// Stage is what a server process is started for.
type Stage int

const (
	// Run serves an instance.
	Run Stage = 1 << iota
	// Build loads data into a directory that becomes an image: no binary log, no
	// network, a large redo log, work put off until the shutdown.
	Build
	// Bootstrap makes the system tables of an empty data directory.
	Bootstrap
	// Stock is a server as it comes, for comparison: only paths are set.
	Stock
	// Replay applies a log to a data directory that is thrown away should that not succeed: no
	// binary log, no network, no events, the relay log below TmpDir (see RelayLog).
	Replay
)

// always is every stage with settings of ours; paths is every stage.
const (
	always = Run | Build | Bootstrap | Replay
	paths  = always | Stock
)

// setting is one row of the profile: an option, its value, when it applies, and
// why. The profile is the only place that decides how a server is configured; a
// new version or flavour is new rows, not new code.
type setting struct {
	// name is the option as the server manual has it, with underscores.
	name string
	// value is fixed text, or a reference to a fact of this start (see facts).
	value string
	// stages says which starts have it.
	stages Stage
	// volumes limits it to kinds of volume, by name and a space each; empty is all.
	volumes string
	// durability limits it to levels of durability, by name and a space each; empty is all.
	durability string
	// since and until limit it to a range of versions: since <= v < until; the
	// zero Version is no limit.
	since, until Version
	// cpus limits it to machines with at most so many; 0 is no limit.
	cpus int
	// shapes says that the value is built into the files, so that it belongs to
	// the identity of an image.
	shapes bool
	// fixed says that --set may not change it, since Ramaria itself relies on it; pledged the same of
	// durable instances.
	fixed, pledged bool
	// watched says that a server could be given another value while it runs, by which a durable instance would
	// break its promise; see Promises.
	watched bool
	// promised is the value that it promises, "" for value itself: a server starts with value, and the init file sets this.
	promised string
	// log limits it to servers with a binary log, or to those without; anyLog is all.
	log logUse
	// untorn limits it to servers with a doublewrite buffer, or to those without; see Config.Untorn.
	untorn untornUse
	// replica limits it to servers that follow another, or to some of those; anyServer is all.
	replica replicaUse
	// unless names an option by which --set takes over what the row is a part of.
	unless string
	// why is written into my.cnf above the line.
	why string
}

// Durability is a level of what a power failure may take, by which rows of the profile are chosen.
type Durability string

// InRAM is the level of data in RAM: a power failure takes everything, the death of the server
// nothing that was acknowledged.
const InRAM Durability = "ram"

// Levels of durable instances, whose log is archived. With Acknowledged a commit is answered when
// the archive has it; with Delayed it may be ahead of the archive by what that takes within a time.
const (
	Acknowledged Durability = "acknowledged"
	Delayed      Durability = "delayed"
)

// Followed is the level of data in RAM of which a commit is answered when a replica has received it.
const Followed Durability = "followed"

// Levels as rows name them: those of durable instances, those of the others, and those whose commits wait.
const (
	durable  = string(Acknowledged + " " + Delayed)
	unsafely = string(InRAM + " " + Followed)
	waits    = string(Acknowledged + " " + Delayed + " " + Followed)
)

// Durable reports whether the log is archived.
func (d Durability) Durable() bool { return d == Acknowledged || d == Delayed }

// logUse is whether a row is about servers that keep a binary log.
type logUse int

const (
	anyLog logUse = iota
	logged
	unlogged
)

// untornUse is whether a row is about servers whose pages do not tear.
type untornUse int

const (
	anyPages untornUse = iota
	ifTorn
	ifUntorn
)

// replicaUse is whether a row is about servers that follow another: any, those that acknowledge commits, those of which
// the other is none of ours, or about those that follow nobody, or about those that follow or did; or about members of
// clusters: any, those that are not apart, or about all others.
type replicaUse int

const (
	anyServer replicaUse = iota
	ifReplica
	ifSync
	ifRemote
	ifAlone
	ifParted
	ifMember
	ifJoined
	ifNoMember
)

// of reports whether a row is about a server.
func (u replicaUse) of(c Config) bool {
	switch u {
	case ifReplica:
		return c.Replica
	case ifSync:
		return c.Replica && c.Sync
	case ifRemote:
		return c.Replica && c.Remote
	case ifAlone:
		return !c.Replica && c.Member == nil
	case ifParted:
		return c.Replica || c.Parted
	case ifMember:
		return c.Member != nil
	case ifJoined:
		return c.Member != nil && !c.Member.Apart
	case ifNoMember:
		return c.Member == nil
	}
	return true
}

// References to facts of one start, filled in by Render. A row whose fact is
// empty is left out.
const (
	factDataDir  = "{datadir}"
	factSocket   = "{socket}"
	factPidFile  = "{pid_file}"
	factTmpDir   = "{tmpdir}"
	factFiles    = "{files}"
	factInitFile = "{init_file}"
	factPort     = "{port}"
	factBind     = "{bind_address}"
	factPrivate  = "{private}"
	factMessages = "{messages}"
	factCharsets = "{charsets}"
	factPlugins  = "{plugins}"
	factCert     = "{cert}"
	factKey      = "{key}"
	factRSAKey   = "{rsa_key}"
	factRSA      = "{rsa}"
	factPageSize = "{page_size}"
	factServerID = "{server_id}"

	factMostPool        = "{most_pool}"
	factReplayPool      = "{replay_pool}"
	factReplayWorkers   = "{replay_workers}"
	factTempTablespaces = "{temp_tablespaces}"
	factTempData        = "{temp_data}"
	factRelayLog        = "{relay_log}"
	factRelayIndex      = "{relay_index}"
	factRelayInfo       = "{relay_info}"
	factSourceInfo      = "{source_info}"
)

// BinlogName is the base name of the binary log, relative to the data directory:
// a branch that starts on a clone must never reach its parent's log.
const BinlogName = "ramaria-bin"

// tempTablespaces is the directory in tmpdir for the tablespaces of temporary tables.
const tempTablespaces = "innodb"

// BinlogFileSize is the size in bytes at which the server begins the next binary
// log file.
const BinlogFileSize = 16 << 20

// machineCPUs is how many CPUs the machine has.
var machineCPUs = runtime.NumCPU()

// applies reports whether the row is part of a start; noLog is one without a binary log.
func (r setting) applies(v Version, stage Stage, volume string, d Durability, noLog bool) bool {
	switch {
	case r.stages&stage == 0,
		r.log == logged && noLog,
		r.log == unlogged && !noLog,
		r.volumes != "" && !slices.Contains(strings.Fields(r.volumes), volume),
		r.durability != "" && !slices.Contains(strings.Fields(r.durability), string(d)),
		r.since != (Version{}) && v.Compare(r.since) < 0,
		r.until != (Version{}) && v.Compare(r.until) >= 0,
		r.cpus > 0 && machineCPUs > r.cpus:
		return false
	}
	return true
}

// pathSettings begin every profile: where everything lies.
var pathSettings = []setting{
	{name: "datadir", value: factDataDir, stages: paths, fixed: true, why: "the instance's own clone of its image"},
	{name: "socket", value: factSocket, stages: paths, fixed: true, why: "in the instance's directory, which only its owner can enter, or where --socket says"},
	{name: "pid_file", value: factPidFile, stages: paths, fixed: true, why: "beside the socket, so that no clone inherits it"},
	{name: "tmpdir", value: factTmpDir, stages: paths, fixed: true, why: "temporary tables and sorts stay where --tmpdir says, by default in the instance's own directory, on xfs and zram in a tmpfs mounted there for the server alone"},
	{name: "init_file", value: factInitFile, stages: Run | Build | Stock | Replay, fixed: true, why: "sets up the supervisor's and the application's account before anybody can connect"},
	{name: "lc_messages_dir", value: factMessages, stages: paths, fixed: true, why: "the error messages of this very server, wherever it was unpacked"},
	{name: "character_sets_dir", value: factCharsets, stages: paths, fixed: true, why: "the character sets of this very server"},
	{name: "plugin_dir", value: factPlugins, stages: paths, fixed: true, why: "the plugins of this very server"},
}
