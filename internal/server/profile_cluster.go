package server

import "slices"

// References to facts of members of clusters; see Member.facts.
const (
	factCluster         = "{cluster}"
	factGroup           = "{group}"
	factNode            = "{node}"
	factMemberHost      = "{member_host}"
	factMemberPort      = "{member_port}"
	factMemberDomain    = "{member_domain}"
	factIncoming        = "{incoming}"
	factSeeds           = "{seeds}"
	factGroupAddress    = "{group_address}"
	factStateAddress    = "{state_address}"
	factClusterAddress  = "{cluster_address}"
	factProvider        = "{provider}"
	factProviderOptions = "{provider_options}"
	factClusterCert     = "{cluster_cert}"
)

var memberFacts = []string{
	factCluster, factGroup, factNode, factMemberHost, factMemberPort, factMemberDomain, factIncoming, factSeeds, factGroupAddress,
	factStateAddress, factClusterAddress, factProvider, factProviderOptions, factClusterCert,
}

// SSTMethod is the name of our own state transfer of Galera, which transfers nothing; see Member.Script.
const SSTMethod = "ramaria"

// galeraSettings are what MariaDB's members of a Galera cluster have.
// https://mariadb.com/kb/en/galera-cluster-system-variables/
var galeraSettings = slices.Concat(applierSettings(ifMember), []setting{
	{name: "log_slave_updates", value: "ON", stages: Run, replica: ifMember, fixed: true, log: logged, why: "each member logs what the others commit: every log has all"},
	{name: "innodb_autoinc_lock_mode", value: "2", stages: Run, replica: ifMember, fixed: true, why: "Galera needs it"},
	{name: "read_only", value: "ON", stages: Run, replica: ifMember, fixed: true, log: logged, why: "until it has joined, and its commits wait for what they are to wait for"},
	{name: "gtid_domain_id", value: factMemberDomain, stages: Run, replica: ifMember, fixed: true, log: logged, why: "what a member does that no other gets is not of the cluster's sequence"},
	{name: "wsrep_on", value: "ON", stages: Run, replica: ifJoined, fixed: true, log: logged, why: "it is a member of a cluster"},
	{name: "wsrep_provider", value: factProvider, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "Galera"},
	{name: "wsrep_provider_options", value: factProviderOptions, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "members speak to each other by TLS, each with the cluster's certificate; what one lacks that was away comes from the cache of another; who begins the cluster is said by ramaria, which has looked at all of them"},
	{name: "wsrep_cluster_name", value: factCluster, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "as above"},
	{name: "wsrep_cluster_address", value: factClusterAddress, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "the members; none for the one that begins"},
	{name: "wsrep_node_name", value: factNode, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "as above"},
	{name: "wsrep_node_address", value: factGroupAddress, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "as above"},
	{name: "wsrep_node_incoming_address", value: factIncoming, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "where applications reach it"},
	{name: "wsrep_sst_method", value: SSTMethod, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "Galera wants a method although ramaria copies data before a member starts"},
	{name: "wsrep_sst_receive_address", value: factStateAddress, stages: Run, replica: ifJoined, fixed: true, log: logged, why: "as above"},
	{name: "wsrep_gtid_mode", value: "ON", stages: Run, replica: ifJoined, fixed: true, log: logged, why: "the same GTIDs in each member's log: who has the most is seen"},
	{name: "wsrep_gtid_domain_id", value: "0", stages: Run, replica: ifJoined, fixed: true, log: logged, why: "one that joins without a state transfer learns no other"},
	{name: "wsrep_mode", value: "STRICT_REPLICATION", stages: Run, replica: ifJoined, since: Version{10, 6, 0}, log: logged, why: "a table that Galera does not replicate is refused, not lost"},
	{name: "wsrep_slave_threads", value: "4", stages: Run, replica: ifJoined, log: logged, why: "one applier is behind several writers"},
})

// groupSettings are what MySQL's members of a group have.
// https://dev.mysql.com/doc/refman/en/group-replication-options.html
var groupSettings = slices.Concat(applierSettings(ifMember), []setting{
	{name: "gtid_mode", value: "ON", stages: Run, replica: ifMember, fixed: true, log: logged, why: "the group counts transactions by it"},
	{name: "enforce_gtid_consistency", value: "ON", stages: Run, replica: ifMember, fixed: true, log: logged, why: "goes with gtid_mode"},
	{name: "report_host", value: factMemberHost, stages: Run, replica: ifMember, fixed: true, log: logged, why: "where others get what they lack"},
	{name: "report_port", value: factMemberPort, stages: Run, replica: ifMember, fixed: true, log: logged, why: "as above"},
	{name: "relay_log", value: RelayName, stages: Run, replica: ifMember, fixed: true, log: logged, why: "a relative name, so that a clone never reaches its parent's log"},
	{name: "relay_log_recovery", value: "ON", stages: Run, replica: ifMember, fixed: true, log: logged, why: "what was received and not applied comes again from the group"},
	{name: "read_only", value: "ON", stages: Run, replica: ifMember, fixed: true, log: logged, why: "one that is not in the group is not written to; the group's primary ends it"},
	{name: "plugin_load_add", value: groupPlugin, stages: Run, replica: ifMember, fixed: true, log: logged, why: "Group Replication"},
	{name: "loose_group_replication_group_name", value: factGroup, stages: Run, replica: ifMember, fixed: true, log: logged, why: "the group"},
	{name: "loose_group_replication_start_on_boot", value: "OFF", stages: Run, replica: ifMember, fixed: true, log: logged, why: "ramaria has it join, or begin the group, when it has looked at all of them"},
	{name: "loose_group_replication_bootstrap_group", value: "OFF", stages: Run, replica: ifMember, fixed: true, log: logged, why: "as above"},
	{name: "loose_group_replication_communication_stack", value: "MYSQL", stages: Run, replica: ifMember, fixed: true, log: logged, why: "members speak on the server's own port, with TLS and an account"},
	{name: "loose_group_replication_local_address", value: factIncoming, stages: Run, replica: ifMember, fixed: true, log: logged, why: "as above"},
	{name: "loose_group_replication_group_seeds", value: factSeeds, stages: Run, replica: ifMember, fixed: true, log: logged, why: "the members"},
	{name: "loose_group_replication_single_primary_mode", value: "ON", stages: Run, replica: ifMember, fixed: true, log: logged, why: "one member is written to: commits of two have no conflict"},
	{name: "loose_group_replication_ssl_mode", value: "VERIFY_CA", stages: Run, replica: ifMember, fixed: true, log: logged, why: "only who has the cluster's own certificate is told the account's password"},
	{name: "loose_group_replication_recovery_use_ssl", value: "ON", stages: Run, replica: ifMember, fixed: true, log: logged, why: "as above"},
	{name: "loose_group_replication_recovery_ssl_ca", value: factClusterCert, stages: Run, replica: ifMember, fixed: true, log: logged, why: "as above; with the MYSQL stack it counts for all that members say to each other"},
	{name: "loose_group_replication_consistency", value: "BEFORE_ON_PRIMARY_FAILOVER", stages: Run, replica: ifMember, log: logged, why: "a new primary first applies what the old one committed"},
	{name: "loose_group_replication_exit_state_action", value: "READ_ONLY", stages: Run, replica: ifMember, fixed: true, log: logged, why: "one that had to leave is read, and not written to"},
	{name: "loose_group_replication_member_expel_timeout", value: "1", stages: Run, replica: ifMember, log: logged, why: "one that died is gone in seconds, and its place taken"},
	{name: "loose_group_replication_unreachable_majority_timeout", value: "10", stages: Run, replica: ifMember, log: logged, why: "writes end with an error where most members are not reached, and do not hang"},
})
