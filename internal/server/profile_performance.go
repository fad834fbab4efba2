package server

// performanceSwitch is the option by which --set takes over all of performance_schema.
const performanceSwitch = "performance_schema"

func performanceRow(name, value string) setting {
	return setting{name: name, value: value, stages: Run, unless: performanceSwitch, why: "as above"}
}

// performanceSettings leave of performance_schema the current transaction of each thread, and metadata
// locks. Some sizes are of one flavour alone; an option of a later version is loose, so that an earlier
// one passes over it.
func performanceSettings(flavour Flavour) []setting {
	rows := []setting{performanceRow(performanceSwitch+"_max_statement_stack", "1")}
	for _, name := range []string{
		"accounts_size", "hosts_size", "users_size", "digests_size", "error_size", "setup_objects_size",
		"events_stages_history_size", "events_stages_history_long_size", "events_statements_history_size", "events_statements_history_long_size",
		"events_transactions_history_size", "events_transactions_history_long_size", "events_waits_history_size", "events_waits_history_long_size",
		"max_cond_classes", "max_cond_instances", "max_digest_length", "max_file_classes", "max_file_handles", "max_file_instances", "max_index_stat",
		"max_memory_classes", "max_mutex_classes", "max_mutex_instances", "max_prepared_statements_instances", "max_program_instances",
		"max_rwlock_classes", "max_rwlock_instances", "max_socket_classes", "max_socket_instances", "max_sql_text_length", "max_stage_classes",
		"max_statement_classes", "max_table_handles", "max_table_instances", "max_table_lock_stat",
	} {
		if flavour == MySQL || name != "error_size" {
			rows = append(rows, performanceRow(performanceSwitch+"_"+name, "0"))
		}
	}
	if flavour == MySQL {
		for _, name := range []string{"max_logger_classes", "max_meter_classes", "max_metric_classes"} {
			rows = append(rows, performanceRow("loose_"+performanceSwitch+"_"+name, "0"))
		}
	}
	return rows
}
