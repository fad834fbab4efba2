package dbconn

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
)

// ApplierWords are how a server calls a replica, and what it replicates from, in statements and in
// what they answer.
type ApplierWords struct {
	// Source is what CHANGE ... TO takes ("MASTER"), and Option what its options begin with.
	Source, Option string
	// Replica is "SLAVE" or "REPLICA", and Column what columns of its status begin with.
	Replica, Column string
	// Channel is the name of a source of its own, so that what the server replicates otherwise is left
	// alone; "" if that lies in other files.
	Channel string
	// NoGTID is the option of CHANGE ... TO that the log is followed by positions, "" if it is not
	// needed.
	NoGTID string
}

// The two ways of MySQL to say it.
var (
	SlaveWords   = ApplierWords{Source: "MASTER", Option: "MASTER", Replica: "SLAVE", Column: "Slave", Channel: "replay"}
	ReplicaWords = ApplierWords{Source: "REPLICATION SOURCE", Option: "SOURCE", Replica: "REPLICA", Column: "Replica", Channel: "replay"}
)

// ApplyFrom returns the statement by which the server takes its relay log from a position on.
func (d Dialect) ApplyFrom(file string, pos int64) string {
	return d.applyFrom("_HOST='localhost'", file, pos) // which is never asked
}

// ApplyFromSource is ApplyFrom with a source at a port of this machine that may be asked, in plain text, by a user's name.
func (d Dialect) ApplyFromSource(port int, user, file string, pos int64) string {
	o := ", " + d.Applier.Option
	return d.applyFrom("_HOST='127.0.0.1'"+o+"_PORT="+strconv.Itoa(port)+o+"_USER="+Quote(user)+o+"_SSL=0"+o+"_SSL_VERIFY_SERVER_CERT=0", file, pos)
}

func (d Dialect) applyFrom(source, file string, pos int64) string {
	w := d.Applier
	text := "CHANGE " + w.Source + " TO " + w.Option + source
	if w.NoGTID != "" {
		text += ", " + w.NoGTID
	}
	return text + relayPosition(file, pos) + d.Applier.channel()
}

func (w ApplierWords) channel() string {
	if w.Channel == "" {
		return ""
	}
	return " FOR CHANNEL " + Quote(w.Channel)
}

// AskSource returns the statement that has a replica connect to its source, and EndAsking that which ends this.
func (d Dialect) AskSource() string {
	return "START " + d.Applier.Replica + " IO_THREAD" + d.Applier.channel()
}

// EndAsking returns the statement that ends what AskSource began, if it has not ended by itself.
func (d Dialect) EndAsking() string {
	return "STOP " + d.Applier.Replica + " IO_THREAD" + d.Applier.channel()
}

// StartApplier returns the statement that starts applying, up to a position.
func (d Dialect) StartApplier(file string, pos int64) string {
	return d.StartApplierSQL(file, pos) + d.Applier.channel()
}

// StartApplierSQL returns the statement that has a replica apply its relay log up to a position, and not ask its source.
func (d Dialect) StartApplierSQL(file string, pos int64) string {
	return "START " + d.Applier.Replica + " SQL_THREAD UNTIL" + relayPosition(file, pos)[1:]
}

func relayPosition(file string, pos int64) string {
	return ", RELAY_LOG_FILE=" + Quote(file) + ", RELAY_LOG_POS=" + strconv.FormatInt(pos, 10)
}

// ForgetSource returns the statement after which the server is no replica.
func (d Dialect) ForgetSource() string {
	return "RESET " + d.Applier.Replica + " ALL" + d.Applier.channel()
}

// ApplierState is how far a server has applied its relay log.
type ApplierState struct {
	Running bool
	// File and Pos are where the next transaction begins; of several workers, that before which all
	// is applied.
	File string
	Pos  int64
	// Errno and Text are the error that it stopped at.
	Errno int
	Text  string
}

func (d Dialect) showApplier() string {
	return "SHOW " + d.Applier.Replica + " STATUS" + d.Applier.channel()
}

// ApplierState asks how far the server has applied its relay log.
func (d Dialect) ApplierState(ctx context.Context, db *sql.DB) (ApplierState, error) {
	w := d.Applier
	query := d.showApplier()
	got, err := row(ctx, db, query)
	if err != nil {
		return ApplierState{}, err
	}
	s := ApplierState{Running: got[w.Column+"_SQL_Running"] == "Yes", File: got["Relay_Log_File"], Text: got["Last_SQL_Error"]}
	var bad error
	number := func(name string) int64 {
		n, err := strconv.ParseInt(got[name], 10, 64)
		if err != nil {
			bad = fmt.Errorf("query %q: %s is %q", query, name, got[name])
		}
		return n
	}
	s.Pos, s.Errno = number("Relay_Log_Pos"), int(number("Last_SQL_Errno"))
	return s, bad
}

// row is the last row that a query answers, by names of columns.
func row(ctx context.Context, db *sql.DB, query string) (map[string]string, error) {
	failed := func(err error) (map[string]string, error) { return nil, fmt.Errorf("query %q: %w", query, err) }
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return failed(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return failed(err)
	}
	values, to := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	got := map[string]string{}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return failed(err)
		}
		for i, name := range names {
			got[name] = values[i].String
		}
	}
	if err := rows.Err(); err != nil {
		return failed(err)
	}
	return got, nil
}

// SeedGTIDs returns the statement by which the GTIDs of a binary log in which nothing was logged yet go on
// from a state of another's, and "" if the server numbers no transactions so, or there is no state. It
// begins the log afresh, so it must come before anything follows that.
// https://mariadb.com/kb/en/gtid/#gtid_binlog_state
func (d Dialect) SeedGTIDs(state string) string {
	if d.GTIDState == "" || state == "" {
		return ""
	}
	return "SET GLOBAL " + d.GTIDState + " = " + Quote(state)
}

// AdminSQL returns the statements, for an init file, that make an account with every right for
// connections over the socket.
func (d Dialect) AdminSQL(l Login) string {
	name := account(l, "localhost")
	text := initSettings + ";\n"
	for _, s := range d.CreateUsers(name, identified(name, l)) {
		text += s + ";\n"
	}
	return text + grantAll(name) + ";\n"
}

// EndAdminSQL returns the statement that removes what AdminSQL made.
func (d Dialect) EndAdminSQL(l Login) string { return "DROP USER IF EXISTS " + account(l, "localhost") }
