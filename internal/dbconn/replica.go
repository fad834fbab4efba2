package dbconn

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // what accounts of MariaDB are made of
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Source is a server that a replica follows, and from where on.
type Source struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	// Login is the account that the replica logs in with.
	Login Login `json:"login"`
	// File and Pos are where the log goes on that the replica's data lacks, and GTIDs the same as MariaDB counts it,
	// which a crash of the replica does not lose.
	File  string `json:"file"`
	Pos   int64  `json:"pos"`
	GTIDs string `json:"gtids,omitempty"`
	// TLS says that the connection is encrypted, and CA, a path below the replica's data directory, by which certificates
	// the source's is checked; "" is not.
	TLS bool   `json:"tls,omitempty"`
	CA  string `json:"ca,omitempty"`
	// SeenFrom is the host of the account of a source on another machine, or that is none of ours.
	SeenFrom string `json:"seen_from,omitempty"`
	// Begun says that the replica has followed: it does not begin at File and Pos again.
	// Lost says that its server does not know any more where it was.
	Begun bool `json:"begun,omitempty"`
	Lost  bool `json:"lost,omitempty"`
	// Life names the life of the log: in another, files and GTIDs of the same names may be of other transactions.
	Life string `json:"life"`
}

// retrySeconds is the pause between two attempts to reach a source, and heartbeatSeconds how often that says that it is
// there while it logs nothing.
const retrySeconds, heartbeatSeconds = 1, 2

// FollowSQL returns the statements that make a server a replica of a source. Nothing is followed yet.
func (d Dialect) FollowSQL(s Source) []string { return d.followSQL(s, !d.keepsPassword()) }

// followSQL is FollowSQL; withPassword has the server keep the password.
func (d Dialect) followSQL(s Source, withPassword bool) []string {
	var list []string
	if d.AppliedGTIDs != "" {
		list = append(list, "SET GLOBAL "+d.AppliedGTIDs+" = "+Quote(s.GTIDs))
	}
	return append(list, d.changeSource(s, withPassword)+d.from(s))
}

// from is where following begins.
func (d Dialect) from(s Source) string {
	if d.AppliedGTIDs != "" {
		return ", MASTER_USE_GTID=slave_pos"
	}
	return fmt.Sprintf(", %[1]s_LOG_FILE=%[2]s, %[1]s_LOG_POS=%[3]d", d.Applier.Option, Quote(s.File), s.Pos)
}

// FollowAtSQL returns the statement by which a replica that has stopped in a state finds its source at another address.
// A new address alone would have MySQL begin with the first file.
func (d Dialect) FollowAtSQL(s Source, in ReplicaState) string {
	if in.ExecFile != "" {
		s.File, s.Pos = in.ExecFile, in.ExecPos
	}
	return d.changeSource(s, !d.keepsPassword()) + d.from(s)
}

func (d Dialect) changeSource(s Source, withPassword bool) string {
	w := d.Applier
	password := ""
	if withPassword {
		password = s.Login.Password
	}
	text := fmt.Sprintf("CHANGE %[1]s TO %[2]s_HOST=%[3]s, %[2]s_PORT=%[4]d, %[2]s_USER=%[5]s, %[2]s_PASSWORD=%[6]s, %[2]s_CONNECT_RETRY=%[7]d, %[2]s_HEARTBEAT_PERIOD=%[8]d, %[2]s_SSL=%[9]d, %[2]s_SSL_VERIFY_SERVER_CERT=%[10]d, %[2]s_SSL_CA=%[11]s",
		w.Source, w.Option, Quote(s.Host), s.Port, Quote(s.Login.User), Quote(password), retrySeconds, heartbeatSeconds, number(s.TLS), number(s.CA != ""), Quote(s.CA))
	if d.keepsPassword() {
		text += ", GET_" + w.Option + "_PUBLIC_KEY=1, " + w.Option + "_RETRY_COUNT=0" // for ever
	}
	return text
}

// GTIDsAt are the GTIDs that the log of a MariaDB has before a position; "" of others.
func (d Dialect) GTIDsAt(ctx context.Context, db *sql.DB, file string, pos int64) (string, error) {
	var gtids sql.NullString
	if d.AppliedGTIDs == "" {
		return "", nil
	}
	if err := db.QueryRowContext(ctx, "SELECT BINLOG_GTID_POS(?, ?)", file, pos).Scan(&gtids); err != nil {
		return "", fmt.Errorf("ask for the GTIDs at %s:%d: %w", file, pos, err)
	}
	if !gtids.Valid {
		return "", fmt.Errorf("ask for the GTIDs at %s:%d: that is not in the log", file, pos)
	}
	return gtids.String, nil
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// StartReplicaSQL and StopReplicaSQL return the statements that start and end following, and UnfollowSQL that after which
// a server is no replica. MySQL would keep the password in a table, where its application finds it: it is told at each start,
// and remembers it for as long as it receives.
func (d Dialect) StartReplicaSQL(l Login) string {
	text := "START " + d.Applier.Replica
	if d.keepsPassword() {
		text += " USER=" + Quote(l.User) + " PASSWORD=" + Quote(l.Password)
	}
	return text
}

// keepsPassword reports whether the server keeps what CHANGE ... TO says where SQL reads it.
func (d Dialect) keepsPassword() bool { return d.Applier.Channel != "" } // MySQL

// StopReplicaSQL is beside StartReplicaSQL.
func (d Dialect) StopReplicaSQL() string { return "STOP " + d.Applier.Replica }

// UnfollowSQL is beside StartReplicaSQL.
func (d Dialect) UnfollowSQL() string { return "RESET " + d.Applier.Replica + " ALL" }

// ReplicaAccountSQL returns the statements that make the account of a replica, or replace it.
func (d Dialect) ReplicaAccountSQL(l Login, host string) []string {
	name := account(l, host)
	by := identified(name, l)
	if d.AppliedGTIDs != "" { // MariaDB logs the statement as it is
		by = name + " IDENTIFIED BY PASSWORD " + Quote(nativeHash(l.Password))
	}
	return append(d.CreateUsers(name, by), "GRANT REPLICATION SLAVE ON *.* TO "+name)
}

// nativeHash is what mysql_native_password keeps of a password.
func nativeHash(password string) string {
	once := sha1.Sum([]byte(password)) //nolint:gosec // the server's
	twice := sha1.Sum(once[:])         //nolint:gosec // the server's
	return "*" + strings.ToUpper(hex.EncodeToString(twice[:]))
}

// EndReplicaAccountSQL returns the statement that removes it.
func (d Dialect) EndReplicaAccountSQL(user, host string) string {
	return "DROP USER IF EXISTS " + Quote(user) + "@" + Quote(host)
}

// ReplicaUserPrefix begins the names of the accounts of our replicas, and RemoteUserPrefix those of them whose source is
// none of ours, or on another machine.
const (
	ReplicaUserPrefix = "ramaria_replica_"
	RemoteUserPrefix  = "ramaria_remote_"
)

// ReplicaAccounts are the names of their accounts.
func (d Dialect) ReplicaAccounts(ctx context.Context, db *sql.DB) (users []string, err error) {
	query := fmt.Sprintf("SELECT User FROM (%s) u WHERE LEFT(User, %d) = %s", d.Users, len(ReplicaUserPrefix), Quote(ReplicaUserPrefix))
	err = Query(ctx, db, query, func(c []string) error {
		users = append(users, c[0])
		return nil
	})
	return users, err
}

// UnfollowOurs makes a copy of one of our replicas no replica. One that its user has made stays as it is.
func (d Dialect) UnfollowOurs(ctx context.Context, db *sql.DB) error {
	state, err := d.ReplicaState(ctx, db)
	if err != nil || !strings.HasPrefix(state.User, ReplicaUserPrefix) && !strings.HasPrefix(state.User, RemoteUserPrefix) {
		return err
	}
	if _, err := db.ExecContext(ctx, d.UnfollowSQL()); err != nil {
		return fmt.Errorf("follow nobody: %w", err)
	}
	return nil
}

// ReplicaState is how a replica follows.
type ReplicaState struct {
	// Host, Port and User are those of the source; "" for a server that is no replica.
	Host, User string
	Port       int
	// Receiving and Applying say which of its threads run. Connecting says that the first tries to reach the source.
	Receiving, Connecting, Applying bool
	// ReadFile and ReadPos are up to where it has the source's log, ExecFile and ExecPos up to where it has applied that.
	ReadFile, ExecFile string
	ReadPos, ExecPos   int64
	// RelayFile and RelayPos are up to where it has applied its relay log.
	RelayFile string
	RelayPos  int64
	// ReceivedGTIDs and AppliedGTIDs are those of MariaDB.
	ReceivedGTIDs, AppliedGTIDs string
	// Behind is by how many seconds it is behind what it has received; -1 for not known.
	Behind int64
	// Error is what keeps it from going on, "" for nothing; Fatal says that it has stopped for it.
	Error string
	Fatal bool
	// Errno is the number of the error that the applier has stopped at, 0 for none.
	Errno int
	// Refused says that the source does not let it in, and Full that it receives no more before it has applied some.
	Refused, Full bool
}

// Stopped reports whether somebody has stopped it: nothing is wrong.
func (s ReplicaState) Stopped() bool {
	return s.Errno == 0 && !s.Applying || s.Error == "" && !s.Receiving && !s.Connecting
}

// Transient reports whether it has stopped at an error that may be none the next time: a lock that another session held.
func (s ReplicaState) Transient() bool {
	const lockWait, deadlock = 1205, 1213
	return !s.Applying && (s.Errno == lockWait || s.Errno == deadlock)
}

// Caught reports whether all that was received is applied. What the threads say of themselves is of the one that deals the
// work out: others may be at it still.
func (s ReplicaState) Caught() bool {
	if s.ReceivedGTIDs != "" {
		return sameGTIDs(s.ReceivedGTIDs, s.AppliedGTIDs)
	}
	return s.ExecFile == s.ReadFile && s.ExecPos >= s.ReadPos
}

// sameGTIDs compares lists of GTIDs, whose order says nothing.
func sameGTIDs(a, b string) bool {
	list := func(text string) []string {
		parts := strings.Split(text, ",")
		slices.Sort(parts)
		return parts
	}
	return slices.Equal(list(a), list(b))
}

// ReplicaState asks how a replica follows.
func (d Dialect) ReplicaState(ctx context.Context, db *sql.DB) (ReplicaState, error) {
	return d.replicaState(ctx, db, "")
}

func (d Dialect) replicaState(ctx context.Context, db *sql.DB, channel string) (s ReplicaState, err error) {
	got, err := row(ctx, db, "SHOW "+d.Applier.Replica+" STATUS"+channel)
	if err != nil || len(got) == 0 {
		return s, err
	}
	replica, source := d.Applier.Column, "Master"
	if replica == "Replica" {
		source = "Source"
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(got[name], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	s = ReplicaState{
		Host: got[source+"_Host"], User: got[source+"_User"], Port: int(number(source + "_Port")),
		Receiving: got[replica+"_IO_Running"] == "Yes", Applying: got[replica+"_SQL_Running"] == "Yes",
		// MySQL says Connecting, MariaDB that or Preparing.
		Connecting: got[replica+"_IO_Running"] == "Connecting" || got[replica+"_IO_Running"] == "Preparing",
		ReadFile:   got[source+"_Log_File"], ReadPos: number("Read_" + source + "_Log_Pos"),
		ExecFile: got["Relay_"+source+"_Log_File"], ExecPos: number("Exec_" + source + "_Log_Pos"),
		RelayFile: got["Relay_Log_File"], RelayPos: number("Relay_Log_Pos"),
		Errno:         int(max(number("Last_SQL_Errno"), 0)),
		ReceivedGTIDs: got["Gtid_IO_Pos"], Behind: number("Seconds_Behind_" + source),
	}
	if d.keepsPassword() { // the status has that which it was started with
		var user sql.NullString
		const query = "SELECT User_name FROM mysql.slave_master_info USE INDEX () WHERE Channel_name = ''"
		if err := db.QueryRowContext(ctx, query).Scan(&user); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return s, fmt.Errorf("read the user of the source: %w", err)
		}
		s.User = user.String
	}
	s.Refused = number("Last_IO_Errno") == errAccessDenied && !s.Receiving
	s.Full = strings.Contains(got[replica+"_IO_State"], "relay log space")
	s.Error = strings.TrimSpace(cmp.Or(got["Last_SQL_Error"], got["Last_IO_Error"]))
	if d.AppliedGTIDs != "" {
		if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL."+d.AppliedGTIDs).Scan(&s.AppliedGTIDs); err != nil {
			return s, fmt.Errorf("read %s: %w", d.AppliedGTIDs, err)
		}
	}
	s.Fatal = s.Errno != 0 && !s.Applying || s.Error != "" && !s.Receiving && !s.Connecting
	return s, nil
}
