package software

import "github.com/ramaria-db/ramaria/internal/server"

// packages are those that hold the servers of a flavour. Another series is another row.
type packages struct {
	// names are the packages of Debian, Ubuntu and the like that hold them, in the
	// order of trial: the daemon's first, and as many of the others as there are. without
	// are those that these depend on and that their programs do not need.
	names   [][]string
	without []string
	// installs are the packages that people install, by distribution as in installers,
	// and elsewhere says it for all others.
	installs  map[string]string
	elsewhere string
	// maker is where the maker's own packages are, of each series.
	maker string
}

var packagesOf = map[server.Flavour]packages{
	server.MariaDB: {
		// One name since Debian 12 and Ubuntu 23.04, one per series before. The third
		// has the programs that write dumps and read logs, and scripts that need Perl; the last makes clusters, 1 MB.
		names: [][]string{
			{"mariadb-server-core", "mariadb-client-core", "mariadb-client", "galera-4"},
			{"mariadb-server-core-10.11", "mariadb-client-core-10.11", "mariadb-client-10.11", "galera-4"},
			{"mariadb-server-core-10.6", "mariadb-client-core-10.6", "mariadb-client-10.6", "galera-4"},
		},
		without: []string{"perl", "libconfig-inifiles-perl", "debianutils"},
		installs: map[string]string{
			"debian": "mariadb-server-core mariadb-client",
			"fedora": "mariadb-server", "rhel": "mariadb-server", "suse": "mariadb mariadb-client",
			"arch": "mariadb", "alpine": "mariadb mariadb-client",
		},
		elsewhere: "install the package mariadb-server of your distribution",
		maker:     "https://mariadb.org/download/",
	},
	server.MySQL: {
		// Debian's sid, then Ubuntu, whose packages have one name per series. Perl is for
		// scripts.
		names: [][]string{
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
		maker:     "https://dev.mysql.com/downloads/mysql/",
	},
}

// packages are those of the family that is wanted.
func (w want) packages() packages { return packagesOf[w.family.Flavour] }
