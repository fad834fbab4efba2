package corpus

// source is a schema that a package ships.
type source struct {
	name string
	// kind is the registry, a key of fetchers; none: files are paths from the root of this repository.
	kind, pkg, version string
	// files are patterns of paths inside the package, in the order in which they are loaded.
	files []string
	// own is the database that the text names itself with USE.
	own string
	// edits are pairs: a text that the program behind the schema replaces, and what it puts there.
	edits []string
	// goose says that what stands below "-- +goose Down" undoes the schema.
	goose bool
	// textOnly says that only a program that splits it otherwise than clients makes a database of the text.
	textOnly bool
	// apps of Django make their tables themselves, by migrations: there is no text. See django_test.go.
	apps []string
}

// sources are what the corpus is made of. A text must have the checksum of sums.txt.
var sources = []source{
	{name: "chinook", files: []string{"tests/testdata/samples/chinook.sql"}, own: "Chinook"},
	{name: "northwind", files: []string{"tests/testdata/samples/northwind.sql", "tests/testdata/samples/northwind-data.sql"}, own: "northwind"},
	{name: "sakila", files: []string{"tests/testdata/samples/sakila-schema.sql", "tests/testdata/samples/sakila-data.sql"}, own: "sakila"},

	{name: "bacula", kind: "deb", pkg: "bacula-director-mysql", files: []string{"usr/share/dbconfig-common/data/bacula-director-mysql/install/mysql"}},
	{name: "cacti", kind: "deb", pkg: "cacti", files: []string{"usr/share/cacti/conf_templates/cacti.sql"}},
	{name: "ejabberd", kind: "deb", pkg: "ejabberd", files: []string{"usr/share/ejabberd/sql/mysql.sql"}},
	{name: "ejabberd-new", kind: "deb", pkg: "ejabberd", files: []string{"usr/share/ejabberd/sql/mysql.new.sql"}},
	{name: "freeradius", kind: "deb", pkg: "freeradius-config", files: []string{
		"etc/freeradius/3.0/mods-config/sql/main/mysql/schema.sql", "etc/freeradius/3.0/mods-config/sql/main/mysql/process-radacct.sql"}},
	{name: "icinga2-ido", kind: "deb", pkg: "icinga2-ido-mysql", files: []string{"usr/share/icinga2-ido-mysql/schema/mysql.sql"}},
	{name: "icingadb", kind: "deb", pkg: "icingadb", files: []string{"usr/share/icingadb/schema/mysql/schema.sql"}},
	{name: "icingaweb2", kind: "deb", pkg: "icingaweb2", files: []string{"usr/share/icingaweb2/schema/mysql.schema.sql"}},
	{name: "icinga-director", kind: "deb", pkg: "icingaweb2-module-director", files: []string{"usr/share/icingaweb2/modules/director/schema/mysql.sql"}},
	{name: "icinga-reporting", kind: "deb", pkg: "icingaweb2-module-reporting", files: []string{"usr/share/icingaweb2/modules/reporting/schema/mysql.sql"}},
	{name: "icinga-x509", kind: "deb", pkg: "icingaweb2-module-x509", files: []string{"usr/share/icingaweb2/modules/x509/etc/schema/mysql.schema.sql"}},
	{name: "kamailio", kind: "deb", pkg: "kamailio-mysql-modules", files: []string{"usr/share/kamailio/mysql/standard-create.sql", "usr/share/kamailio/mysql/[alm]*-create.sql", "usr/share/kamailio/mysql/[pu]???*-create.sql", "usr/share/kamailio/mysql/dialog-create.sql"}},
	{name: "kea", kind: "deb", pkg: "kea-admin", files: []string{"usr/share/kea/scripts/mysql/dhcpdb_create.mysql"}},
	{name: "mediawiki", kind: "deb", pkg: "mediawiki", files: []string{"usr/share/mediawiki/maintenance/tables-generated.sql", "usr/share/mediawiki/maintenance/tables.sql"},
		edits: []string{"/*_*/", "mw_", "/*i*/", "", "/*$wgDBTableOptions*/", "ENGINE=InnoDB, DEFAULT CHARSET=binary"}},
	{name: "pdns", kind: "deb", pkg: "pdns-backend-mysql", files: []string{
		"usr/share/pdns-backend-mysql/schema/schema.mysql.sql", "usr/share/pdns-backend-mysql/schema/enable-foreign-keys.mysql.sql"}},
	{name: "phpmyadmin", kind: "deb", pkg: "phpmyadmin", files: []string{"usr/share/phpmyadmin/sql/create_tables.sql"}, own: "phpmyadmin"},
	{name: "request-tracker", kind: "deb", pkg: "request-tracker5", files: []string{"usr/share/request-tracker5/etc/schema.mysql"}},
	{name: "roundcube", kind: "deb", pkg: "roundcube-core", files: []string{"usr/share/roundcube/SQL/mysql.initial.sql"}},
	{name: "rsyslog", kind: "deb", pkg: "rsyslog-mysql", files: []string{"usr/share/dbconfig-common/data/rsyslog-mysql/install/mysql"}},
	{name: "tt-rss", kind: "deb", pkg: "tt-rss", files: []string{"usr/share/tt-rss/schema/ttrss_schema_mysql.sql"}},
	{name: "ulogd", kind: "deb", pkg: "ulogd2", files: []string{"usr/share/doc/ulogd2/mysql-ulogd2.sql.gz"}},
	{name: "zabbix", kind: "deb", pkg: "zabbix-server-mysql", files: []string{"usr/share/zabbix-server-mysql/schema.sql.gz", "usr/share/zabbix-server-mysql/images.sql.gz"}},

	{name: "activiti", kind: "maven", pkg: "org.activiti:activiti-engine", version: "7.1.0.M6", files: []string{"org/activiti/db/create/activiti.mysql.create.engine.sql", "org/activiti/db/create/activiti.mysql.create.history.sql"}},
	{name: "camunda", kind: "maven", pkg: "org.camunda.bpm:camunda-engine", version: "7.21.0", files: []string{
		"org/camunda/bpm/engine/db/create/activiti.mysql.create.engine.sql", "org/camunda/bpm/engine/db/create/activiti.mysql.create.history.sql",
		"org/camunda/bpm/engine/db/create/activiti.mysql.create.identity.sql", "org/camunda/bpm/engine/db/create/activiti.mysql.create.case.*.sql",
		"org/camunda/bpm/engine/db/create/activiti.mysql.create.decision.*.sql"}},
	{name: "flowable-common", kind: "maven", pkg: "org.flowable:flowable-engine-common", version: "7.0.1", files: []string{"org/flowable/common/db/create/flowable.mysql.create.common.sql"}},
	{name: "jobrunr", kind: "maven", pkg: "org.jobrunr:jobrunr", version: "7.3.2", files: []string{"org/jobrunr/storage/sql/mysql/migrations/v001*.sql", "org/jobrunr/storage/sql/mysql/migrations/v003*.sql"}},
	{name: "quartz", kind: "maven", pkg: "org.quartz-scheduler:quartz", version: "2.5.2", files: []string{"org/quartz/impl/jdbcjobstore/tables_mysql_innodb.sql"}},
	{name: "spring-batch", kind: "maven", pkg: "org.springframework.batch:spring-batch-core", version: "5.2.6", files: []string{"org/springframework/batch/core/schema-mysql.sql"}},
	{name: "spring-batch-mariadb", kind: "maven", pkg: "org.springframework.batch:spring-batch-core", version: "5.2.6", files: []string{"org/springframework/batch/core/schema-mariadb.sql"}},
	{name: "spring-session", kind: "maven", pkg: "org.springframework.session:spring-session-jdbc", version: "3.5.7", files: []string{"org/springframework/session/jdbc/schema-mysql.sql"}},
	{name: "spring-modulith", kind: "maven", pkg: "org.springframework.modulith:spring-modulith-events-jdbc", version: "1.3.1", files: []string{"schema-mysql.sql"}},

	{name: "express-session", kind: "npm", pkg: "express-mysql-session", version: "3.0.3", files: []string{"schema.sql"}},
	{name: "mysql-import", kind: "npm", pkg: "mysql-import", version: "5.0.26", files: []string{"test/sample_dump_files/test.sql"}},

	{name: "mattermost", kind: "go", pkg: "github.com/mattermost/mattermost-server/v6", version: "v6.7.2", files: []string{"db/migrations/mysql/*.up.sql"}, textOnly: true},
	{name: "openfga", kind: "go", pkg: "github.com/openfga/openfga", version: "v1.8.0", files: []string{"assets/migrations/mysql/*.sql"}, goose: true},
	{name: "temporal", kind: "go", pkg: "go.temporal.io/server", version: "v1.25.0", files: []string{"schema/mysql/v8/temporal/schema.sql"}},
	{name: "cadence", kind: "go", pkg: "github.com/uber/cadence", version: "v1.2.10", files: []string{"schema/mysql/v8/cadence/schema.sql"}},
	{name: "trillian", kind: "go", pkg: "github.com/google/trillian", version: "v1.6.0", files: []string{"storage/mysql/schema/storage.sql"}},

	{name: "django", kind: "pypi", pkg: "django", version: "5.2.19", apps: []string{
		"django.contrib.admin", "django.contrib.flatpages", "django.contrib.messages", "django.contrib.redirects", "django.contrib.sites"}},
	{name: "wagtail", kind: "pypi", pkg: "wagtail", version: "7.0.10", apps: []string{
		"taggit", "wagtail", "wagtail.admin", "wagtail.contrib.forms", "wagtail.contrib.redirects", "wagtail.documents", "wagtail.embeds", "wagtail.images", "wagtail.search", "wagtail.users"}},
}
