package replay

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
)

// An applier notes how far it is in tables of the schema mysql, and does nothing without them. Whoever may drop tables may
// drop these, too: the running server does not miss them. What the log does to them is left out (repeatable.OfNotes).
// What the data lacks of them, or has in another form, remakeNotes makes again.

// notesQuery asks whether MariaDB's table is as its applier wants it, and notesSQL makes it so.
//
// https://mariadb.com/docs/server/reference/system-tables/the-mysql-database-tables/mysql-gtid_slave_pos-table
const notesQuery = `SELECT COUNT(*) = 4 AND COALESCE(SUM(CONCAT(column_name, ' ', column_key) IN ('domain_id PRI', 'sub_id PRI', 'server_id ', 'seq_no ')), 0) = 4
	FROM information_schema.columns WHERE table_schema = 'mysql' AND table_name = 'gtid_slave_pos'`

var notesSQL = []string{
	"DROP TABLE IF EXISTS mysql.gtid_slave_pos",
	`CREATE TABLE mysql.gtid_slave_pos (domain_id INT UNSIGNED NOT NULL, sub_id BIGINT UNSIGNED NOT NULL, server_id INT UNSIGNED NOT NULL,
		seq_no BIGINT UNSIGNED NOT NULL, PRIMARY KEY (domain_id, sub_id)) ENGINE=InnoDB CHARSET=latin1 COMMENT='Replication slave GTID position'`,
}

// notesTables are those of MySQL, and notesCount asks how many of them there are.
var (
	notesTables = []string{"slave_master_info", "slave_relay_log_info", "slave_worker_info"}
	notesCount  = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'mysql' AND table_name IN ('" + strings.Join(notesTables, "', '") + "')"
)

// remakeNotes makes the tables that an applier needs where they are missing. MySQL is started once more for that: it makes
// system tables when it is told to upgrade them.
func (s *session) remakeNotes(ctx context.Context) error {
	if s.Server.Flavour == server.MariaDB {
		var whole bool
		if err := s.db.QueryRowContext(ctx, notesQuery).Scan(&whole); err != nil {
			return fmt.Errorf("look for the applier's table: %w", err)
		}
		for _, text := range notesSQL {
			if whole {
				break
			}
			if err := s.exec(ctx, text); err != nil {
				return err
			}
		}
		return nil
	}
	d := s.Server.Dialect()
	var n int
	if err := s.db.QueryRowContext(ctx, notesCount).Scan(&n); err != nil {
		return fmt.Errorf("look for the applier's tables: %w", err)
	}
	// Which columns they have differs from release to release: a server that cannot use them takes no relay log.
	if n == len(notesTables) && s.exec(ctx, d.ApplyFrom(s.relayName(0), firstEvent)) == nil {
		return nil
	}
	for _, table := range notesTables {
		if err := s.exec(ctx, "DROP TABLE IF EXISTS mysql."+table); err != nil {
			return err
		}
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	s.upgrades = true
	return s.start(ctx)
}

// set are the settings of the server.
func (s *session) set() map[string]string {
	if !s.upgrades {
		return s.Set
	}
	set := maps.Clone(s.Set)
	if set == nil {
		set = map[string]string{}
	}
	set["upgrade"] = "FORCE"
	return set
}
