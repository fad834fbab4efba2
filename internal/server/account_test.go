package server

import (
	"regexp"
	"strings"
	"testing"
)

func TestInitSQL(t *testing.T) {
	s := testServer(Version{10, 11, 14})
	got := s.InitSQL(Login{SupervisorUser, "s3cret"}, Login{"o.hara", `it's \ "x"`}, "odd`na;me", true)
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

func TestCheckUser(t *testing.T) {
	for _, ok := range []string{"app", "o.hara", "Ünal", "a b"} {
		if err := CheckUser(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{"", "a'b", "a\\b", "a\nb", "a`b", SupervisorUser, strings.Repeat("x", 33)} {
		if err := CheckUser(bad); err == nil || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%q: got %v, want an error with a hint", bad, err)
		}
	}
}

func TestNewPassword(t *testing.T) {
	seen := map[string]bool{}
	safe := regexp.MustCompile(`^[0-9A-Za-z]{20}_aA1$`)
	for range 1000 {
		p := NewPassword()
		if !safe.MatchString(p) || seen[p] {
			t.Fatalf("password %q: quoting needed, or not new", p)
		}
		seen[p] = true
	}
}

func TestEndpoint(t *testing.T) {
	e := Endpoint{Host: "127.0.0.1", Port: 33061, Socket: "/r/server.sock", Login: Login{"o.hara", `p@/:"\`}, Database: "a b/c"}
	if got, want := e.URL(), `mysql://o.hara:p%40%2F%3A%22%5C@127.0.0.1:33061/a%20b%2Fc`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := e.ClientConfig(), `password = "p@/:\"\\"`; !strings.Contains(got, want) {
		t.Errorf("no %s in %s", want, got)
	}
}
