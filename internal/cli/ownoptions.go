package cli

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// leadsElsewhere is an option by which a client program goes to another server.
var leadsElsewhere = regexp.MustCompile(`(?i)^\s*(?:loose[-_])?(host|socket|port|protocol)\s*=`)

// warnOwnOptions tells of an option file of the user's own that names a server: client
// programs read it after the one of MYSQL_HOME, so that it wins.
func (a *app) warnOwnOptions() {
	path := filepath.Join(os.Getenv("HOME"), ".my.cnf")
	option, err := elsewhere(path)
	if err == nil && option != "" {
		a.say("warning: %s sets %s, and wins over what ramaria tells client programs: mysql and mariadb may go to another server\nhint: mysql --defaults-file=\"$MYSQL_HOME/my.cnf\", or ramaria sql", path, option)
	}
}

// elsewhere returns the option of an option file that leads client programs to a server, or ""
// if no line does.
func elsewhere(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	forClients := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if group, ok := strings.CutPrefix(line, "["); ok {
			group = strings.ToLower(group)
			forClients = strings.HasPrefix(group, "client") || strings.HasPrefix(group, "mysql]") || strings.HasPrefix(group, "mariadb-client]")
			continue
		}
		if m := leadsElsewhere.FindStringSubmatch(line); forClients && m != nil {
			return m[1], nil
		}
	}
	return "", lines.Err()
}
