package server

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dbconn"
)

func TestInitSQL(t *testing.T) {
	s := testServer(Version{10, 11, 14})
	got := s.Dialect().InitSQL(dbconn.Login{User: dbconn.SupervisorUser, Password: "s3cret"}, dbconn.Login{User: "o.hara", Password: `it's \ "x"`}, "odd`na;me", true)
	for _, want := range []string{
		"SET sql_log_bin=0, sql_mode='NO_BACKSLASH_ESCAPES', autocommit = 1, ",
		"CREATE OR REPLACE USER 'ramaria_admin'@'localhost' IDENTIFIED BY 's3cret';\n",
		`CREATE USER IF NOT EXISTS 'o.hara'@'localhost' IDENTIFIED BY 'it''s \ "x"', 'o.hara'@'%' IDENTIFIED BY 'it''s \ "x"';` + "\n",
		`ALTER USER 'o.hara'@'localhost' IDENTIFIED BY 'it''s \ "x"', 'o.hara'@'%' IDENTIFIED BY 'it''s \ "x"' ACCOUNT UNLOCK;` + "\n",
		"REVOKE SUPER, BINLOG ADMIN, READ_ONLY ADMIN ON *.* FROM 'o.hara'@'localhost', 'o.hara'@'%';\n",
		"CREATE DATABASE IF NOT EXISTS `odd``na;me`;\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "FROM 'ramaria_admin'") {
		t.Errorf("the supervisor loses rights:\n%s", got)
	}
	// The server reads one statement a line.
	for line := range strings.Lines(got) {
		if !strings.HasSuffix(line, ";\n") {
			t.Errorf("no statement: %q", line)
		}
	}
}

// TestReplicaWords: MySQL says REPLICA for SLAVE since 8.0.23, and MariaDB numbers transactions in a way
// that a new log has to be told of.
func TestReplicaWords(t *testing.T) {
	for _, tc := range []struct {
		server            *Server
		from, start, seed string
	}{
		{testServer(Version{10, 6, 0}), "CHANGE MASTER TO MASTER_HOST='localhost', MASTER_USE_GTID=no, RELAY_LOG_FILE='r.1', RELAY_LOG_POS=4", "START SLAVE SQL_THREAD UNTIL RELAY_LOG_FILE='r.2', RELAY_LOG_POS=99", "SET GLOBAL gtid_binlog_state = '0-1-2'"},
		{testMySQL(Version{8, 0, 22}), "CHANGE MASTER TO MASTER_HOST='localhost', RELAY_LOG_FILE='r.1', RELAY_LOG_POS=4 FOR CHANNEL 'replay'", "START SLAVE SQL_THREAD UNTIL RELAY_LOG_FILE='r.2', RELAY_LOG_POS=99 FOR CHANNEL 'replay'", ""},
		{testMySQL(Version{9, 7, 0}), "CHANGE REPLICATION SOURCE TO SOURCE_HOST='localhost', RELAY_LOG_FILE='r.1', RELAY_LOG_POS=4 FOR CHANNEL 'replay'", "START REPLICA SQL_THREAD UNTIL RELAY_LOG_FILE='r.2', RELAY_LOG_POS=99 FOR CHANNEL 'replay'", ""},
	} {
		d := tc.server.Dialect()
		if got := d.ApplyFrom("r.1", 4); got != tc.from {
			t.Errorf("%s: %s, want %s", tc.server.Name(), got, tc.from)
		}
		if got := d.StartApplier("r.2", 99); got != tc.start {
			t.Errorf("%s: %s, want %s", tc.server.Name(), got, tc.start)
		}
		if got := d.SeedGTIDs("0-1-2"); got != tc.seed || d.SeedGTIDs("") != "" {
			t.Errorf("%s: %s, want %s", tc.server.Name(), got, tc.seed)
		}
	}
}

// TestReplayTakesOver: what --set has about logs is for the server that writes one, and memory is what is there now.
func TestReplayTakesOver(t *testing.T) {
	set := map[string]string{
		"loose_rpl_semi_sync_source_enabled": "ON", "sync_binlog": "1", "innodb_flush_log_at_trx_commit": "1", "event_scheduler": "ON", "binlog_checksum": "CRC32",
		"sql_mode": "", "innodb_buffer_pool_size": "1G",
	}
	for _, srv := range []*Server{testServer(Version{10, 11, 14}), testMySQL(Version{9, 7, 4})} {
		text, err := srv.Render(Config{Stage: Replay, Volume: "shm", Set: set, ReplayPool: 3 << 30})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"\ninnodb_buffer_pool_size = 3221225472\n", "\nsql_mode = \"\"\n", "\ninnodb_flush_log_at_trx_commit = 0\n", "\nevent_scheduler = OFF\n", "\nskip_log_bin\n"} {
			if !strings.Contains(text, line) {
				t.Errorf("%s: no %q in\n%s", srv.Name(), line, text)
			}
		}
		if strings.Count(text, "innodb_buffer_pool_size") != 1 {
			t.Errorf("%s: two buffer pools in\n%s", srv.Name(), text)
		}
		for _, name := range []string{"rpl_", "sync_binlog", "binlog_checksum"} {
			if strings.Contains(text, "\n"+name) || strings.Contains(text, "\nloose_"+name) {
				t.Errorf("%s: %s in\n%s", srv.Name(), name, text)
			}
		}
	}
}
