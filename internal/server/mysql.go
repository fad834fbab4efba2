package server

import (
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

// mysqlFamily is MySQL, and what is made of it and says its version as it does.
var mysqlFamily = Family{
	Flavour: MySQL, Name: "MySQL",
	words: []string{"utf8mb4_0900_", "caching_sha2_password"},
	Stock: StockFacts{
		Logs: true, FreshBytes: 256 << 20, ResidentBytes: 600 << 20,
		Engines: []Engine{{"MyISAM", "key_buffer_size"}},
		// https://dev.mysql.com/doc/refman/en/innodb-temporary-tablespace.html
		Temporary: TemporaryTables{Dir: "innodb_temp_tablespaces_dir"},
	},
	// 8.0 is what most people still run; 5.7 has another dictionary, and before 8.0.14
	// there is no SESSION_VARIABLES_ADMIN to withhold.
	Oldest: Version{8, 0, 14},
	// An upgrade goes through each of its long-term series; within 8.0 no release reads
	// what a later one wrote.
	steps: []string{"8.0", "8.4", "9.7"}, strict: "8.0",

	Daemons:    []string{"mysqld"},
	Clients:    []string{"mysql"},
	Dumpers:    []string{"mysqldump"},
	LogReaders: []string{"mysqlbinlog"},

	dialect: dbconn.Dialect{
		Applier: dbconn.SlaveWords,
		CreateUsers: func(names, identified string) []string {
			return []string{"DROP USER IF EXISTS " + names, "CREATE USER " + identified}
		},
		PutBackUsers: mysqlPutBack,
		// authentication_string holds bytes, not text.
		Accounts: `SELECT User, Host, JSON_OBJECT('plugin', plugin, 'authentication_string', IF(COALESCE(authentication_string, '') = '', '', 'set'))
			FROM mysql.user USE INDEX () WHERE account_locked <> 'Y'`,
		LockAccounts: "UPDATE mysql.user USE INDEX () SET account_locked = 'Y'",
		Users:        "SELECT User, Host, plugin, 'N' AS is_role FROM mysql.user USE INDEX ()",
		Own:          "SELECT COUNT(*) FROM mysql.user USE INDEX () WHERE User = %s",
		Logins:       "SELECT Host, plugin, HEX(authentication_string) FROM mysql.user USE INDEX () WHERE User = %s ORDER BY Host",
		RootShut:     "SELECT COUNT(*) FROM mysql.user USE INDEX () WHERE User = 'root' AND Host = 'localhost' AND account_locked = 'Y'",
		OpenRoot:     "ALTER USER root@localhost IDENTIFIED BY %s ACCOUNT UNLOCK",
		ObeyReadOnly: "CONNECTION_ADMIN", ObeySource: "REPLICATION_SLAVE_ADMIN",
		// Views and routines whose definer has it, as the application does, are otherwise out
		// of reach.
		Leased: "SYSTEM_USER",
		// https://dev.mysql.com/doc/refman/en/server-system-variables.html#sysvar_partial_revokes
		Verbatim: "partial_revokes",
		// https://dev.mysql.com/doc/refman/8.4/en/performance-schema-data-lock-waits-table.html
		RowLocks: "SELECT h.processlist_id FROM performance_schema.threads w JOIN performance_schema.data_lock_waits l ON l.requesting_thread_id = w.thread_id " +
			"JOIN performance_schema.threads h ON h.thread_id = l.blocking_thread_id JOIN performance_schema.data_locks k ON k.engine_lock_id = l.requesting_engine_lock_id " +
			"WHERE w.processlist_id = %d AND h.processlist_id IS NOT NULL AND k.object_schema = %s",
		Transactions: dbconn.TransactionsBySchema,
		Everybodys:   "SELECT @@GLOBAL.mandatory_roles",
		// https://dev.mysql.com/doc/refman/8.4/en/xa-states.html
		Detached: "SELECT e.xid_format_id, e.xid_gtrid, IFNULL(e.xid_bqual, '') FROM performance_schema.events_transactions_current e JOIN performance_schema.threads t USING (thread_id) " +
			"WHERE e.xa_state = 'PREPARED' AND e.state = 'ACTIVE' AND e.xid_gtrid IS NOT NULL AND t.processlist_user <> ",
		Unlogged: []dbconn.Variable{
			{Name: "sql_log_bin", Value: "0"}, {Name: "foreign_key_checks", Value: "0"}, {Name: "unique_checks", Value: "1"},
			// Of the user's it has what computed columns depend on, but for PAD_CHAR_TO_FULL_LENGTH, by which it would read names
			// of accounts with spaces behind them. MariaDB takes no column that depends on sql_mode.
			{Name: "sql_mode", Value: "CONCAT('NO_AUTO_VALUE_ON_ZERO', IF(FIND_IN_SET('TIME_TRUNCATE_FRACTIONAL', @@GLOBAL.sql_mode), ',TIME_TRUNCATE_FRACTIONAL', ''))"},
			// The holder of a lock is an application's session; it is ended, not waited for.
			{Name: "lock_wait_timeout", Value: "1"}, {Name: "innodb_lock_wait_timeout", Value: "1"},
			// Counters are to be those of now.
			{Name: "information_schema_stats_expiry", Value: "0"},
			// Keys that MySQL made invisible in tables without one are not to be made again, and are seen.
			{Name: "sql_generate_invisible_primary_key", Value: "OFF", Since: "!80030"},
			{Name: "show_gipk_in_create_table_and_information_schema", Value: "ON", Since: "!80030"},
			// A view's text names the routines and tables of MySQL 5 as well.
			{Name: "sql_require_primary_key", Value: "OFF"},
			// What a template has a clone gets, whatever a session could not make now.
			{Name: "innodb_strict_mode", Value: "0"}, {Name: "restrict_fk_on_non_standard_key", Value: "OFF", Since: "!80400"},
			{Name: "explicit_defaults_for_timestamp", Value: "1"}, // a definition says all that there is
			{Name: "default_collation_for_utf8mb4", Value: "'utf8mb4_0900_ai_ci'"},
		},
	},
	// Not SYSTEM_USER: without it no account drops what a dump made for a definer who has it,
	// such as root@localhost.
	withheld: []privilege{
		// These four, and no others, can set sql_log_bin or purge logs.
		{name: "SUPER"}, {name: "BINLOG_ADMIN"}, {name: "SYSTEM_VARIABLES_ADMIN"}, {name: "SESSION_VARIABLES_ADMIN"},
		// A log that is encrypted cannot be read.
		{name: "BINLOG_ENCRYPTION_ADMIN"},
		// Without a redo log every kill, branch and mark would be data that no server starts on.
		{name: "INNODB_REDO_LOG_ENABLE", since: Version{8, 0, 21}},
	},
	// It would let it begin another log (RESET BINARY LOGS). From then on other privileges let it
	// FLUSH what else there is to. By the second it would follow another server: from where is in no log. By the
	// others its routines would do what another may, such as to switch the log off.
	withheldDurable: []privilege{
		{name: "RELOAD", since: Version{8, 4, 0}, noticed: true}, {name: "REPLICATION_SLAVE_ADMIN"}, {name: "SET_ANY_DEFINER", since: Version{8, 2, 0}}, {name: "SET_USER_ID", until: Version{8, 4, 0}},
	},

	cascades: Version{9, 6, 0},
	readOnly: Version{8, 0, 22},
	// https://dev.mysql.com/doc/relnotes/mysql/8.0/en/news-8-0-23.html
	replica: Version{8, 0, 23},
	// It takes 8 ms a table whatever there is in it, and then a fifth of INSERT ... SELECT. Releases before
	// 8.0.29 do not describe columns that were added at once (INSTANT).
	replays: 4 << 20, costs: ReplayCosts{Group: 20 * time.Microsecond, Statement: 8 * time.Millisecond, Row: 5 * time.Microsecond, Searched: 100 * time.Microsecond, Rate: 100 << 20}, transports: 5000, transportsSince: Version{9, 7, 0},
	comments: Version{9, 0, 0}, versioned: versionedRules{spaced: true, others: lastOfFive + 1}, hidden: true,

	// Page 0 of every tablespace says which server wrote it: FIL_PAGE_SRV_VERSION,
	// https://dev.mysql.com/doc/dev/mysql-server/latest/fil0types_8h.html
	dataDir:    dataDir{mark: "mysql.ibd", versioned: []string{"mysql.ibd"}, dictionaries: []string{"mysql.ibd"}, only: []string{"mysql.ibd", "#innodb_redo"}},
	profile:    mysqlProfile,
	initialise: []string{"--initialize-insecure"},
	// It has no password.
	initialSQL: "ALTER USER 'root'@'localhost' ACCOUNT LOCK;\n",
	// 115 files that describe the tables of performance_schema once more.
	spare: []string{"performance_schema/*.sdi"},
	shut:  []string{"#ib_*.dblwr"},
	// On-disk temporary tables, which are InnoDB's.
	scratchDirs: []string{tempTablespaces},
	logDecides:  true,
	// 8 MB, the least. Its checkpoint follows the pages that it writes out by a second otherwise, and recovery reads all
	// of them again (measured: 140 ms instead of 1.1 s).
	checkpointBy: "innodb_redo_log_capacity", checkpointTo: "8388608",
}

// mysqlPutBack is the PutBackUsers of its dialect. ALTER USER keeps the plugin, which may be one without a password, and
// refuses a password of before where the account has a history of them. So the plugin, which settings may choose, and what
// it keeps of the password are those of the model, as of any new account: a history is not asked for these. The
// sql_mode is NO_BACKSLASH_ESCAPES.
func mysqlPutBack(accounts []string, password, model string) []string {
	user, host, _ := strings.Cut(model, "@")
	alter := "SET @alter = CONCAT(" + dbconn.Quote("ALTER USER ")
	for k, a := range accounts {
		if k > 0 {
			alter += ", ', '"
		}
		alter += ", " + dbconn.Quote(a) + ", @way"
	}
	return []string{
		"CREATE USER IF NOT EXISTS " + dbconn.IdentifiedBy(accounts, password),
		"DROP USER IF EXISTS " + model, "CREATE USER " + dbconn.IdentifiedBy([]string{model}, password) + " ACCOUNT LOCK",
		"SELECT CONCAT(' IDENTIFIED WITH ''', plugin, ''' AS ''', REPLACE(authentication_string, '''', ''''''), '''') INTO @way FROM mysql.user USE INDEX () WHERE User = " + user + " AND Host = " + host,
		alter + ", ' ACCOUNT UNLOCK')",
		"SET @most = @@GLOBAL.max_prepared_stmt_count, GLOBAL max_prepared_stmt_count = 1", // it may be 0
		"PREPARE alter_users FROM @alter", "EXECUTE alter_users", "DEALLOCATE PREPARE alter_users",
		"SET GLOBAL max_prepared_stmt_count = @most",
	}
}
