package dbconn

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// HandOverUserPrefix begins the names of the accounts by which targets of a hand-over follow.
const HandOverUserPrefix = "ramaria_handover_"

// TargetAccountSQL returns the statements that make the account by which a target follows; encrypted says that it is to
// log in by TLS only.
func (d Dialect) TargetAccountSQL(l Login, host string, encrypted bool) []string {
	list := d.ReplicaAccountSQL(l, host)
	if encrypted {
		list = append(list, "ALTER USER "+account(l, host)+" REQUIRE SSL")
	}
	return list
}

// TargetAccounts are the accounts of targets, of any hand-over: a copy of an instance has those of its parent.
func (d Dialect) TargetAccounts(ctx context.Context, db *sql.DB) (list [][2]string, err error) {
	query := fmt.Sprintf("SELECT User, Host FROM (%s) u WHERE LEFT(User, %d) = %s", d.Users, len(HandOverUserPrefix), Quote(HandOverUserPrefix))
	err = Query(ctx, db, query, func(c []string) error {
		list = append(list, [2]string{c[0], c[1]})
		return nil
	})
	return list, err
}

// TargetFollowSQL returns the statements by which a plain server begins to follow from a source.
func (d Dialect) TargetFollowSQL(s Source) []string {
	list := d.followSQL(s, true) // it starts again by itself
	start := "START " + d.Applier.Replica + d.onlyChannel()
	if !d.assigns() {
		return append(list, start)
	}
	// Without GTIDs at the source a server that has them gives its own; one that has none refuses the option.
	change := list[len(list)-1]
	return append(list[:len(list)-1],
		"SET @assign = IF(@@GLOBAL.gtid_mode = 'ON', ', ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS=LOCAL', '')",
		"SET @follow = CONCAT("+Quote(change)+", @assign, "+Quote(d.onlyChannel())+")",
		"PREPARE follow FROM @follow", "EXECUTE follow", "DEALLOCATE PREPARE follow", "SET @follow = NULL",
		start)
}

// assigns reports whether a replica can give GTIDs to what comes without them: MySQL since 8.0.23.
func (d Dialect) assigns() bool { return d.Applier == ReplicaWords }

// onlyChannel names the channel that has no name, where a server has others besides, as in a group.
func (d Dialect) onlyChannel() string {
	if d.Applier.Channel == "" {
		return ""
	}
	return " FOR CHANNEL ''"
}

// TargetState asks a target how it follows, and EndTargetSQL returns the statements by which it ends that.
func (d Dialect) TargetState(ctx context.Context, db *sql.DB) (ReplicaState, error) {
	return d.replicaState(ctx, db, d.onlyChannel())
}

// EndTargetSQL is beside TargetState.
func (d Dialect) EndTargetSQL() []string {
	return []string{d.StopReplicaSQL() + d.onlyChannel(), d.UnfollowSQL() + d.onlyChannel()}
}

// WritableSQL returns the statements that have a server be written to, and ReadOnlySQL those after which nobody writes who
// has no privilege to do so in spite of them.
func (d Dialect) WritableSQL() []string {
	if d.AppliedGTIDs != "" {
		return []string{"SET GLOBAL read_only = OFF"}
	}
	return []string{"SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"}
}

// ReadOnlySQL is beside WritableSQL.
func (d Dialect) ReadOnlySQL() string {
	if d.AppliedGTIDs != "" {
		return "SET GLOBAL read_only = ON"
	}
	return "SET GLOBAL super_read_only = ON"
}

// Exempt are the accounts and roles that write in spite of read_only, for REVOKE, without those of the server and of
// Ramaria; none of a server that lets nobody do so.
func (d Dialect) Exempt(ctx context.Context, db *sql.DB) (names []string, err error) {
	if d.AppliedGTIDs == "" {
		return nil, nil
	}
	err = Query(ctx, db, "SELECT GRANTEE FROM information_schema.USER_PRIVILEGES WHERE REPLACE(PRIVILEGE_TYPE, '_', ' ') = "+Quote(strings.ReplaceAll(d.ObeyReadOnly, "_", " ")), func(c []string) error {
		switch user, _, _ := strings.Cut(strings.TrimPrefix(c[0], "'"), "'"); user {
		case SupervisorUser, "mariadb.sys", "mysql":
		default:
			names = append(names, c[0])
		}
		return nil
	})
	return names, err
}

// reading is a statement that only reads.
var reading = regexp.MustCompile(`(?is)^(\s|\(|/\*.*?\*/|(--\s|#)[^\n]*\n)*(SELECT|SHOW|EXPLAIN|DESC|DESCRIBE)\b`)

// Writing are the connections with a statement that may write, but for the supervisor's.
func Writing(ctx context.Context, db *sql.DB) (ids []uint64, _ error) {
	sessions, err := Sessions(ctx, db)
	for _, s := range sessions {
		if s.User != SupervisorUser && s.Command != "Sleep" && s.Statement != "" && !reading.MatchString(s.Statement) {
			ids = append(ids, s.ID)
		}
	}
	return ids, err
}

// Writers are the connections with a transaction that has written.
func Writers(ctx context.Context, db *sql.DB) (ids []uint64, err error) {
	rows, err := db.QueryContext(ctx, "SELECT trx_mysql_thread_id FROM information_schema.INNODB_TRX WHERE trx_rows_modified > 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id uint64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Follower reports how a user's connection reads the log of a server: not at all, or with what was logged sent.
func Follower(ctx context.Context, db *sql.DB, user string) (connected, sent bool, err error) {
	sessions, err := Sessions(ctx, db)
	for _, s := range sessions {
		if s.User == user && strings.HasPrefix(s.Command, "Binlog Dump") {
			connected, sent = true, sent || strings.Contains(s.State, "has sent all")
		}
	}
	return connected, sent, err
}

// Has reports whether a replica has applied all of a log up to a position of its source.
func (s ReplicaState) Has(end Source) bool {
	if end.GTIDs == "" {
		c := cmp.Or(cmp.Compare(len(s.ExecFile), len(end.File)), cmp.Compare(s.ExecFile, end.File)) // past 999999 names are longer
		return s.ExecFile != "" && (c > 0 || c == 0 && s.ExecPos >= end.Pos)
	}
	applied := lastOfDomains(s.AppliedGTIDs)
	for domain, last := range lastOfDomains(end.GTIDs) {
		if applied[domain] < last {
			return false
		}
	}
	return true
}

// lastOfDomains are the sequence numbers of a list of GTIDs of MariaDB, DOMAIN-SERVER-NUMBER, by their domains.
func lastOfDomains(list string) map[string]uint64 {
	last := map[string]uint64{}
	for _, gtid := range strings.Split(list, ",") {
		if parts := strings.Split(strings.TrimSpace(gtid), "-"); len(parts) == 3 {
			n, _ := strconv.ParseUint(parts[2], 10, 64)
			last[parts[0]] = n
		}
	}
	return last
}
