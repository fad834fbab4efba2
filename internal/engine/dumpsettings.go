package engine

import (
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
)

// dumperSetting is an argument of the servers' dumpers, and why each dump of ours has it.
type dumperSetting struct {
	argument, why string
}

// dumperSettings are those of every dump. What is not named here is right by default in all versions: --opt (quick, extended
// INSERTs, DROP TABLE, create options), statements of 1 MB (net_buffer_length), TIMESTAMP in UTC (tz-utc), no column
// statistics, invisible generated keys written with their values, sequences and packages of MariaDB.
var dumperSettings = []dumperSetting{
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

// whole are the arguments by which a dumper writes all that databases have, as it was at one moment, and locks nothing.
func whole(of *server.Server) []string {
	var args []string
	for _, s := range dumperSettings {
		args = append(args, s.argument)
	}
	if beginsAsTold(of) {
		args = append(args, "--init-command="+dbconn.ToolSettings())
	}
	return args
}
