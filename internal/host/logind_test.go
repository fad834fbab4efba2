package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRemovesIPC(t *testing.T) {
	for _, c := range []struct {
		name  string
		uid   int
		files map[string]string
		want  bool
	}{
		{"no logind", 1000, nil, false},
		{"default", 1000, map[string]string{"run/systemd/seats/x": ""}, true},
		{"commented", 1000, map[string]string{"run/systemd/seats/x": "", "etc/systemd/logind.conf": "[Login]\n#RemoveIPC=no\n"}, true},
		{"off", 1000, map[string]string{"run/systemd/seats/x": "", "etc/systemd/logind.conf": "[Login]\nRemoveIPC=no\n"}, false},
		{"off beside it", 1000, map[string]string{"run/systemd/seats/x": "", "etc/systemd/logind.conf.d/a.conf": "[Login]\nRemoveIPC=off\n"}, false},
		{"on again", 1000, map[string]string{"run/systemd/seats/x": "", "etc/systemd/logind.conf": "RemoveIPC=no\n", "etc/systemd/logind.conf.d/a.conf": "RemoveIPC=yes\n"}, true},
		{"lingers", 1000, map[string]string{"run/systemd/seats/x": "", "var/lib/systemd/linger/ann": ""}, false},
		{"root", 0, map[string]string{"run/systemd/seats/x": ""}, false},
		{"the system's", 999, map[string]string{"run/systemd/seats/x": ""}, false},
	} {
		root := t.TempDir()
		for name, text := range c.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := (Host{Root: root}).RemovesIPC(c.uid, "ann"); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
