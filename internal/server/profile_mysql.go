package server

import "slices"

// mysqlProfile is for MySQL 8.0 and later. Figures: MySQL 9.7.4, two cores, data in
// tmpfs, idle with the system tables only.
var mysqlProfile = slices.Concat(pathSettings, []setting{
	{name: "secure_file_priv", value: factFiles, stages: Run | Build, why: "LOAD DATA INFILE and INTO OUTFILE reach nothing but the instance's own directory"},
	{name: "secure_file_priv", value: "", stages: Bootstrap | Stock, why: "as in MariaDB; the directory that is built in belongs to an installed server"},
	{name: "persisted_globals_load", value: "OFF", stages: always, fixed: true, why: "SET PERSIST of a copied data directory must not undo this file"},

	{name: "mysqlx", value: "OFF", stages: paths, fixed: true, why: "nothing listens that nobody asked for; 3 threads and 4 MB less"},
	{name: "skip_networking", value: factPrivate, stages: paths, fixed: true, why: "nobody but the builder may connect"},
	{name: "port", value: factPort, stages: Run | Build | Stock, fixed: true, why: "chosen by --port, or any free one"},
	{name: "bind_address", value: factBind, stages: Run | Build | Stock, why: "loopback only: nothing listens to the network unless asked"},
	{name: "skip_name_resolve", value: "ON", stages: Run | Build, why: "no DNS look-up at each connection, and accounts at localhost are for the socket only"},
	{name: "skip_replica_start", value: "ON", stages: always, since: Version{8, 0, 26}, fixed: true, why: "a copied replica must not start to replicate"},
	{name: "skip_slave_start", value: "ON", stages: always, until: Version{8, 0, 26}, fixed: true, why: "a copied replica must not start to replicate"},
	{name: "local_infile", value: "ON", stages: Run | Build, why: "dumps are loaded by LOAD DATA LOCAL, twice as fast as by INSERT; off by default for the sake of clients of servers that they cannot trust"},
	{name: "ssl_cert", value: factCert, stages: Run | Build, fixed: true, why: "made beforehand: otherwise the server makes RSA keys in the data directory, 200 ms"},
	{name: "ssl_key", value: factKey, stages: Run | Build, fixed: true, why: "belongs to ssl_cert"},
	{name: "auto_generate_certs", value: "OFF", stages: always, why: "an image holds no secrets"},
	{name: "caching_sha2_password_auto_generate_rsa_keys", value: "OFF", stages: always, why: "as above; a pair that was made once is used"},
	{name: "caching_sha2_password_private_key_path", value: factRSAKey, stages: Run | Build, fixed: true, why: "by which clients without TLS send their password"},
	{name: "caching_sha2_password_public_key_path", value: factRSA, stages: Run | Build, fixed: true, why: "belongs to it"},
	{name: "sha256_password_auto_generate_rsa_keys", value: "OFF", stages: always, why: "as above"},

	{name: "innodb_page_size", value: factPageSize, stages: always, shapes: true, why: "the page size that the copied data directory was made with"},
	{name: "innodb_autoextend_increment", value: "1", stages: always, why: "grows by 1 MB instead of 64"},
	{name: "innodb_redo_log_capacity", value: "16M", stages: Run | Bootstrap, since: Version{8, 0, 30}, why: "all of it is resident once written; recovery of a branch made under load takes a second for 16M, 4 for 256M"},
	{name: "innodb_log_file_size", value: "8M", stages: Run | Bootstrap, until: Version{8, 0, 30}, why: "there are two of these: 16M of redo log"},
	{name: "innodb_redo_log_capacity", value: "128M", stages: Build, since: Version{8, 0, 30}, why: "fewer checkpoints while loading; the image gets a new, small one"},
	{name: "innodb_log_file_size", value: "64M", stages: Build, until: Version{8, 0, 30}, why: "fewer checkpoints while loading; the image gets a new, small one"},
	{name: "innodb_log_buffer_size", value: "1M", stages: Run | Bootstrap, why: "writing the log out costs a memory copy only: 60 MB less resident than with the default of 64M"},
	{name: "innodb_buffer_pool_size", value: "128M", stages: Run, why: "pages are resident once used; the supervisor raises it while the data that is worked on is larger. A larger one costs 8 % of it at once"},
	{name: "innodb_buffer_pool_size", value: "256M", stages: Build, why: "a load touches every page once"},
	{name: "innodb_buffer_pool_dump_at_shutdown", value: "OFF", stages: always, why: "reading a page again is a memory copy"},
	{name: "innodb_buffer_pool_load_at_startup", value: "OFF", stages: always, why: "work at start for nothing"},
	{name: "innodb_doublewrite", value: "ON", stages: Run | Bootstrap, why: "a 16 KB page tears when the server is killed in the middle of a write, in RAM too (docs/durability.md); OFF would leave torn pages of a copied directory as they are"},
	{name: "innodb_doublewrite_pages", value: "4", stages: Run | Bootstrap, since: Version{8, 0, 20}, why: "as in 8.0: 8 MB less resident, and 8 MB less of the volume, than with the 128 of 8.4"},
	{name: "innodb_doublewrite", value: "OFF", stages: Build, why: "a build that is killed is thrown away"},
	{name: "innodb_flush_log_at_trx_commit", value: "2", stages: Run, why: "each commit is written to the kernel, so it survives the death of the server; 0 would lose commits, 1 would write past the page cache"},
	{name: "innodb_flush_log_at_trx_commit", value: "0", stages: Build | Bootstrap, why: "a build that is killed is thrown away"},
	{name: "innodb_flush_method", value: "fsync", stages: always, volumes: "shm tmpfs ramfs", why: "a sync in shared memory is free"},
	{name: "innodb_flush_method", value: "O_DIRECT", stages: always, volumes: "xfs zram", why: "the block device is memory already: the page cache would hold every page a second time"},
	{name: "innodb_flush_method", value: "nosync", stages: always, volumes: "disk", why: "the disk volume promises no more than RAM does: no waiting for the device"},
	{name: "innodb_use_native_aio", value: "OFF", stages: always, fixed: true, why: "a stopped server must have no write in flight, or a snapshot could tear; RAM gains nothing from it"},
	{name: "innodb_temp_tablespaces_dir", value: factTempTablespaces, stages: Run, volumes: "xfs zram", since: Version{8, 0, 13}, why: "on-disk temporary tables lie where other temporary files do, which is a tmpfs"},
	{name: "innodb_purge_threads", value: "1", stages: Run, until: Version{8, 4, 0}, cpus: 16, why: "as later releases have it on machines with few CPUs"},
	{name: "innodb_fast_shutdown", value: "0", stages: Build, fixed: true, why: "an image has no undo history and no buffered changes left"},

	{name: "caching_sha2_password_digest_rounds", value: "5000", stages: always, since: Version{8, 0, 24}, why: "the least it takes; passwords of 120 random bits need no slow hash, and each first log-in waits for it"},
	{name: "key_buffer_size", value: "1M", stages: Run, why: "MyISAM's"},
	{name: "performance_schema", value: "OFF", stages: Build | Bootstrap, why: "costs 240 MB and 200 ms of start"},
	{name: "performance_schema", value: "ON", stages: Run, why: "only what tells open transactions, which nothing else does: 3 MB; --set performance_schema=ON switches on all of it, 240 MB and 200 ms of start"},
	{name: "event_scheduler", value: "OFF", stages: Build | Bootstrap, why: "an image is what it was built from: no event changes it meanwhile"},
	{name: "loose_validate_password.policy", value: "LOW", stages: Run | Build, why: "where the component is installed: it must not refuse a password that was asked for"},
	{name: "innodb_directories", value: "", stages: always, fixed: true, why: "no table lies outside the data directory, where a clone would share it"},
	{name: "max_allowed_packet", value: "1G", stages: Build, why: "whatever a dump holds"},

	{name: "log_bin", value: BinlogName, stages: Run, fixed: true, log: logged, why: "what changed is written down, for rewinding; a relative name, so that a clone never reaches its parent's log"},
	{name: "log_bin", value: "OFF", stages: Build | Bootstrap, fixed: true, why: "an image starts without history"},
	{name: "log_bin", value: "OFF", stages: Run, log: unlogged, fixed: true, why: "--log off: nothing can be reset, and nothing is written twice"},
	{name: "server_id", value: factServerID, stages: Run, log: logged, why: "the binary log wants one; each instance has its own, so that a branch is not taken for its parent"},
	{name: "binlog_format", value: "ROW", stages: Run, fixed: true, log: logged, why: "row images can be inverted, statements cannot"},
	{name: "binlog_row_image", value: "FULL", stages: Run, fixed: true, log: logged, why: "an inverted update needs the whole row as it was"},
	{name: "binlog_row_value_options", value: "", stages: Run, fixed: true, log: logged, why: "as above, for JSON"},
	{name: "binlog_transaction_compression", value: "OFF", stages: Run, since: Version{8, 0, 20}, fixed: true, log: logged, why: "the log is read as it is written"},
	{name: "binlog_rows_query_log_events", value: "OFF", stages: Run, log: logged, why: "nobody reads the statement texts"},
	{name: "binlog_checksum", value: "NONE", stages: Run, log: logged, why: "RAM does not rot"},
	{name: "binlog_expire_logs_auto_purge", value: "OFF", stages: Run, since: Version{8, 0, 29}, fixed: true, log: logged, why: "the supervisor purges"},
	{name: "binlog_expire_logs_seconds", value: "0", stages: Run, until: Version{8, 0, 29}, fixed: true, log: logged, why: "the supervisor purges"},
	{name: "gtid_mode", value: "OFF", stages: Run, log: logged, fixed: true, why: "some packages switch it on; inverted changes have no GTID of their own"},
	{name: "gtid_mode", value: "OFF", stages: Run, log: unlogged, why: "some packages switch it on; without a log each commit would write its GTID to a table"},
	{name: "enforce_gtid_consistency", value: "OFF", stages: Run, why: "goes with gtid_mode"},
	{name: "max_binlog_size", value: "16M", stages: Run, fixed: true, log: logged, why: "small files, since the supervisor purges whole ones"},
	{name: "binlog_cache_size", value: "256K", stages: Run, log: logged, why: "a transaction that is larger goes through a temporary file: with the default of 32K each INSERT of a thousand rows did, nearly half of what the log costs it in processor time"},
	{name: "sync_binlog", value: "0", stages: Run, log: logged, why: "the log is in RAM"},
	{name: "log_bin_trust_function_creators", value: "ON", stages: Run, log: logged, why: "with a binary log the application could otherwise make no function or trigger"},
}, performanceSettings())

// performanceSettings leave of performance_schema the current transaction of each thread.
// An option of a later version is loose, so that an earlier one passes over it.
func performanceSettings() []setting {
	const switcher = "performance_schema"
	row := func(name, value string) setting {
		return setting{name: name, value: value, stages: Run, unless: switcher, why: "as above"}
	}
	rows := []setting{row("performance_schema_max_statement_stack", "1")}
	for _, name := range []string{
		"accounts_size", "hosts_size", "users_size", "digests_size", "error_size", "setup_objects_size",
		"events_stages_history_size", "events_stages_history_long_size", "events_statements_history_size", "events_statements_history_long_size",
		"events_transactions_history_size", "events_transactions_history_long_size", "events_waits_history_size", "events_waits_history_long_size",
		"max_cond_classes", "max_cond_instances", "max_digest_length", "max_file_classes", "max_file_handles", "max_file_instances", "max_index_stat",
		"max_memory_classes", "max_metadata_locks", "max_mutex_classes", "max_mutex_instances", "max_prepared_statements_instances", "max_program_instances",
		"max_rwlock_classes", "max_rwlock_instances", "max_socket_classes", "max_socket_instances", "max_sql_text_length", "max_stage_classes",
		"max_statement_classes", "max_table_handles", "max_table_instances", "max_table_lock_stat",
	} {
		rows = append(rows, row(switcher+"_"+name, "0"))
	}
	for _, name := range []string{"max_logger_classes", "max_meter_classes", "max_metric_classes"} {
		rows = append(rows, row("loose_"+switcher+"_"+name, "0"))
	}
	return rows
}
