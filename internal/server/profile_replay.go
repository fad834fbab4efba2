package server

// replaySettings are what replays of both flavours have: a replica's applier works, and nothing else. A session may have
// been more lenient than the server's settings; the applier has what accepts all that any session could do, and
// that does what was accepted in the same way.
var replaySettings = []setting{
	{name: "server_id", value: factServerID, stages: Replay, why: "another than that of the log"},
	{name: "replicate_same_server_id", value: "ON", stages: Replay, why: "what the log has of this very number must not be passed over"},
	{name: "relay_log", value: factRelayLog, stages: Replay, why: "the log to apply; outside of the data directory, where nothing is to stay of it"},
	{name: "relay_log_index", value: factRelayIndex, stages: Replay, why: "as above"},
	{name: "relay_log_purge", value: "ON", stages: Replay, why: "what is applied is no longer needed, and may lie in RAM"},
	{name: "event_scheduler", value: "OFF", stages: Replay, why: "what events did is in the log"},
	{name: "innodb_strict_mode", value: "OFF", stages: Replay, why: "a session may have done without it, which no log says; what it accepts is done in the same way without it"},
	{name: "max_heap_table_size", value: "1T", stages: Replay, why: "as above: a session may have filled a MEMORY table beyond the server's limit"},
	{name: "default_storage_engine", value: "InnoDB", stages: Replay, why: "a table that was made without naming another engine, and has one, is in a base backup"},
	{name: "autocommit", value: "ON", stages: Replay, why: "threads of the server's own begin with it too, such as an applier"},
	{name: "transaction_read_only", value: "OFF", stages: Replay, why: "as above: none could write"},
	{name: "completion_type", value: "NO_CHAIN", stages: Replay, why: "as above"},
	{name: "transaction_isolation", value: "REPEATABLE-READ", stages: Replay, why: "as above: nobody else reads"},
	{name: "lock_wait_timeout", value: "31536000", stages: Replay, why: "nobody but the applier holds locks"},
}
