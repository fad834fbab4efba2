package backups

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/xbstream"
)

// made writes the files of a backup, by their names.
func made(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	checkpoints = "backup_type = full-backuped\nfrom_lsn = 0\nto_lsn = 45\n"
	info        = "tool_name = mariadb-backup\nserver_version = 10.11.6-MariaDB-log\nend_time = 2026-02-03 04:05:06\n"
	head        = "-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)\n--\n-- Host: localhost    Database: shop\n-- ---\n-- Server version\t10.6.16-MariaDB\n"
	shellAbout  = `{"schemas":["shop"],"basenames":{"shop":"shop"},"serverVersion":"8.0.36"}`
	shellDone   = `{"end":"2026-02-03 04:05:06","tableRows":{}}`
)

// TestOpen: what backups say of themselves is told, and no more.
func TestOpen(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.Local)
	for _, c := range []struct {
		name, kind, made, file string
		files                  map[string]string
		changed                time.Time
		by                     string
	}{
		{name: "a dump", file: "a.sql", files: map[string]string{"a.sql": head}, kind: Dump, made: "MariaDB 10.6.16"},
		{name: "a dump by an older server's program", file: "a.sql", files: map[string]string{"a.sql": "-- MySQL dump 10.17  Distrib 10.3.39-MariaDB, for Linux\n"}, kind: Dump, made: "(mariadb)"},
		{name: "a dump that says nothing", file: "a.sql", files: map[string]string{"a.sql": "SELECT 1;\n"}, kind: Dump},
		{name: "dumps, of which the second says it", files: map[string]string{"a.sql": "SELECT 1;\n", "b.sql": head}, kind: Dumps, made: "MariaDB 10.6.16"},
		{name: "mydumper", files: map[string]string{"metadata": "# Started dump at: 2026-02-03 04:05:00\n# Finished dump at: 2026-02-03 04:05:06\n", "shop-schema-create.sql": "CREATE DATABASE shop;\n"}, kind: Dumps, changed: at, by: "the end of the dump, by mydumper"},
		{name: "MySQL Shell", files: map[string]string{"@.json": shellAbout, "@.done.json": shellDone, "shop.json": `{}`, "shop.sql": ""}, kind: Dumps, made: "MySQL 8.0.36", changed: at, by: "the end of the dump, by MySQL Shell"},
		{name: "mariadb-backup", files: map[string]string{"mariadb_backup_checkpoints": checkpoints, "mariadb_backup_info": info}, kind: MariaDBBackup, made: "MariaDB 10.11.6", changed: at, by: byBackup},
		{name: "XtraBackup", files: map[string]string{"xtrabackup_checkpoints": checkpoints, "xtrabackup_info": "tool_name = xtrabackup\nserver_version = 8.0.35-27\n"}, kind: XtraBackup, made: "MySQL 8.0.35"},
	} {
		b, err := Open(t.Context(), c.name, filepath.Join(made(t, c.files), c.file))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		by := b.Made.Text
		if by == "" && b.likely != "" {
			by = "(" + string(b.likely) + ")"
		}
		if b.Kind != c.kind || by != c.made || !b.Changed.Equal(c.changed) || !c.changed.IsZero() && b.ChangedBy != c.by {
			t.Errorf("%s: %s by %q, changed %s (%s)", c.name, b.Kind, by, b.Changed, b.ChangedBy)
		}
	}
}

// TestOpenRefuses: what nothing can be made of is refused before anything is done.
func TestOpenRefuses(t *testing.T) {
	full := map[string]string{"mariadb_backup_checkpoints": checkpoints, "mariadb_backup_info": info}
	for want, files := range map[string]map[string]string{
		"it is an incremental backup, from 45 on": {"mariadb_backup_checkpoints": "backup_type = incremental\nfrom_lsn = 45\n", "mariadb_backup_info": info},
		"its files are compressed (t.ibd.qp)":     {"t.ibd.qp": ""},
		"its files are encrypted (t.ibd.xbcrypt)": {"t.ibd.xbcrypt": ""},
	} {
		all := maps.Clone(full)
		maps.Copy(all, files)
		_, err := Open(t.Context(), "b", made(t, all))
		var refused RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nhint: ") {
			t.Errorf("%v, not %q", err, want)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), "b", pipe); err == nil || !strings.Contains(err.Error(), "hint: what comes through a pipe is read from stdin") {
		t.Errorf("pipe: %v", err)
	}
	chunk := func(kind byte) string { return xbstream.Magic + "\x00" + string(kind) + "\x05\x00\x00\x00t.ibd" }
	for want, text := range map[string]string{"the stream is cut short": chunk('E'), "hint: xbstream -x": chunk('S')} {
		_, err := Open(t.Context(), "b", filepath.Join(made(t, map[string]string{"b.stream": text}), "b.stream"))
		var refused RefusedError
		var unfit image.UnfitError
		if err == nil || !strings.Contains(err.Error(), want) || errors.As(err, &refused) == errors.As(err, &unfit) || errors.As(err, &refused) != strings.Contains(want, "hint") {
			t.Errorf("%q: %T %v", want, err, err)
		}
	}
	if _, err := Open(t.Context(), "b", filepath.Join(t.TempDir(), "none")); !errors.Is(err, ErrNone) {
		t.Errorf("none: %v", err)
	}
}

// TestOptionsOfOthers: of the option file of a backup only the layout of its files is believed.
func TestOptionsOfOthers(t *testing.T) {
	const text = "[mysqld]\ninnodb_page_size=16384\ninnodb_undo_directory=./\ninnodb_data_file_path=ibdata1:10M;ibdata2:10M:autoextend:max:1G\n" +
		"plugin_load=evil.so\nplugin-load=evil.so\nplugin_dir=/tmp\ninnodb_log_group_home_dir=/etc\ndatadir=/\nloose_innodb_page_size=1\n"
	dir := made(t, map[string]string{"mariadb_backup_checkpoints": checkpoints, "mariadb_backup_info": info, "backup-my.cnf": text})
	b, err := Open(t.Context(), "b", dir)
	if err != nil {
		t.Fatal(err)
	}
	const want = "[mysqld]\ninnodb_data_file_path=ibdata1:10M;ibdata2:10M:autoextend:max:1G\ninnodb_page_size=16384\ninnodb_undo_directory=./\n"
	if got := string(b.Physical.optionFile()); got != want {
		t.Errorf("got %s", got)
	}
	for _, hostile := range []string{
		"innodb_data_file_path=/etc/passwd:10M", "innodb_data_file_path=../x:10M:autoextend", "innodb_data_file_path=ibdata1:10Mraw", "innodb_data_file_path=ibdata1:10M:autoextend;sub/x:1M",
		"innodb_undo_directory=/etc", "innodb_page_size=16384 --plugin-load=x", "innodb_page_size=1\rplugin_load=x",
	} {
		if got := options(hostile); len(got) > 0 {
			t.Errorf("%q is believed: %v", hostile, got)
		}
	}
}
