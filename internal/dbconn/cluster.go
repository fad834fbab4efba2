package dbconn

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Roles of members: of a group of MySQL one is written to, of a Galera cluster all may be.
const (
	RolePrimary   = "primary"
	RoleSecondary = "secondary"
	RoleAny       = "any"
)

// ClusterView is what a member says of its cluster.
type ClusterView struct {
	// State is the server's own word for its state (ONLINE, RECOVERING, OFFLINE; Synced, Joining, ...), and Online whether it
	// is a whole member.
	State  string
	Online bool
	// Role is one of those above, "" for a server that is no member at the moment.
	Role string
	// Size is how many members it sees, and Quorum whether these may go on.
	Size   int
	Quorum bool
	// Listed are the addresses of all that a group has not thrown out, reached or not, itself among them.
	Listed []string
	// Primary is the address of the member of a group that is written to, "" if none is that is reached, and Headless says
	// that it is known and not reached: the group chooses another one when it has thrown that out.
	Primary  string
	Headless bool
	// GTIDs are those that it has, and Purged those of them that a member of a group has not in its log any more.
	GTIDs, Purged string
	// Cut says that the server has lost the others, and does not look for them any more: they may reach it for a while yet.
	Cut bool
}

// ClusterView asks a member.
func (d Dialect) ClusterView(ctx context.Context, db *sql.DB) (v ClusterView, err error) {
	if d.AppliedGTIDs != "" {
		v, err = galeraView(ctx, db)
	} else {
		v, err = groupView(ctx, db)
	}
	if err != nil {
		return v, fmt.Errorf("ask a member for its cluster: %w", err)
	}
	return v, nil
}

// galeraView is that of MariaDB. SHOW is answered by a member that is not ready, too.
// https://mariadb.com/kb/en/galera-cluster-status-variables/
func galeraView(ctx context.Context, db *sql.DB) (v ClusterView, err error) {
	err = Query(ctx, db, "SHOW GLOBAL STATUS LIKE 'wsrep\\_%'", func(c []string) error {
		switch c[0] {
		case "wsrep_local_state_comment":
			v.State = c[1]
		case "wsrep_ready":
			v.Online = c[1] == "ON"
		case "wsrep_connected":
			v.Cut = c[1] == "OFF"
		case "wsrep_cluster_size":
			v.Size, _ = strconv.Atoi(c[1]) // of a server that is no member it is 0
		case "wsrep_cluster_status":
			v.Quorum = c[1] == "Primary"
		}
		return nil
	})
	if err != nil {
		return v, err
	}
	v.Online = v.Online && v.Quorum && v.State == "Synced"
	if v.Online {
		v.Role = RoleAny
	}
	err = Query(ctx, db, "SHOW GLOBAL VARIABLES LIKE 'gtid_binlog_state'", func(c []string) error {
		v.GTIDs = c[1]
		return nil
	})
	return v, err
}

// groupView is that of MySQL.
// https://dev.mysql.com/doc/refman/en/performance-schema-replication-group-members-table.html
func groupView(ctx context.Context, db *sql.DB) (v ClusterView, err error) {
	members := 0
	err = Query(ctx, db, `SELECT MEMBER_ID = @@server_uuid, MEMBER_STATE, MEMBER_ROLE, MEMBER_HOST, MEMBER_PORT FROM performance_schema.replication_group_members`, func(c []string) error {
		members++
		address := net.JoinHostPort(c[3], c[4])
		v.Listed = append(v.Listed, address)
		reached := c[1] == "ONLINE" || c[1] == "RECOVERING"
		if reached {
			v.Size++
		}
		if c[2] == "PRIMARY" {
			v.Headless = !reached
			if reached {
				v.Primary = address
			}
		}
		if c[0] == "1" {
			v.State, v.Role = c[1], strings.ToLower(c[2])
		}
		return nil
	})
	if err != nil {
		return v, err
	}
	if v.State == "" {
		v.State = "OFFLINE"
	}
	v.Cut = v.State == "OFFLINE" || v.State == "ERROR"
	v.Quorum = (v.State == "ONLINE" || v.State == "RECOVERING") && v.Size > members/2
	v.Online = v.State == "ONLINE" && v.Quorum
	if !v.Online {
		v.Role = ""
	}
	var gtids string
	var purged string
	err = db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_executed, @@GLOBAL.gtid_purged").Scan(&gtids, &purged)
	v.GTIDs, v.Purged = strings.ReplaceAll(gtids, "\n", ""), strings.ReplaceAll(purged, "\n", "")
	return v, err
}

// HastenExpulsion has a member of a group look now, instead of up to 15 seconds later, whether one that is not reached is to
// be thrown out. It looks whenever the time is set after which that is so, here to what it is.
// https://dev.mysql.com/doc/refman/en/group-replication-responses-failure-expel.html
func HastenExpulsion(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "SET GLOBAL group_replication_member_expel_timeout = @@GLOBAL.group_replication_member_expel_timeout")
	if err != nil {
		return fmt.Errorf("have the group throw out the primary that it lost: %w", err)
	}
	return nil
}

// numberStep is the step between the GTIDs of two lives of a Galera cluster.
const numberStep = 1_000_000

// BeginNumbers has a Galera cluster that a server has just begun give its transactions higher numbers than any member's log
// has: who has the most is known by them. most is the highest that is known of; a step leaves room for what one has that was
// left out.
// https://mariadb.com/kb/en/galera-cluster-system-variables/#wsrep_gtid_seq_no
func BeginNumbers(ctx context.Context, db *sql.DB, most uint64) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	var state string
	if err := conn.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_binlog_state").Scan(&state); err != nil {
		return fmt.Errorf("begin the cluster's numbers: %w", err)
	}
	for gtid := range strings.SplitSeq(state, ",") {
		number, ofCluster := strings.CutPrefix(gtid, "0-")
		if _, number, ok := strings.Cut(number, "-"); ok && ofCluster {
			n, err := strconv.ParseUint(number, 10, 64)
			if err != nil {
				return fmt.Errorf("begin the cluster's numbers: parse GTID %q: %w", gtid, err)
			}
			most = max(most, n)
		}
	}
	// The statement changes nothing, and all members log it.
	for _, text := range []string{fmt.Sprintf("SET SESSION wsrep_gtid_seq_no = %d", (most/numberStep+1)*numberStep), "FLUSH PRIVILEGES"} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("begin the cluster's numbers: %w", err)
		}
	}
	return nil
}

// ClusterUser is the account by which members of a group get what they lack from each other.
const ClusterUser = "ramaria_cluster"

// GroupAccountSQL returns the statements, for an init file, that make that account. It logs in from host, as in CREATE USER.
func GroupAccountSQL(l Login, host string) string {
	name := account(l, host)
	return "CREATE USER IF NOT EXISTS " + name + ";\nALTER USER " + identified(name, l) + ";\n" +
		"GRANT REPLICATION SLAVE, GROUP_REPLICATION_STREAM ON *.* TO " + name + ";\n"
}

// bootstrapPatience is how long a server may take to be told that it begins no group any more.
const bootstrapPatience = 30 * time.Second

// HoldPrimarySQL returns the statement, for an init file, by which a new primary stays read-only until somebody else has it be
// written to. It is refused once a server is super_read_only.
// https://dev.mysql.com/doc/refman/en/group-replication-member-actions.html
func HoldPrimarySQL() string {
	return "SELECT group_replication_disable_member_action('mysql_disable_super_read_only_if_primary', 'AFTER_PRIMARY_ELECTION');\n"
}

// JoinGroup has a server join the group of that name, or begin it.
func JoinGroup(ctx context.Context, db *sql.DB, name string, l Login, begin bool) error {
	if _, err := db.ExecContext(ctx, "SET GLOBAL group_replication_group_name = "+Quote(name)); err != nil {
		return fmt.Errorf("set the name of the group: %w", err)
	}
	change := fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_USER=%s, SOURCE_PASSWORD=%s FOR CHANNEL 'group_replication_recovery'", Quote(l.User), Quote(l.Password))
	if _, err := db.ExecContext(ctx, change); err != nil {
		return fmt.Errorf("set the account of the group: %w", err)
	}
	if !begin {
		if _, err := db.ExecContext(ctx, "START GROUP_REPLICATION"); err != nil {
			return fmt.Errorf("join the group: %w", err)
		}
		return nil
	}
	if _, err := db.ExecContext(ctx, "SET GLOBAL group_replication_bootstrap_group = ON"); err != nil {
		return fmt.Errorf("begin the group: %w", err)
	}
	_, err := db.ExecContext(ctx, "START GROUP_REPLICATION")
	// In any session, as that of an interrupted statement is gone: with it a member that was thrown out would begin another group.
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), bootstrapPatience)
	defer cancel()
	if _, oerr := db.ExecContext(clean, "SET GLOBAL group_replication_bootstrap_group = OFF"); err == nil {
		err = oerr
	}
	if err != nil {
		return fmt.Errorf("begin the group: %w", err)
	}
	return nil
}

// GTIDsMissing are those of a set that another lacks.
func GTIDsMissing(ctx context.Context, db *sql.DB, set, in string) (missing string, err error) {
	err = db.QueryRowContext(ctx, "SELECT GTID_SUBTRACT(?, ?)", set, in).Scan(&missing)
	if err != nil {
		return "", fmt.Errorf("compare GTIDs: %w", err)
	}
	return strings.ReplaceAll(missing, "\n", ""), nil
}

// MissingGTIDs are those of a set that a server has not executed.
func MissingGTIDs(ctx context.Context, db *sql.DB, set string) (missing string, err error) {
	err = db.QueryRowContext(ctx, "SELECT GTID_SUBTRACT(?, @@GLOBAL.gtid_executed)", set).Scan(&missing)
	return missing, err
}

// WhileWritable has a server that takes no writes take them of administrators, read-only though it stays for others, while do
// works.
func WhileWritable(ctx context.Context, db *sql.DB, do func() error) (err error) {
	if _, err := db.ExecContext(ctx, "SET GLOBAL super_read_only = OFF"); err != nil {
		return err
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), bootstrapPatience)
		defer cancel()
		_, cerr := db.ExecContext(clean, "SET GLOBAL super_read_only = ON")
		err = errors.Join(err, cerr)
	}()
	return do()
}

// unionChannel is the channel by which a server that is to begin a group gets what others alone have.
const unionChannel = "ramaria_union"

// pullPatience is how long that may take.
const pullPatience = 2 * time.Minute

// PullGTIDs has a server of MySQL get transactions from another one, at an address, and apply them.
func PullGTIDs(ctx context.Context, db *sql.DB, host string, port int, l Login, gtids string) (err error) {
	channel := " FOR CHANNEL " + Quote(unionChannel)
	ctx, cancel := context.WithTimeout(ctx, pullPatience)
	defer cancel()
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), bootstrapPatience)
		defer cancel()
		for _, text := range []string{"STOP REPLICA", "RESET REPLICA ALL"} {
			_, cerr := db.ExecContext(clean, text+channel)
			err = errors.Join(err, cerr)
		}
	}()
	var cert string
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.group_replication_recovery_ssl_ca").Scan(&cert); err != nil {
		return err
	}
	for _, text := range []string{
		fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST=%s, SOURCE_PORT=%d, SOURCE_USER=%s, SOURCE_PASSWORD=%s, SOURCE_AUTO_POSITION=1, SOURCE_SSL=1, SOURCE_SSL_CA=%s",
			Quote(host), port, Quote(l.User), Quote(l.Password), Quote(cert)),
		"START REPLICA UNTIL SQL_AFTER_GTIDS = " + Quote(gtids),
	} {
		if _, err := db.ExecContext(ctx, text+channel); err != nil {
			return err
		}
	}
	for {
		missing, err := MissingGTIDs(ctx, db, gtids)
		if err != nil {
			return err
		}
		if missing == "" {
			return nil
		}
		var why string
		err = db.QueryRowContext(ctx, `SELECT CONCAT(c.LAST_ERROR_MESSAGE, COALESCE(MAX(w.LAST_ERROR_MESSAGE), '')) FROM performance_schema.replication_connection_status c
			LEFT JOIN performance_schema.replication_applier_status_by_worker w USING (CHANNEL_NAME) WHERE CHANNEL_NAME = ? GROUP BY c.LAST_ERROR_MESSAGE`, unionChannel).Scan(&why)
		if err != nil || why != "" {
			return cmp.Or(err, errors.New(why))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(memberPause):
		}
	}
}

// ErrCut says that a server that was to join gave up.
var ErrCut = errors.New("join the cluster: the server has lost the others")

// memberPause is the pause between two looks whether a server is a member.
const memberPause = 50 * time.Millisecond

// AwaitMember waits until a server that joins is a whole member.
func AwaitMember(ctx context.Context, d Dialect, db *sql.DB) error {
	for {
		v, err := d.ClusterView(ctx, db)
		switch {
		case err == nil && v.Online:
			return nil
		case err == nil && v.Cut:
			return fmt.Errorf("%w: it is %s", ErrCut, v.State)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("join the cluster: %w: the server is %s", context.Cause(ctx), v.State)
		case <-time.After(memberPause):
		}
	}
}
