package dbconn

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
)

// BesideLog lists what a server has by statements that no binary log has, sorted: a line each, of a name, how it is,
// and beside between the two. Two lists are equal if nothing of it was changed in between. It takes a millisecond or
// so, whatever there is in databases, so that it can be asked every second.
//
// So are the accounts that have one of rights, or may get it by a role: who has got those may have done so by what is in
// the log, and what they do may be in none. See Holders.
//
// It is not all that is in no log: what nothing depends on, such as statistics, and settings, it leaves out.
func BesideLog(ctx context.Context, db *sql.DB, mysql bool, rights []string) ([]string, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if _, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = "+lockWait); err != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // with that setting
		}
		_ = conn.Close()
	}()
	if _, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = 1"); err != nil {
		return nil, err
	}
	return besideLog(ctx, conn, mysql, rights)
}

func besideLog(ctx context.Context, db Querier, mysql bool, rights []string) ([]string, error) {
	query := besideMariaDB
	if mysql {
		query = besideMySQL
	}
	list := []string{} // not nil: there is nothing
	add := func(name, how string) { list = append(list, name+beside+how) }
	err := Query(ctx, db, query, func(cols []string) error {
		add(cols[0], cols[1])
		return nil
	})
	if err != nil {
		return nil, err
	}
	// With a password, and in MariaDB with a column more from one version to the next.
	err = Query(ctx, db, "SELECT * FROM mysql.servers USE INDEX ()", func(cols []string) error {
		add("server "+cols[0], fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(cols, "\x00")))))
		return nil
	})
	if err != nil {
		return nil, err
	}
	holders, err := HoldersOf(ctx, db, mysql, rights)
	if err != nil {
		return nil, err
	}
	for _, h := range holders {
		add(h.line())
	}
	if mysql {
		// Their names are in tables that take the longer the more tables there are.
		err = Query(ctx, db, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_undo_tablespaces_total', 'Innodb_undo_tablespaces_explicit')", func(cols []string) error {
			add(strings.ToLower(cols[0][:1])+cols[0][1:], cols[1])
			return nil
		})
	}
	slices.Sort(list)
	return list, err
}

// beside is what BesideLog writes between a name and how it is.
const beside = " is "

// besideMariaDB and besideMySQL ask for names and how they are. An event that runs once and is preserved is disabled then,
// which is in no log: recovered without that, it would run again.
const (
	besideMariaDB = "SELECT CONCAT('plugin ', name), dl FROM mysql.plugin USE INDEX ()" +
		" UNION ALL SELECT CONCAT('event ', db, '.', name), CONCAT('done at ', last_executed) FROM mysql.event USE INDEX () WHERE execute_at IS NOT NULL AND status = 'DISABLED' AND last_executed IS NOT NULL"
	besideMySQL = "SELECT CONCAT('plugin ', name), dl FROM mysql.plugin USE INDEX () UNION ALL SELECT CONCAT('component ', component_urn), '' FROM mysql.component USE INDEX ()" +
		" UNION ALL SELECT CONCAT('event ', event_schema, '.', event_name), CONCAT('done at ', last_executed) FROM information_schema.events" +
		" WHERE event_type = 'ONE TIME' AND status = 'DISABLED' AND last_executed IS NOT NULL" +
		// The other two cannot be changed, and are what the machine has of processors.
		" UNION ALL SELECT CONCAT('resource group ', resource_group_name), CONCAT_WS(' ', resource_group_type, resource_group_enabled, CONVERT(vcpu_ids USING ascii), thread_priority)" +
		" FROM information_schema.resource_groups WHERE resource_group_name NOT IN ('USR_default', 'SYS_default')"
)

// ChangedBesideLog names what is not as it was, of two lists by BesideLog, but for accounts. An event that is gone was
// dropped or changed by a statement, which is in the log.
func ChangedBesideLog(was, is []string) (names []string) {
	differ := func(from, to []string, passOver string) {
		for _, line := range from {
			name, _, _ := strings.Cut(line, beside)
			if !slices.Contains(to, line) && !slices.Contains(names, name) && !strings.HasPrefix(name, accountPrefix) && (passOver == "" || !strings.HasPrefix(name, passOver)) {
				names = append(names, name)
			}
		}
	}
	differ(is, was, "")
	differ(was, is, "event ")
	return names
}
