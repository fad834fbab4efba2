package server

import "slices"

// mariadbProfile is for MariaDB 10.6 and later. Figures: MariaDB 10.11.19, two
// cores, data in tmpfs, idle with the system tables only.
var mariadbProfile = slices.Concat(pathSettings, []setting{
	{name: "secure_file_priv", value: factFiles, stages: Run | Build | Replay, why: "LOAD DATA INFILE and INTO OUTFILE reach nothing but the instance's own directory"},
	{name: "symbolic_links", value: "OFF", stages: always, fixed: true, why: "DATA DIRECTORY is passed over: no table lies outside the data directory, where a clone would share it"},
	{name: "skip_networking", value: factPrivate, stages: paths, fixed: true, why: "only the builder may connect"},
	{name: "port", value: factPort, stages: Run | Build | Stock, fixed: true, why: "chosen by --port, or any free one"},
	{name: "bind_address", value: factBind, stages: Run | Build | Stock, why: "loopback only: nothing listens to the network unless asked"},
	{name: "skip_name_resolve", value: "ON", stages: Run | Build | Replay, why: "no DNS look-up at each connection"},
	{name: "skip_slave_start", value: "ON", stages: Run | Build | Replay, fixed: true, why: "a copied replica must not start to replicate"},
	{name: "ssl_cert", value: factCert, stages: Run | Build, since: Version{11, 4, 0}, fixed: true, why: "made beforehand: otherwise the server makes a TLS key at every start, 250 ms"},
	{name: "ssl_key", value: factKey, stages: Run | Build, since: Version{11, 4, 0}, fixed: true, why: "belongs to ssl_cert"},

	{name: "character_set_server", value: "utf8mb4", stages: always, shapes: true, why: "as the distributions' packages set it, and the server itself from 11.6"},
	{name: "innodb_page_size", value: factPageSize, stages: always, shapes: true, why: "the page size that the copied data directory was made with"},
	{name: "innodb_autoextend_increment", value: "4", stages: always, why: "grows by 4 MB instead of 64: a fresh instance takes 10 MB of the volume instead of 70, nearly all of it ibtmp1. With 1 MB the first temporary table of some hundred MB fails: the table is full"},
	{name: "innodb_temp_data_file_path", value: "ibtmp1:1M:autoextend", stages: always, why: "recreated at every start: 1 MB instead of 12 MB"},
	{name: "innodb_temp_data_file_path", value: factTempData, stages: Run, why: "in tmpdir, which is a wheatfs: temporary tables may outgrow the RAM"},
	{name: "innodb_log_file_size", value: "16M", stages: Run | Bootstrap, log: logged, why: "redo log: all of it is resident once written. 8M loses a fifth of all writes; 96M gains a sixth in bulk inserts, for 83 MB more"},
	{name: "innodb_log_file_size", value: "96M", stages: Run, log: unlogged, why: "the server's default. --log off is for who writes hard: with 16M bulk inserts are at 0.85 of what they are with this; --set innodb_log_file_size=16M takes 83 MB less"},
	{name: "innodb_log_file_size", value: "64M", stages: Build, why: "fewer checkpoints while loading; the image gets a new, small one"},
	{name: "innodb_log_file_size", value: "128M", stages: Replay, why: "few checkpoints; the next start makes a small one"},
	{name: "innodb_log_buffer_size", value: "2M", stages: Run | Bootstrap, why: "writing the log out costs a memory copy only: 16M is 14 MB more resident for no gain; unused where the server maps the log"},
	{name: "innodb_buffer_pool_size", value: "128M", stages: Run, why: "pages are resident once used; the supervisor raises it while the data that is worked on is larger. Idle, 64M, 128M and 256M differ by 4 MB and 3 ms of start"},
	mostPool(Version{10, 11, 12}, Version{10, 12, 0}),
	mostPool(Version{11, 4, 6}, Version{11, 5, 0}),
	mostPool(Version{11, 8, 2}, Version{}),
	{name: "innodb_buffer_pool_size", value: "256M", stages: Build, why: "a load touches every page once"},
	{name: "innodb_buffer_pool_size", value: factReplayPool, stages: Replay, why: "all data, where there is memory for it: pages that are read a second time, past the page cache, double the time of a replay"},
	{name: "innodb_buffer_pool_dump_at_shutdown", value: "OFF", stages: always, why: "reading a page again is a memory copy"},
	{name: "innodb_buffer_pool_load_at_startup", value: "OFF", stages: always, why: "work at start for nothing"},
	{name: "innodb_doublewrite", value: "ON", stages: Run, untorn: ifTorn, pledged: true, why: "a 16 KB page tears when the server is killed in the middle of a write, in RAM too: without it 2 of 80 kills under load left a database that does not start. Costs a tenth of the writes while data fits the pool (docs/durability.md)"},
	{name: "innodb_doublewrite", value: "OFF", stages: Run, volumes: "disk", untorn: ifUntorn, why: "--device-atomic: the device writes a page whole or not at all (docs/volumes.md)"},
	{name: "innodb_doublewrite", value: "OFF", stages: Build | Bootstrap | Replay, why: "a build that is killed is thrown away, and so is a replay"},
	{name: "innodb_flush_log_at_trx_commit", value: "1", stages: Run, pledged: true, watched: true, volumes: "shm", why: "should the server map its redo log into memory, as it tries in /dev/shm, 2 would lose acknowledged commits when it is killed (docs/durability.md); costs 2 to 3 %"},
	{name: "innodb_flush_log_at_trx_commit", value: "2", stages: Run, pledged: true, watched: true, volumes: "tmpfs ramfs xfs zram disk", why: "each commit is written to the kernel, so it survives the death of the server; 0 would lose commits, 1 would write past the page cache"},
	{name: "innodb_flush_log_at_trx_commit", value: "0", stages: Build | Bootstrap | Replay, why: "a build that is killed is thrown away, and so is a replay"},
	{name: "innodb_flush_method", value: "fsync", stages: always, volumes: "shm tmpfs ramfs", why: "a sync in shared memory is free; O_DIRECT, O_DSYNC and nosync were no faster beyond noise"},
	{name: "innodb_flush_method", value: "O_DIRECT", stages: always, volumes: "xfs zram", why: "the block device is memory already: the page cache would hold every page a second time"},
	{name: "debug_no_sync", value: "ON", stages: always, replica: ifAlone, volumes: "disk", why: "the disk volume promises no more than RAM does: no waiting for the device"},
	{name: "innodb_flush_method", value: "nosync", stages: always, replica: ifAlone, volumes: "disk", untorn: ifTorn, why: "as above, for InnoDB's own files"},
	{name: "innodb_flush_method", value: "O_DIRECT", stages: Run, volumes: "disk", untorn: ifUntorn, why: "a page is one request to the device; in the page cache a kill tears it"},
	{name: "innodb_use_native_aio", value: "OFF", stages: always, fixed: true, why: "a stopped server must have no write in flight, or a snapshot could tear; RAM gains nothing from it"},
	{name: "innodb_purge_threads", value: "1", stages: Run, cpus: 4, why: "four wake and contend for every small change, a twentieth of the time of tests that are reset. Under 8 threads of writes on two cores the purge keeps up no worse; MySQL has one up to 16 CPUs"},
	{name: "innodb_fast_shutdown", value: "0", stages: Build, fixed: true, why: "an image has no undo history and no buffered changes left"},
	{name: "innodb_stats_persistent", value: "OFF", stages: Run | Replay, log: logged, why: "statistics stay in memory: persistent ones make a clone of a template take 1.7 to 2.3 times as long, and recent releases calculate them again whenever a reset puts a counter back, which takes longer the larger the table. In memory they sample 8 pages of an index, the default (2 for a table whose counter a reset puts back); 20, as for persistent ones, made a reset a quarter longer"},
	{name: "innodb_stats_on_metadata", value: "OFF", stages: Run, why: "reading information_schema must not recompute statistics"},

	{name: "aria_pagecache_buffer_size", value: "8M", stages: always, why: "5 MB less resident than with the default of 128M, which serves system and on-disk temporary tables only"},
	{name: "key_buffer_size", value: "1M", stages: Run, why: "MyISAM's; 23 MB less resident and 10 ms less start than with the default of 128M"},
	{name: "query_cache_size", value: "0", stages: always, why: "off in every current default; saves its memory"},
	{name: "query_cache_type", value: "OFF", stages: always, why: "no lock per statement"},
	{name: "performance_schema", value: "OFF", stages: Build | Bootstrap | Replay, why: "costs 95 MB and 45 ms of start"},
	{name: "performance_schema", value: "OFF", stages: Run, log: unlogged, why: "costs 95 MB and 45 ms of start; switch it on by --set performance_schema=ON"},
	{name: "performance_schema", value: "ON", stages: Run, log: logged, why: "only what tells who holds metadata locks, which nothing else does: 3 MB; --set performance_schema=ON switches on all of it, 95 MB and 45 ms of start"},
	{name: "performance_schema_instrument", value: "wait/lock/metadata/sql/mdl=ON", stages: Run, log: logged, why: "as above"},
	{name: "max_allowed_packet", value: "1G", stages: Build | Replay, why: "whatever a dump holds, or a log"},

	{name: "log_bin", value: BinlogName, stages: Run, fixed: true, log: logged, why: "what changed is written down, for rewinding; a relative name, so that a clone never reaches its parent's log"},
	{name: "log_bin", value: "OFF", stages: Build | Bootstrap | Replay, fixed: true, why: "an image starts without history"},
	{name: "log_bin", value: "OFF", stages: Run, log: unlogged, fixed: true, why: "--log off: nothing can be reset, and nothing is written twice"},
	{name: "server_id", value: factServerID, stages: Run, log: logged, why: "the binary log wants one; each instance has its own, so that a branch is not taken for its parent"},
	{name: "binlog_format", value: "ROW", stages: Run, fixed: true, watched: true, log: logged, why: "row images can be inverted, statements cannot"},
	{name: "binlog_row_image", value: "FULL", stages: Run, fixed: true, watched: true, log: logged, why: "an inverted update needs the whole row as it was"},
	{name: "binlog_annotate_row_events", value: "OFF", stages: Run, log: logged, why: "the statement texts are not read"},
	{name: "binlog_checksum", value: "NONE", stages: Run, durability: unsafely, log: logged, why: "RAM does not rot"},
	{name: "binlog_checksum", value: "CRC32", stages: Run, durability: durable, fixed: true, watched: true, log: logged, why: "the archived log lies on a disk, and disks rot"},
	{name: "log_bin_compress", value: "OFF", stages: Run, fixed: true, watched: true, log: logged, why: "the log is read as it is written"},
	{name: "max_binlog_size", value: "16M", stages: Run, fixed: true, log: logged, why: "small files, since the supervisor purges whole ones"},
	{name: "binlog_cache_size", value: "256K", stages: Run, log: logged, why: "a transaction that is larger goes through a temporary file: with the default of 32K each INSERT of a thousand rows did, nearly half of what the log costs it in processor time"},
	{name: "sync_binlog", value: "0", stages: Run, durability: unsafely, log: logged, why: "the log is in RAM"},
	{name: "sync_binlog", value: "0", stages: Run, durability: durable, fixed: true, log: logged, why: "the archive has the log on disk; in RAM it needs no sync"},
	{name: "rpl_semi_sync_master_enabled", value: "OFF", promised: "ON", stages: Run, replica: ifNoMember, durability: waits, fixed: true, watched: true, log: logged, why: "switched on by the init file, before anybody can connect: a commit is answered when the archive has it on disk and says so, as a semi-synchronous replica does, and what the server commits to recover would wait for one that cannot connect yet"},
	{name: "rpl_semi_sync_master_timeout", value: "315360000000", stages: Run, durability: waits, fixed: true, watched: true, log: logged, why: "ten years, in ms: a commit that is not on disk waits, and is never answered before"},
	{name: "rpl_semi_sync_master_wait_point", value: "AFTER_SYNC", stages: Run, durability: waits, fixed: true, watched: true, log: logged, why: "no session sees what is not on disk yet"},
	{name: "rpl_semi_sync_master_wait_no_slave", value: "ON", stages: Run, durability: waits, fixed: true, watched: true, log: logged, why: "commits wait while the archive is away, too"},
	{name: "max_delayed_threads", value: "0", stages: Run, log: logged, why: "INSERT DELAYED inserts at once: its rows would come after the reset of the database"},
	{name: "log_bin_trust_function_creators", value: "ON", stages: Run, log: logged, why: "with a binary log the application could otherwise make no function or trigger"},
}, replicaSettings, []setting{
	{name: "log_slave_updates", value: "ON", stages: Run, replica: ifReplica, fixed: true, log: logged, why: "it has a log of its own to go on with when it is promoted"},
	{name: "slave_parallel_threads", value: "4", stages: Run, replica: ifReplica, log: logged, why: "as MySQL has it: one applier is behind eight writers"},
	{name: "skip_slave_start", value: "ON", stages: Run, replica: ifParted, fixed: true, log: logged, why: "the supervisor starts it, once it has applied what it had received"},
	{name: "master_retry_count", value: "0", stages: Run, replica: ifReplica, log: logged, why: "the source is asked for ever"},
	{name: "slave_net_timeout", value: "10", stages: Run, replica: ifReplica, log: logged, why: "a source that is gone is seen in seconds; it says every two that it is there"},
}, galeraSettings, replaySettings, []setting{
	{name: "ssl", value: "OFF", stages: Replay, since: Version{11, 4, 0}, why: "otherwise the server makes a TLS key, 250 ms"},
	{name: "relay_log_info_file", value: factRelayInfo, stages: Replay, why: "beside the relay log, for the same reason"},
	{name: "master_info_file", value: factSourceInfo, stages: Replay, why: "beside the relay log, for the same reason"},
	{name: "system_versioning_alter_history", value: "KEEP", stages: Replay, why: "a session may have altered a table with history, which no log says"},
	{name: "loose_innodb_force_primary_key", value: "OFF", stages: Replay, why: "it may have been off when a table was made"},
	{name: "loose_innodb_read_only_compressed", value: "OFF", stages: Replay, why: "it may have been off when a table was written to"},
	{name: "strict_password_validation", value: "OFF", stages: Replay, why: "the log has hashes of passwords"},
	{name: "secure_timestamp", value: "NO", stages: Replay, why: "the time of a statement is that of the log"},
	{name: "max_statement_time", value: "0", stages: Replay, why: "a statement takes as long as it takes"},
	{name: "myisam_recover_options", value: "FORCE,QUICK", stages: Replay, why: "a table that a killed server left crashed is repaired when it is opened, whatever that costs, and does not hold up the rest"},
	{name: "aria_recover_options", value: "FORCE,QUICK", stages: Replay, why: "as above"},
	{name: "gtid_strict_mode", value: "OFF", stages: Replay, why: "the log may have numbers out of order"},
	{name: "slave_parallel_threads", value: "0", stages: Replay, why: "several crash on relay logs that no server received"},
}, logOnly(performanceSettings(MariaDB)))

// logOnly limits rows to servers with a binary log.
func logOnly(rows []setting) []setting {
	for i := range rows {
		rows[i].log = logged
	}
	return rows
}

// mostPool is the row of releases that reserve address space for all that the pool may grow to
// (MDEV-29445).
func mostPool(since, until Version) setting {
	return setting{name: "innodb_buffer_pool_size_max", value: factMostPool, stages: Run, since: since, until: until, unless: "innodb_buffer_pool_size", why: "address space that the pool may grow into; costs nothing"}
}
