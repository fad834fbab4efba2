package server

// mysqlFamily is MySQL, and what is made of it and says its version as it does.
var mysqlFamily = family{
	flavour: MySQL, name: "MySQL",
	// 8.0 is what most people still run; 5.7 has another dictionary.
	oldest: Version{Major: 8},

	daemons:    []string{"mysqld"},
	clients:    []string{"mysql"},
	dumpers:    []string{"mysqldump"},
	logReaders: []string{"mysqlbinlog"},

	// Debian's sid, then Ubuntu, whose packages have one name per series. Perl is for
	// scripts.
	packages: [][]string{
		{"mysql-server-core", "mysql-client-core"},
		{"mysql-server-core-8.4", "mysql-client-core-8.4", "mysql-client-8.4"},
		{"mysql-server-core-8.0", "mysql-client-core-8.0", "mysql-client-8.0"},
	},
	without: []string{"perl"},
	// Debian's stable suites, openSUSE, Arch and Alpine have none.
	installs: map[string]string{
		"ubuntu": "mysql-server-core-8.0 mysql-client-core-8.0 mysql-client-8.0",
		"fedora": "mysql-server", "rhel": "mysql-server",
	},
	elsewhere: "install MySQL's own packages (https://dev.mysql.com/downloads/mysql/)",

	init: func(supervisor, app Login) []string {
		apps := appAccounts(app)
		super := account(supervisor, "localhost")
		all := super + ", " + apps[0] + ", " + apps[1]
		return []string{
			"DROP USER IF EXISTS " + all,
			"CREATE USER " + identified(super, supervisor) + ", " + identified(apps[0], app) + ", " + identified(apps[1], app),
			"GRANT ALL PRIVILEGES ON *.* TO " + all + " WITH GRANT OPTION",
			// SYSTEM_VARIABLES_ADMIN and SESSION_VARIABLES_ADMIN could set sql_log_bin, and
			// SYSTEM_USER could change the supervisor's account.
			"REVOKE SUPER, BINLOG_ADMIN, SYSTEM_VARIABLES_ADMIN, SESSION_VARIABLES_ADMIN, SYSTEM_USER ON *.* FROM " + apps[0] + ", " + apps[1],
		}
	},
	obeyReadOnly: "CONNECTION_ADMIN",

	// Page 0 of every tablespace says which server wrote it: FIL_PAGE_SRV_VERSION,
	// https://dev.mysql.com/doc/dev/mysql-server/latest/fil0types_8h.html
	dataDir:    dataDir{mark: "mysql.ibd", versioned: []string{"mysql.ibd"}, only: []string{"mysql.ibd", "#innodb_redo"}},
	profile:    mysqlProfile,
	initialise: []string{"--initialize-insecure"},
	// 115 files that describe the tables of performance_schema once more.
	spare: []string{"performance_schema/*.sdi"},
}
