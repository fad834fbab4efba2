package durable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPersisted(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"", false},
		{`{"Version": 2}`, false},
		{`{"Version": 2, "mysql_static_variables": {}}`, false},
		{`{"Version": 2, "mysql_dynamic_variables": {"max_connections": {"Value": "99"}}}`, true},
		{`torn {`, true},
	} {
		dir := t.TempDir()
		if c.text != "" {
			if err := os.WriteFile(filepath.Join(dir, persistedName), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := persisted(dir); got != c.want || err != nil {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
	}
}
