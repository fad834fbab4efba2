package server

import "strings"

// mariadbFamily is MariaDB.
var mariadbFamily = family{
	flavour: MariaDB, name: "MariaDB", version: "MariaDB",
	// Its makers still care for 10.6.
	oldest: Version{Major: 10, Minor: 6},

	// mysqld and the like are the names before 10.5, which stayed as links.
	daemons:    []string{"mariadbd", "mysqld"},
	clients:    []string{"mariadb", "mysql"},
	dumpers:    []string{"mariadb-dump", "mysqldump"},
	logReaders: []string{"mariadb-binlog", "mysqlbinlog"},
	upgrader:   upgrader{name: "mariadb-upgrade", calls: []string{"mariadb", "mariadb-check"}},

	// One name since Debian 12 and Ubuntu 23.04, one per series before. The last
	// package has what writes dumps and reads logs, and scripts for which it wants Perl.
	packages: [][]string{
		{"mariadb-server-core", "mariadb-client-core", "mariadb-client"},
		{"mariadb-server-core-10.11", "mariadb-client-core-10.11", "mariadb-client-10.11"},
		{"mariadb-server-core-10.6", "mariadb-client-core-10.6", "mariadb-client-10.6"},
	},
	without: []string{"perl", "libconfig-inifiles-perl", "debianutils"},
	installs: map[string]string{
		"debian": "mariadb-server-core mariadb-client",
		"fedora": "mariadb-server", "rhel": "mariadb-server", "suse": "mariadb mariadb-client",
		"arch": "mariadb", "alpine": "mariadb mariadb-client",
	},
	elsewhere: "install the package mariadb-server of your distribution",

	create:   func(_, identified string) []string { return []string{"CREATE OR REPLACE USER " + identified} },
	accounts: "SELECT User, Host, Priv FROM mysql.global_priv",
	// Both would let it switch the binary log off.
	withheld:     []privilege{{name: "SUPER"}, {name: "BINLOG ADMIN"}},
	obeyReadOnly: "READ_ONLY ADMIN",

	// https://mariadb.com/kb/en/information-schema-innodb_lock_waits-table/
	rowLocks: "SELECT h.trx_mysql_thread_id FROM information_schema.innodb_trx w JOIN information_schema.innodb_lock_waits l ON l.requesting_trx_id = w.trx_id " +
		"JOIN information_schema.innodb_trx h ON h.trx_id = l.blocking_trx_id JOIN information_schema.innodb_locks k ON k.lock_id = l.requested_lock_id " +
		"WHERE w.trx_mysql_thread_id = %d AND h.trx_mysql_thread_id > 0 AND SUBSTRING_INDEX(k.lock_table, '.', 1) = CONCAT('`', REPLACE(%s, '`', '``'), '`')",
	// On world, of 984, 4079 and 239 rows, it takes half the time of INSERT ... SELECT.
	transports: 400, transactions: transactionsByReport, bulk: Version{10, 11, 0},
	// https://mariadb.com/kb/en/begin-end/
	block: func(statements ...string) string {
		return "BEGIN NOT ATOMIC " + strings.Join(statements, "; ") + "; END"
	},
	// From 10.11.12, 11.4.6 and 11.8.2 on (MDEV-35000), and while statistics are not persistent.
	sampling: "innodb_stats_transient_sample_pages",
	unlogged: map[string]string{
		// With neither checks of keys nor of uniqueness an empty table is filled in bulk: a
		// third less time.
		"sql_log_bin": "0", "foreign_key_checks": "0", "unique_checks": "0", "check_constraint_checks": "0",
		"sql_mode": "'NO_AUTO_VALUE_ON_ZERO'",
		// What is read from a template is not locked.
		"tx_isolation": "'READ-COMMITTED'",
		// Whoever holds a lock is an application's session; it is ended, not waited for.
		"lock_wait_timeout": "1", "innodb_lock_wait_timeout": "1",
	},

	dataDir: dataDir{mark: "mysql/*.frm", versionFiles: []string{"mariadb_upgrade_info", "mysql_upgrade_info"}},
	profile: mariadbProfile,
	// What mariadb-install-db runs, in its order. The help texts are half of its work
	// and most of an empty server's rows; nobody asks a throw-away server for HELP.
	bootstrap: []bootstrapFile{
		{names: []string{"mariadb_system_tables.sql", "mysql_system_tables.sql"}},
		{names: []string{"mariadb_performance_tables.sql", "mysql_performance_tables.sql"}},
		{names: []string{"mariadb_system_tables_data.sql", "mysql_system_tables_data.sql"}},
		{names: []string{"fill_help_tables.sql"}, optional: true, stock: true},
		{names: []string{"maria_add_gis_sp_bootstrap.sql"}, optional: true},
		{names: []string{"mariadb_sys_schema.sql", "mysql_sys_schema.sql"}, optional: true},
	},
	initialise: []string{"--bootstrap"}, settle: []string{"--bootstrap"},
}
