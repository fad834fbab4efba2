package server

import (
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// mariadbFamily is MariaDB.
var mariadbFamily = Family{
	Flavour: MariaDB, Name: "MariaDB", VersionMark: "MariaDB",
	words: []string{"uca1400_", "WITH SYSTEM VERSIONING"},
	Stock: StockFacts{
		FreshBytes: 192 << 20, ResidentBytes: 160 << 20,
		Engines:   []Engine{{"Aria", "aria_pagecache_buffer_size"}, {"MyISAM", "key_buffer_size"}},
		Temporary: TemporaryTables{Cache: "aria_pagecache_buffer_size"},
	},
	// Its makers still care for 10.6.
	Oldest: Version{Major: 10, Minor: 6},

	// mysqld and the like are the names before 10.5, which stayed as links.
	Daemons:    []string{"mariadbd", "mysqld"},
	Clients:    []string{"mariadb", "mysql"},
	Dumpers:    []string{"mariadb-dump", "mysqldump"},
	LogReaders: []string{"mariadb-binlog", "mysqlbinlog"},
	upgrader:   upgrader{name: "mariadb-upgrade", calls: []string{"mariadb", "mariadb-check"}},

	dialect: dbconn.Dialect{
		// The one of 10.6 to 11.8; its REPLICA is a synonym since 10.5.
		Applier: dbconn.ApplierWords{Source: "MASTER", Option: "MASTER", Replica: "SLAVE", Column: "Slave", NoGTID: "MASTER_USE_GTID=no"},
		// Its only way in is that of the operating system's root.
		RootShut:  "SELECT COUNT(*) FROM mysql.global_priv USE INDEX () WHERE User = 'root' AND Host = 'localhost' AND JSON_VALUE(Priv, '$.authentication_string') = 'invalid'",
		OpenRoot:  "ALTER USER root@localhost IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD(%s)",
		GTIDState: "gtid_binlog_state", AppliedGTIDs: "gtid_slave_pos",
		CreateUsers:  func(_, identified string) []string { return []string{"CREATE OR REPLACE USER " + identified} },
		PutBackUsers: mariadbPutBack,
		Logins:       "SELECT Host, JSON_VALUE(Priv, '$.plugin'), JSON_VALUE(Priv, '$.authentication_string'), JSON_QUERY(Priv, '$.auth_or') FROM mysql.global_priv USE INDEX () WHERE User = %s ORDER BY Host",
		Accounts:     "SELECT User, Host, Priv FROM mysql.global_priv USE INDEX ()",
		LockAccounts: "UPDATE mysql.global_priv USE INDEX () SET Priv = JSON_SET(Priv, '$.account_locked', true)",
		Users:        "SELECT User, Host, JSON_VALUE(Priv, '$.plugin') AS plugin, IF(JSON_VALUE(Priv, '$.is_role') = 1, 'Y', 'N') AS is_role FROM mysql.global_priv USE INDEX ()",
		Own:          "SELECT COUNT(*) FROM mysql.global_priv USE INDEX () WHERE User = %s",
		ObeyReadOnly: "READ_ONLY ADMIN", ObeySource: "REPLICATION SLAVE ADMIN, REPLICATION MASTER ADMIN",
		// https://mariadb.com/kb/en/information-schema-innodb_lock_waits-table/
		RowLocks: "SELECT h.trx_mysql_thread_id FROM information_schema.innodb_trx w JOIN information_schema.innodb_lock_waits l ON l.requesting_trx_id = w.trx_id " +
			"JOIN information_schema.innodb_trx h ON h.trx_id = l.blocking_trx_id JOIN information_schema.innodb_locks k ON k.lock_id = l.requested_lock_id " +
			"WHERE w.trx_mysql_thread_id = %d AND h.trx_mysql_thread_id > 0 AND SUBSTRING_INDEX(k.lock_table, '.', 1) = CONCAT('`', REPLACE(%s, '`', '``'), '`')",
		Transactions: dbconn.TransactionsByReport,
		Unlogged: []dbconn.Variable{
			// With neither checks of keys nor of uniqueness an empty table is filled in bulk: a
			// third less time.
			{Name: "sql_log_bin", Value: "0"}, {Name: "foreign_key_checks", Value: "0"}, {Name: "unique_checks", Value: "0"},
			{Name: "sql_mode", Value: "'NO_AUTO_VALUE_ON_ZERO'"},
			// The holder of a lock is an application's session; it is ended, not waited for.
			{Name: "lock_wait_timeout", Value: "1"}, {Name: "innodb_lock_wait_timeout", Value: "1"},
			// What a template has a clone gets, whatever a session could not make now.
			{Name: "check_constraint_checks", Value: "0"}, {Name: "innodb_strict_mode", Value: "0"},
			{Name: "system_versioning_alter_history", Value: "'KEEP'"}, {Name: "enforce_storage_engine", Value: "NULL"},
			{Name: "sql_if_exists", Value: "0", Since: "M!100502"}, {Name: "alter_algorithm", Value: "'DEFAULT'"},
			{Name: "explicit_defaults_for_timestamp", Value: "1", Since: "M!101100"}, // a definition says all that there is
		},
	},
	// Both would let it switch the binary log off.
	withheld: []privilege{{name: "SUPER"}, {name: "BINLOG ADMIN"}},
	// The first would let it answer commits that are not on disk, and begin another log, and what the
	// second lets it apply is in no log. By the third its routines would do what another may, such as to
	// switch the log off.
	withheldDurable: []privilege{{name: "REPLICATION MASTER ADMIN", noticed: true}, {name: "REPLICATION SLAVE ADMIN"}, {name: "SET USER", since: Version{10, 5, 2}}},

	// On world, of 984, 4079 and 239 rows, it takes half the time of INSERT ... SELECT.
	replays: 6 << 20, costs: ReplayCosts{Group: 12 * time.Microsecond, Statement: 3 * time.Millisecond, Row: 2 * time.Microsecond, Searched: 12 * time.Microsecond, Rate: 100 << 20}, transports: 400, bulk: Version{10, 11, 0}, versioned: versionedRules{own: true, others: 50700}, greeted: Version{11, 5, 0},
	// https://mariadb.com/kb/en/begin-end/
	block: func(statements ...string) string {
		return "BEGIN NOT ATOMIC " + strings.Join(statements, "; ") + "; END"
	},
	// From 10.11.12, 11.4.6 and 11.8.2 on (MDEV-35000), and while statistics are not persistent.
	sampling: "innodb_stats_transient_sample_pages",

	dataDir: dataDir{mark: "mysql/*.frm", versionFiles: []string{"mariadb_upgrade_info", "mysql_upgrade_info"}},
	profile: mariadbProfile,
	// The scripts that mariadb-install-db runs, in its order. The help texts are half of its work
	// and most of an empty server's rows; a throw-away server is not asked for HELP.
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

// mariadbPutBack is the PutBackUsers of its dialect. IDENTIFIED BY replaces every way to log in.
func mariadbPutBack(accounts []string, password, _ string) []string {
	by := dbconn.IdentifiedBy(accounts, password)
	return []string{"CREATE USER IF NOT EXISTS " + by, "ALTER USER " + by + " ACCOUNT UNLOCK"}
}
