package adopt

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadLogin reads passwords as the client programs do.
func TestReadLogin(t *testing.T) {
	for text, want := range map[string]string{
		"password=plain":             "plain",
		"password = spaced  ":        "spaced",
		`password="a # b"`:           "a # b",
		"password=a#b":               "a",
		`password='it''s'`:           "it''s",
		`password=back\\slash`:       `back\slash`,
		`password=a\sb\tc`:           "a b\tc",
		`password=odd\qescape`:       `odd\qescape`,
		`password="quo\"te"`:         `quo"te`,
		"#password=no\npassword=yes": "yes",
		"":                           "",
	} {
		file := filepath.Join(t.TempDir(), "my.cnf")
		if err := os.WriteFile(file, []byte("[mysql]\nuser=other\n[client]\nuser = 'dba'\n"+text+"\n[mysqld]\npassword=wrong\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := ReadLogin(file)
		if err != nil || l.User != "dba" || l.Password != want {
			t.Errorf("%q: %q, %q, %v; want %q", text, l.User, l.Password, err, want)
		}
	}
}
