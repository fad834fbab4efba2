package dumper

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// setting is an argument of the servers' dumpers, and why each dump of ours has it.
type setting struct {
	argument, why string
}

// settings are those of every dump. What is not named here is right by default in all versions: --opt (quick, extended
// INSERTs, DROP TABLE, create options), statements of 1 MB (net_buffer_length), TIMESTAMP in UTC (tz-utc), no column
// statistics, invisible generated keys written with their values, sequences and packages of MariaDB.
var settings = []setting{
	{"--single-transaction", "tables of InnoDB as they are at one moment, without a lock"},
	{"--quick", "rows are passed on as they come, not gathered in memory"},
	{"--routines", "off by default: procedures, functions, packages"},
	{"--events", "off by default"},
	{"--triggers", "on by default, unless an option file says otherwise"},
	{"--hex-blob", "binary columns survive clients, editors and pipes that take the file for text"},
	{"--default-character-set=utf8mb4", "the only one that has every character of every column"},
	{"--max-allowed-packet=1G", "the most there is: a row of 70 MB is refused under the default of MySQL and of MariaDB before 11"},
	{"--no-tablespaces", "tablespaces are of this server's files, and cost the PROCESS right"},
}

// Whole are the arguments by which a dumper writes all that databases have, as it was at one moment, and locks nothing.
func Whole(of *server.Server) []string {
	var args []string
	for _, s := range settings {
		args = append(args, s.argument)
	}
	if beginsAsTold(of) {
		args = append(args, "--init-command="+dbconn.ToolSettings())
	}
	return args
}

// beginsAsTold reports whether the session of a dumper can be given settings, as MySQL's can from 8.2 on. All programs
// have the other option's name in the client library.
func beginsAsTold(of *server.Server) bool { return of.Dumper.Knows("init-command-add") }

// CheckWhole refuses a server of whose tables its dumper would write some of the rows. What else a dumper's session begins
// with may have it fail, and leaves nothing out.
func CheckWhole(ctx context.Context, db *sql.DB, of *server.Server, what string) error {
	if beginsAsTold(of) {
		return nil
	}
	var shortens string
	err := dbconn.Query(ctx, db, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('sql_select_limit', 'system_versioning_asof')", func(cols []string) error {
		if shortens == "" && cols[1] != whatIsWhole[cols[0]] {
			shortens = cols[0]
		}
		return nil
	})
	if err != nil || shortens == "" {
		return err
	}
	return fmt.Errorf("dump %s: %s of the server would have %s leave out rows\nhint: SET GLOBAL %[2]s = %[4]s", what, shortens, filepath.Base(of.Dumper.Path()), whatIsWhole[shortens])
}

// whatIsWhole are the values of settings with which a dumper writes all rows that there are now.
var whatIsWhole = map[string]string{"sql_select_limit": "18446744073709551615", "system_versioning_asof": "DEFAULT"}

// Everything are those of Whole, and that which writes where the log goes on behind that.
func Everything(of *server.Server) []string { return append(Whole(of), of.DumperPosition()...) }
