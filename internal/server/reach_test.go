package server

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRuleset: what is named by --set, and as what.
func TestRuleset(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there.log")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := testServer(Version{10, 11, 14})
	for name, c := range map[string]struct {
		set         map[string]string
		write, read []string
		ports       []int // beyond the server's own
		anyPort     bool
	}{
		"nothing":             {},
		"no path":             {set: map[string]string{"sql_mode": "ANSI", "init_connect": "SET @a='/etc'"}},
		"certificate":         {set: map[string]string{"ssl_ca": "/x/ca.pem"}, read: []string{"/x/ca.pem"}},
		"list":                {set: map[string]string{"ssl_capath": "/x/a:/x/b"}, read: []string{"/x/a", "/x/b"}},
		"key in a file":       {set: map[string]string{"loose_file_key_management_filekey": "FILE:/x/key"}, read: []string{"/x/key"}},
		"directory of files":  {set: map[string]string{"secure_file_priv": dir}, write: []string{dir}},
		"log that is there":   {set: map[string]string{"general_log_file": there}, write: []string{there}},
		"log that is not":     {set: map[string]string{"slow_query_log_file": filepath.Join(dir, "new.log")}, write: []string{dir}},
		"log in its own":      {set: map[string]string{"general_log_file": "general.log"}},
		"another port":        {set: map[string]string{"extra_port": "3307"}, ports: []int{3307}},
		"no other port":       {set: map[string]string{"extra_port": "0"}},
		"cluster":             {set: map[string]string{"wsrep_on": "ON"}, anyPort: true},
		"group of replicas":   {set: map[string]string{"loose_group_replication_local_address": "127.0.0.1:33061"}, anyPort: true},
		"value that is a URL": {set: map[string]string{"wsrep_cluster_address": "gcomm://a"}, read: []string{"//a"}, anyPort: true},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{DataDir: "/i/data", RunDir: "/i/run", TmpDir: "/i/tmp", FilesDir: "/i/files", Port: 3306, Set: c.set}
			plain := config
			plain.Set = nil
			got, own := s.ruleset("/i/run/my.cnf", config), s.ruleset("/i/run/my.cnf", plain)
			beyond := func(list, own []string) []string {
				list = slices.DeleteFunc(slices.Clone(list), func(path string) bool { return slices.Contains(own, path) })
				slices.Sort(list)
				return list
			}
			want := append([]int{3306}, c.ports...)
			if c.anyPort {
				want = nil
			}
			if diff := cmp.Diff(append([]string{}, c.write...), beyond(got.ReadWrite, own.ReadWrite)); diff != "" {
				t.Errorf("written: %s", diff)
			}
			if diff := cmp.Diff(append([]string{}, c.read...), beyond(got.ReadOnly, own.ReadOnly)); diff != "" {
				t.Errorf("read: %s", diff)
			}
			if diff := cmp.Diff(want, got.Ports); diff != "" {
				t.Errorf("ports: %s", diff)
			}
		})
	}
}
