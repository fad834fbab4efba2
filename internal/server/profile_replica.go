package server

import (
	"maps"
	"slices"
	"strings"
)

// RelayName is the base name of a replica's relay log, relative to the data directory.
const RelayName = "ramaria-relay"

// applierSettings are what threads of a server's own begin with that write what others have committed.
func applierSettings(servers replicaUse) []setting {
	return []setting{
		{name: "autocommit", value: "ON", stages: Run, replica: servers, fixed: true, log: logged, why: "threads of the server's own begin with it too, such as an applier"},
		{name: "transaction_read_only", value: "OFF", stages: Run, replica: servers, fixed: true, log: logged, why: "as above: none could write"},
		{name: "completion_type", value: "NO_CHAIN", stages: Run, replica: servers, fixed: true, log: logged, why: "as above"},
	}
}

// replicaSettings are what servers of both flavours have that follow another.
var replicaSettings = slices.Concat(applierSettings(ifReplica), []setting{
	{name: "relay_log", value: RelayName, stages: Run, replica: ifReplica, fixed: true, log: logged, why: "a relative name, so that a clone never reaches its parent's log"},
	{name: "relay_log_recovery", value: "OFF", stages: Run, replica: ifReplica, fixed: true, log: logged, why: "what was received is applied first, as far as it is whole: its source may be gone"},
	{name: "relay_log_space_limit", value: "512M", stages: Run, replica: ifReplica, volumes: "xfs shm tmpfs zram ramfs", log: logged, why: "what a replica has received and cannot apply, as for a lock that a session forgot, must not fill the memory; the source keeps twice as much"},
	{name: "relay_log_space_limit", value: "16G", stages: Run, replica: ifReplica, volumes: "disk", log: logged, why: "as above, of the disk"},
	{name: "event_scheduler", value: "OFF", stages: Run, replica: ifReplica, fixed: true, log: logged, why: "what events do comes from the source"},
	{name: "replicate_wild_ignore_table", value: "mysql.%", stages: Run, replica: ifRemote, fixed: true, log: logged, why: "accounts are those of this server: a statement about one that is not here would stop the replica"},
	{name: "read_only", value: "ON", stages: Run, replica: ifReplica, fixed: true, log: logged, why: "a replica that is written to is none any more; ramaria replica promote ends it"},
})

// EventScheduler is the value of event_scheduler of a server that is no replica any more, of an instance with settings; ""
// if it cannot be set while the server runs.
func (s *Server) EventScheduler(set map[string]string) string {
	v, given := Setting(set, "event_scheduler")
	switch {
	case !given && s.Flavour == MySQL && s.Version.Compare(Version{8, 0, 0}) >= 0:
		return "ON"
	case !given:
		return "OFF"
	case strings.EqualFold(v, "DISABLED"):
		return ""
	case v == "0" || strings.EqualFold(v, "OFF"):
		return "OFF"
	}
	return "ON"
}

// reliedAs reports whether a replica or a member, which a start is of, relies on its own value of a setting, and others do not.
func (s *Server) reliedAs(c Config, name string) bool {
	meant := optionMeant(name)
	// A redo log as large as Galera's cache would be mapped as that is, and lose commits when the server is killed.
	if c.Member != nil && (meant == "innodb_log_file_size" || strings.HasPrefix(meant, "wsrep_") || strings.HasPrefix(meant, "group_replication_")) {
		return true
	}
	return slices.ContainsFunc(s.Family().profile, func(r setting) bool {
		return r.fixed && r.replica.of(c) && !r.replica.of(Config{}) && optionMeant(r.name) == meant
	})
}

// withoutRelied are the settings that a replica or a member takes over: not those that it relies on, which the source of a
// replica may have, or a cluster that was made when fewer were refused.
func (s *Server) withoutRelied(c Config) map[string]string {
	set := maps.Clone(c.Set)
	maps.DeleteFunc(set, func(name, _ string) bool { return s.reliedAs(c, name) })
	return set
}
