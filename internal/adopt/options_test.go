package adopt

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseDefaults: what servers print, values with spaces in them among it.
func TestParseDefaults(t *testing.T) {
	const text = `/usr/sbin/mariadbd would have been started with the following arguments:
--user=mysql --sql_mode=STRICT_TRANS_TABLES, ANSI_QUOTES --init-connect=SET NAMES utf8 -- no --skip-name-resolve --loose-innodb-x=1 --skip-innodb --slow_query_log --ssl-ca= `
	want := []Option{
		{"user", "mysql"}, {"sql_mode", "STRICT_TRANS_TABLES, ANSI_QUOTES"}, {"init_connect", "SET NAMES utf8 -- no"},
		{"skip_name_resolve", "ON"}, {"innodb_x", "1"}, {"innodb", "OFF"}, {"slow_query_log", "ON"}, {"ssl_ca", ""},
	}
	if diff := cmp.Diff(want, ParseDefaults(text)); diff != "" {
		t.Error(diff)
	}
	if got := ParseDefaults("mysqld: unknown\n"); got != nil {
		t.Errorf("of something else: %v", got)
	}
}

// TestParseArguments: values that stand by themselves, and a negation that is no variable's.
func TestParseArguments(t *testing.T) {
	want := []Option{{"port", "3307"}, {"socket", "/run/a b.sock"}, {"slow_query_log", "ON"}, {"host_cache_size", "0"}, {"max_connections", "5"}, {"innodb_x", "-1"}}
	got := ParseArguments([]string{"--port", "3307", "--socket", "/run/a b.sock", "--slow-query-log", "--skip-host-cache", "--max-connections=5", "--innodb-x=-1"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestDecideSeveral: options that are given several times, and mean all of it.
func TestDecideSeveral(t *testing.T) {
	options := ParseArguments([]string{
		"--optimizer-switch=mrr=on", "--optimizer_switch=index_merge=off",
		"--performance-schema-instrument=a=ON", "--performance-schema-instrument=b=ON",
	})
	taken, _, left := Decide(options, Rules{Check: func(string, string) error { return nil }, DataDir: "/var/lib/mysql"})
	if diff := cmp.Diff(map[string]string{"optimizer_switch": "mrr=on,index_merge=off"}, taken); diff != "" {
		t.Error(diff)
	}
	if len(left) != 1 || left[0].Why != "it is given several times, and the instance takes it once" {
		t.Errorf("left: %v", left)
	}
}

func TestDecide(t *testing.T) {
	options := ParseArguments([]string{
		"--datadir=/var/lib/mysql", "--max_connections=10", "--max-connections=20", "--plugin-load-add=a.so", "--plugin_load_add=b.so",
		"--innodb_flush_method=O_DIRECT", "--slow-query-log-file=/var/log/mysql/slow.log", "--general_log_file=/tmp/log", "--ssl-key=/etc/secret",
		"--ssl-cert=/etc/cert", "--fixed=1", "--replicate-do-db=x", "--innodb-data-home-dir=/var/lib/mysql/ib", "nothing",
	})
	taken, kept, left := Decide(options, Rules{
		Check: func(name, _ string) error {
			if name == "fixed" {
				return errors.New("use --set fixed: ramaria relies on its own value (so)\nhint: leave it out")
			}
			return nil
		},
		Readable: func(path string) bool { return path != "/etc/secret" },
		Writable: func(path string) bool { return path == "/tmp" },
		DataDir:  "/var/lib/mysql",
	})
	want := map[string]string{"max_connections": "20", "plugin_load_add": "a.so;b.so", "general_log_file": "/tmp/log", "ssl_cert": "/etc/cert"}
	if diff := cmp.Diff(want, taken); diff != "" {
		t.Error(diff)
	}
	if len(kept) != len(want) || kept[0] != (Setting{Name: "max_connections", Value: "20"}) {
		t.Errorf("kept: %v", kept)
	}
	why := map[string]string{}
	for _, s := range left {
		why[s.Name] = s.Why
	}
	for name, want := range map[string]string{
		"innodb_flush_method":  "about a disk; the data is in RAM",
		"slow_query_log_file":  "the server of the instance may not write there; the log is in its data directory",
		"ssl_key":              "the server of the instance may not read that file, which has an account of its own",
		"fixed":                "ramaria relies on its own value (so)",
		"replicate_do_db":      "about replication, of which the instance is no part",
		"innodb_data_home_dir": "it names a place in the old data directory",
	} {
		if why[name] != want {
			t.Errorf("%s: %q", name, why[name])
		}
	}
	if len(left) != 6 {
		t.Errorf("left: %v", left)
	}
}
