package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRemovesIPC(t *testing.T) {
	const (
		etc   = "etc/systemd/logind.conf"
		usr   = "usr/lib/systemd/logind.conf"
		here  = "run/systemd/users/1000"
		login = "NAME=ann\nSTATE=active\n"
	)
	for _, c := range []struct {
		name  string
		uid   int
		files map[string]string
		want  bool
	}{
		{"no logind", 1000, nil, false},
		{"directories that logind left in an image", 1000, map[string]string{"run/systemd/seats/x": ""}, false},
		{"somebody else is logged in", 1000, map[string]string{"run/systemd/users/1001": "NAME=bob\n"}, false},
		{"default", 1000, map[string]string{here: login}, true},
		{"default, said", 1000, map[string]string{here: login, etc: "[Login]\n#RemoveIPC=yes\n"}, true},
		{"default of RHEL", 1000, map[string]string{here: login, etc: "[Login]\n#RemoveIPC=no\n"}, false},
		{"on where the default is off", 1000, map[string]string{here: login, etc: "[Login]\n#RemoveIPC=no\nRemoveIPC=yes\n"}, true},
		{"off", 1000, map[string]string{here: login, etc: "[Login]\nRemoveIPC = no\n"}, false},
		{"off, shipped", 1000, map[string]string{here: login, usr: "[Login]\nRemoveIPC=no\n"}, false},
		{"shipped, and on", 1000, map[string]string{here: login, usr: "RemoveIPC=no\n", etc: "RemoveIPC=yes\n"}, true},
		{"off beside it", 1000, map[string]string{here: login, etc + ".d/a.conf": "[Login]\nRemoveIPC=off\n"}, false},
		{"on again", 1000, map[string]string{here: login, etc: "RemoveIPC=no\n", etc + ".d/a.conf": "RemoveIPC=yes\n"}, true},
		{"the later name counts", 1000, map[string]string{here: login, etc + ".d/a.conf": "RemoveIPC=yes\n", usr + ".d/b.conf": "RemoveIPC=no\n"}, false},
		{"of one name, that in etc", 1000, map[string]string{here: login, etc + ".d/a.conf": "RemoveIPC=yes\n", usr + ".d/a.conf": "RemoveIPC=no\n"}, true},
		{"lingers", 1000, map[string]string{here: login, "var/lib/systemd/linger/ann": ""}, false},
		{"another lingers", 1000, map[string]string{here: login, "var/lib/systemd/linger/bob": ""}, true},
		{"root", 0, map[string]string{"run/systemd/users/0": "NAME=root\n"}, false},
		{"the system's", 999, map[string]string{"run/systemd/users/999": "NAME=ci\n"}, false},
		{"the system's, by login.defs", 1000, map[string]string{here: login, "etc/login.defs": "SYS_UID_MIN 100\nSYS_UID_MAX\t\t 1000\n"}, false},
		{"a person, by login.defs", 700, map[string]string{"run/systemd/users/700": "NAME=ann\n", "etc/login.defs": "SYS_UID_MAX 499\n"}, true},
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
		if got := (Host{Root: root}).RemovesIPC(c.uid); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
