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
		"SET SESSION sql_log_bin=0, sql_mode='NO_BACKSLASH_ESCAPES';\n",
		"CREATE OR REPLACE USER 'ramaria_admin'@'localhost' IDENTIFIED BY 's3cret';\n",
		`CREATE OR REPLACE USER 'o.hara'@'localhost' IDENTIFIED BY 'it''s \ "x"', 'o.hara'@'%' IDENTIFIED BY 'it''s \ "x"';` + "\n",
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
