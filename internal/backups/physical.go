package backups

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
)

// smallFiles are what a physical backup says of itself; programs of different releases name them otherwise.
// https://mariadb.com/kb/en/files-created-by-mariadb-backup/
var (
	checkpointFiles = []string{"mariadb_backup_checkpoints", "xtrabackup_checkpoints"}
	infoFiles       = []string{"mariadb_backup_info", "xtrabackup_info"}
	optionsFile     = "backup-my.cnf"
)

// mostSmall is how much of such a file is read, in bytes.
const mostSmall = 64 << 10

// Physical is what a physical backup says of itself.
type Physical struct {
	// Prepared says that a server starts on it as it is.
	Prepared bool
	// Set are settings with which a server starts on it alone.
	Set map[string]string
	// Unpack writes the files of a backup that is one file, a stream, to a data directory, with Size bytes or so; nil for a
	// directory.
	Unpack func(ctx context.Context, data *os.Root) error
	Size   int64

	// options are those of its files' layout.
	options map[string]string
}

// isPhysical reports whether a directory is a physical backup.
func isPhysical(dir string) bool {
	return slices.ContainsFunc(checkpointFiles, func(name string) bool {
		fi, err := os.Stat(filepath.Join(dir, name))
		return err == nil && fi.Mode().IsRegular()
	})
}

// lookAtPhysical reads what the directory of a physical backup says of itself.
func (b *Backup) lookAtPhysical() error {
	small := map[string]string{}
	for _, name := range slices.Concat(checkpointFiles, infoFiles, []string{optionsFile}) {
		text, err := readSmall(filepath.Join(b.Path, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("verify %s: %w", b.Path, err)
		}
		small[name] = text
	}
	if err := b.physicalFrom(small); err != nil {
		return err
	}
	return filepath.WalkDir(b.Path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("verify %s: %w", b.Path, err)
		}
		return b.refuseWrapped(path)
	})
}

func readSmall(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostSmall))
	return string(text), err
}

// wrappings are endings of files that only the program that wrote them unpacks.
var wrappings = map[string]string{
	".qp": "compressed", ".lz4": "compressed", ".zst": "compressed", ".xbcrypt": "encrypted",
}

// refuseWrapped refuses a file that has to be unpacked first.
func (b *Backup) refuseWrapped(path string) error {
	how := wrappings[filepath.Ext(path)]
	if how == "" {
		return nil
	}
	option := map[string]string{"compressed": "--decompress", "encrypted": "--decrypt=AES256"}[how]
	return RefusedError{fmt.Errorf("verify %s: its files are %s (%s), and only the program that wrote them unpacks them\nhint: xtrabackup %s --target-dir=DIR on a copy; then ramaria verify DIR", b.Path, how, filepath.Base(path), option)}
}

// physicalFrom reads what a physical backup says of itself in small files.
func (b *Backup) physicalFrom(small map[string]string) error {
	checkpoints := values(cmp.Or(small[checkpointFiles[0]], small[checkpointFiles[1]]))
	info := values(cmp.Or(small[infoFiles[0]], small[infoFiles[1]]))
	b.Physical = &Physical{Prepared: strings.Contains(checkpoints["backup_type"], "prepared") || checkpoints["backup_type"] == "log-applied"}
	b.Made = versionMaker(info["server_version"])
	b.Kind = XtraBackup
	if strings.Contains(strings.ToLower(info["tool_name"]+info["tool_command"]), "maria") || b.Made.Flavour == server.MariaDB {
		b.Kind = MariaDBBackup
	}
	if strings.HasPrefix(checkpoints["backup_type"], "incremental") {
		return RefusedError{fmt.Errorf("verify %s: it is an incremental backup, from %s on, and nothing without the full one\nhint: on a copy of the full one: %s --prepare --target-dir=FULL; %[3]s --prepare --target-dir=FULL --incremental-dir=%[1]s; then ramaria verify FULL", b.Path, checkpoints["from_lsn"], b.Kind)}
	}
	if at, err := time.ParseInLocation(time.DateTime, info["end_time"], time.Local); err == nil {
		b.Changed, b.ChangedBy = at, byBackup
	}
	b.Physical.options = options(small[optionsFile])
	if path := b.Physical.options["innodb_data_file_path"]; path != "" && path != "ibdata1:12M:autoextend" {
		b.Physical.Set = map[string]string{"innodb_data_file_path": path}
	}
	return nil
}

// values reads lines of "name = value".
func values(text string) map[string]string {
	out := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), "="); ok {
			out[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return out
}
