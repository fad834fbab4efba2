package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPromises(t *testing.T) {
	for _, c := range []struct {
		flavour Flavour
		version Version
		level   Durability
		has     []string
		not     []string
	}{
		{MariaDB, Version{10, 11, 14}, InRAM, nil, []string{"binlog_format"}},
		{MariaDB, Version{10, 11, 14}, Delayed, []string{"binlog_format", "binlog_row_image", "binlog_checksum", "innodb_flush_log_at_trx_commit", "log_bin_compress", "rpl_semi_sync_master_enabled"}, nil},
		{MariaDB, Version{10, 11, 14}, Acknowledged, []string{
			"binlog_format", "rpl_semi_sync_master_enabled", "rpl_semi_sync_master_timeout", "rpl_semi_sync_master_wait_point", "rpl_semi_sync_master_wait_no_slave",
		}, nil},
		{MySQL, Version{9, 7, 0}, Acknowledged, []string{
			"binlog_format", "rpl_semi_sync_source_enabled", "rpl_semi_sync_source_timeout", "rpl_semi_sync_source_wait_point", "rpl_semi_sync_source_wait_no_replica",
		}, []string{"rpl_semi_sync_master_enabled", "plugin_load_add", "log_bin"}},
		{MySQL, Version{9, 7, 0}, Followed, []string{"binlog_format", "rpl_semi_sync_source_enabled"}, []string{"plugin_load_add", "sync_binlog"}},
		{MySQL, Version{8, 0, 22}, Acknowledged, []string{"rpl_semi_sync_master_enabled", "rpl_semi_sync_master_wait_no_slave"}, []string{"rpl_semi_sync_source_enabled"}},
	} {
		s := &Server{Flavour: c.flavour, Version: c.version}
		var names []string
		for _, p := range s.Promises(c.level, "xfs") {
			names = append(names, p.Name)
		}
		for _, want := range c.has {
			if !slices.Contains(names, want) {
				t.Errorf("%s %s, %s: no %s in %q", c.flavour, c.version, c.level, want, names)
			}
		}
		for _, not := range c.not {
			if slices.Contains(names, not) {
				t.Errorf("%s %s, %s: %s in %q", c.flavour, c.version, c.level, not, names)
			}
		}
		if c.level == InRAM && len(names) > 0 {
			t.Errorf("%s: what is not durable promises %q", c.flavour, names)
		}
	}
}

func TestPromiseKept(t *testing.T) {
	for _, c := range []struct {
		promise Promise
		is      string
		want    bool
		sql     string
	}{
		{Promise{"rpl_semi_sync_master_enabled", "ON"}, "1", true, "SET GLOBAL rpl_semi_sync_master_enabled = 1"},
		{Promise{"rpl_semi_sync_master_enabled", "ON"}, "0", false, "SET GLOBAL rpl_semi_sync_master_enabled = 1"},
		{Promise{"binlog_format", "ROW"}, "ROW", true, "SET GLOBAL binlog_format = 'ROW'"},
		{Promise{"binlog_format", "ROW"}, "MIXED", false, "SET GLOBAL binlog_format = 'ROW'"},
		{Promise{"binlog_row_value_options", ""}, "", true, "SET GLOBAL binlog_row_value_options = ''"},
		{Promise{"binlog_row_value_options", ""}, "PARTIAL_JSON", false, "SET GLOBAL binlog_row_value_options = ''"},
		{Promise{"innodb_flush_log_at_trx_commit", "2"}, "1", true, "SET GLOBAL innodb_flush_log_at_trx_commit = 2"},
		{Promise{"innodb_flush_log_at_trx_commit", "1"}, "0", false, "SET GLOBAL innodb_flush_log_at_trx_commit = 1"},
		{Promise{"log_bin_compress", "OFF"}, "OFF", true, "SET GLOBAL log_bin_compress = 0"},
	} {
		if got := c.promise.keeps(c.is); got != c.want {
			t.Errorf("%s = %s, promised %s: kept is %v", c.promise.Name, c.is, c.promise.Value, got)
		}
		if got := c.promise.SQL(); got != c.sql {
			t.Errorf("%+v: %s, want %s", c.promise, got, c.sql)
		}
	}
}

// TestDurableRights: the application of a durable instance cannot let its commits go unwaited for.
// TestLacksPlugin: a server whose commits could not wait is known before it starts.
func TestLacksPlugin(t *testing.T) {
	has, not := t.TempDir(), t.TempDir()
	for _, name := range []string{"semisync_source.so", "semisync_master.so"} {
		if err := os.WriteFile(filepath.Join(has, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		flavour Flavour
		version Version
		level   Durability
		plugins string
		want    string
	}{
		{MySQL, Version{9, 7, 0}, Acknowledged, not, "semisync_source.so"},
		{MySQL, Version{8, 0, 22}, Acknowledged, not, "semisync_master.so"},
		{MySQL, Version{9, 7, 0}, Acknowledged, has, ""},
		{MySQL, Version{9, 7, 0}, Acknowledged, "", ""},
		{MySQL, Version{9, 7, 0}, Delayed, not, "semisync_source.so"},
		{MariaDB, Version{10, 11, 14}, Acknowledged, not, ""},
	} {
		s := &Server{Flavour: c.flavour, Version: c.version, Plugins: c.plugins}
		if got := s.LacksPlugin(c.level); got != c.want {
			t.Errorf("%s %s, %s, in %q: %q, want %q", c.flavour, c.version, c.level, c.plugins, got, c.want)
		}
	}
}

func TestDurableRights(t *testing.T) {
	for _, c := range []struct {
		s    *Server
		want string
	}{
		{&Server{Flavour: MariaDB, Version: Version{10, 6, 0}}, "REPLICATION MASTER ADMIN"},
		{&Server{Flavour: MySQL, Version: Version{9, 7, 0}}, "RELOAD"},
		{&Server{Flavour: MySQL, Version: Version{8, 0, 36}}, "REPLICATION_SLAVE_ADMIN"},
	} {
		if got := c.s.DialectOf(Acknowledged).Withheld; !slices.Contains(got, c.want) {
			t.Errorf("%s: %q are withheld, without %s", c.s.Flavour, got, c.want)
		}
		if got := c.s.DialectOf(InRAM).Withheld; slices.Contains(got, c.want) {
			t.Errorf("%s: %s is withheld of an instance in RAM", c.s.Flavour, c.want)
		}
	}
	old := &Server{Flavour: MySQL, Version: Version{8, 0, 36}}
	if got := old.DialectOf(Acknowledged).Withheld; slices.Contains(got, "RELOAD") {
		t.Errorf("MySQL 8.0 has no FLUSH_PRIVILEGES: without RELOAD an application could not reload them: %q", got)
	}
	if sql := PromiseSQL([]Promise{{"binlog_checksum", "CRC32"}, {"binlog_format", "ROW"}}); strings.Count(sql, "\n") != 1 {
		t.Errorf("checksums are set at each start, which begins another file of the log: %s", sql)
	}
}
