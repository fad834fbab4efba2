package dbconn

import (
	"regexp"
	"strings"
	"testing"
)

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
