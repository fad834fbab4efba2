package dbconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
)

// Variable is a setting of a session.
//
// Every session begins with the server's global values, which are the user's: --set, SET GLOBAL, the option
// files of an adopted service. So each of ours sets what it depends on, all of it here and in Dialect.Unlogged:
// a reset under autocommit=0 would say that it is done, and leave nothing. What the values of columns depend on
// (time_zone, div_precision_increment, default_week_format) stays the user's: a clone must compute them as the
// application does.
type Variable struct {
	Name, Value string
	// Since says which servers have it, as in the comments that these carry out: "M!101100" is MariaDB from
	// 10.11 on, "!80030" MySQL from 8.0.30 on, and no MariaDB, which passes over 50700 to 99999; "" is all.
	// https://mariadb.com/kb/en/comment-syntax/
	Since string
}

// isolation is a level at which transactions are isolated, as SET TRANSACTION names it.
type isolation string

const (
	readCommitted  isolation = "READ COMMITTED"
	repeatableRead isolation = "REPEATABLE READ"
)

// lockWait is how long sessions wait for a lock of a table, in seconds: a day.
const lockWait = "86400"

// basis is what all sessions set: what decides whether a statement is carried out, as a whole, and kept.
var basis = []Variable{
	{Name: "autocommit", Value: "1"},
	{Name: "completion_type", Value: "0"},
	{Name: "sql_safe_updates", Value: "0"},
	{Name: "sql_select_limit", Value: "18446744073709551615"},
	{Name: "sql_big_selects", Value: "1"}, // else max_join_size refuses questions
	{Name: "lock_wait_timeout", Value: lockWait},
	{Name: "wait_timeout", Value: "31536000"}, // the most there is: sessions are kept open
	{Name: "net_read_timeout", Value: "3600"},
	{Name: "net_write_timeout", Value: "3600"},
	{Name: "max_execution_time", Value: "0", Since: "!50708"},
	{Name: "max_statement_time", Value: "0", Since: "M!100101"},
	{Name: "max_session_mem_used", Value: "9223372036854775807", Since: "M!100101"},
	{Name: "system_versioning_asof", Value: "DEFAULT", Since: "M!100304"}, // the present, whatever the global value is
	{Name: "idle_transaction_timeout", Value: "0", Since: "M!100302"},
	{Name: "idle_readonly_transaction_timeout", Value: "0", Since: "M!100302"},
	{Name: "idle_write_transaction_timeout", Value: "0", Since: "M!100302"},
}

// language is what sessions set that write their statements themselves: how these are read, and answers written.
// One that loads a dump reads as the server's own client would.
var language = []Variable{
	{Name: "sql_mode", Value: "'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'", Since: "!50708"},
	{Name: "sql_mode", Value: "'STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,NO_ENGINE_SUBSTITUTION'", Since: "M!100101"}, // which MySQL has not
	{Name: "character_set_client", Value: "'utf8mb4'"},
	{Name: "character_set_results", Value: "'utf8mb4'"},
	{Name: "collation_connection", Value: "'utf8mb4_general_ci'"},
	{Name: "sql_quote_show_create", Value: "1"},
}

// setup returns the statements that give a session its settings; of a variable that is there twice the last
// value counts. The first is one of its own, since only that is the same in all versions of both flavours.
func setup(level isolation, lists ...[]Variable) []string {
	return []string{"SET SESSION TRANSACTION ISOLATION LEVEL " + string(level) + ", READ WRITE", "SET " + assignments(lists...)}
}

// assignments are what SET takes.
func assignments(lists ...[]Variable) string {
	var b strings.Builder
	first := true
	for _, list := range lists {
		for _, v := range list {
			switch text := v.Name + " = " + v.Value; {
			case v.Since != "":
				fmt.Fprintf(&b, " /*%s , %s */", v.Since, text)
			case first:
				b.WriteString(text)
				first = false
			default:
				b.WriteString(", " + text)
			}
		}
	}
	return b.String()
}

// ToolSettings is the one statement by which a session of a server's own program, such as the one that writes dumps,
// gets what it depends on and does not set itself: under sql_select_limit a dump lacks rows, and nothing says so.
func ToolSettings() string { return "SET " + assignments(basis) }

// connector makes connections, and gives each its settings before anybody has it.
type connector struct {
	driver.Connector
	setup []string
}

// Connect is that of driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range c.setup {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, text, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// initSettings begin an init file, whose session has the global values as well; the mode makes Quote right whatever
// passwords hold.
var initSettings = "SET sql_log_bin=0, sql_mode='NO_BACKSLASH_ESCAPES', " + assignments(basis) + ";\nSET SESSION TRANSACTION READ WRITE"
