package dump_test

import (
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/internal/dump"
)

func TestLeaveOut(t *testing.T) {
	variables := map[string]bool{"sql_log_bin": true, "gtid_purged": true}
	for _, tt := range []struct{ text, rest, found string }{
		{"SET @@SESSION.SQL_LOG_BIN= 0", "", "sql_log_bin"},
		{"SET @@SESSION.SQL_LOG_BIN = @MYSQLDUMP_TEMP_LOG_BIN", "", "sql_log_bin"},
		{"set session sql_log_bin := off", "", "sql_log_bin"},
		{"SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a-b:1-7,c-d:1'", "", "gtid_purged"},
		{"/*!80000 SET @@GLOBAL.GTID_PURGED='x' */", "", "gtid_purged"},
		{"SET foreign_key_checks = 0, sql_log_bin = 0 , sql_mode = 'A,B'", "SET foreign_key_checks = 0, sql_mode = 'A,B'", "sql_log_bin"},
		{"SET sql_log_bin = 0, GLOBAL gtid_purged = ''", "", "sql_log_bin gtid_purged"},
		{"SET SQL_LOG_BIN = @@GLOBAL.sql_log_bin", "", "sql_log_bin"},
		{"SET SQL_LOG_BIN=0\nINSERT INTO t VALUES (1)", "=", ""},
		{"SET GTID_PURGED='x' DELETE FROM t", "=", ""},
		{"SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN", "=", ""},
		{"SET @sql_log_bin = 0", "=", ""},
		{"SET /*!40101 sql_log_bin = 0, */ foreign_key_checks = 0", "=", ""},
		{"SET STATEMENT sql_log_bin = 0 FOR INSERT INTO t VALUES (1)", "=", ""},
		{"SET NAMES utf8mb4", "=", ""},
		{"SET NAMES latin1, sql_log_bin = 0", "=", ""},
		{"SET sql_log_bin = 0, a = 1 -- x\n, b = 2", "=", ""},
		{"SET PASSWORD FOR 'a'@'b' = 'sql_log_bin = 0'", "=", ""},
		{"UPDATE t SET sql_log_bin = 0", "=", ""},
	} {
		rest, found := dump.LeaveOut([]byte(tt.text), variables)
		want := tt.rest
		if want == "=" {
			want = tt.text
		}
		if string(rest) != want || (rest == nil) != (want == "") || strings.Join(found, " ") != tt.found {
			t.Errorf("%s: %q, %v; want %q, %s", tt.text, rest, found, want, tt.found)
		}
	}
}
