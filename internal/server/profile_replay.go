package server

// replaySettings are what replays of both flavours have: a replica's applier works, and nothing else.
var replaySettings = []setting{
	{name: "server_id", value: factServerID, stages: Replay, why: "another than that of the log"},
	{name: "replicate_same_server_id", value: "ON", stages: Replay, why: "what the log has of this very number must not be passed over"},
	{name: "relay_log", value: factRelayLog, stages: Replay, why: "the log to apply; outside of the data directory, where nothing is to stay of it"},
	{name: "relay_log_index", value: factRelayIndex, stages: Replay, why: "as above"},
	{name: "relay_log_purge", value: "ON", stages: Replay, why: "what is applied is no longer needed, and may lie in RAM"},
	{name: "event_scheduler", value: "OFF", stages: Replay, why: "what events did is in the log"},
}
