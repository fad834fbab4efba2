package engine

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
)

// Kinds of physical backups, as reports have them.
const (
	kindMariaBackup = "mariadb-backup"
	kindXtraBackup  = "xtrabackup"
)

// byBackup says what tells when a physical backup last changed.
const byBackup = "the end of the backup"

// smallFiles are what a physical backup says of itself; programs of different releases name them otherwise.
// https://mariadb.com/kb/en/files-created-by-mariadb-backup/
var (
	checkpointFiles = []string{"mariadb_backup_checkpoints", "xtrabackup_checkpoints"}
	infoFiles       = []string{"mariadb_backup_info", "xtrabackup_info"}
	optionsFile     = "backup-my.cnf"
)

// mostSmall is how much of such a file is read, in bytes.
const mostSmall = 64 << 10

// physical is what a physical backup says of itself.
type physical struct {
	// prepared says that a server starts on it as it is.
	prepared bool
	set      map[string]string
}

// isPhysical reports whether a directory is a physical backup.
func isPhysical(dir string) bool {
	return slices.ContainsFunc(checkpointFiles, func(name string) bool {
		fi, err := os.Stat(filepath.Join(dir, name))
		return err == nil && fi.Mode().IsRegular()
	})
}

// lookAtPhysical reads what the directory of a physical backup says of itself.
func (b *backup) lookAtPhysical() error {
	small := map[string]string{}
	for _, name := range slices.Concat(checkpointFiles, infoFiles, []string{optionsFile}) {
		text, err := readSmall(filepath.Join(b.path, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("verify %s: %w", b.path, err)
		}
		small[name] = text
	}
	if err := b.physicalFrom(small); err != nil {
		return err
	}
	return filepath.WalkDir(b.path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("verify %s: %w", b.path, err)
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
func (b *backup) refuseWrapped(path string) error {
	how := wrappings[filepath.Ext(path)]
	if how == "" {
		return nil
	}
	option := map[string]string{"compressed": "--decompress", "encrypted": "--decrypt=AES256"}[how]
	return RequestError{fmt.Errorf("verify %s: its files are %s (%s), and only the program that wrote them unpacks them\nhint: xtrabackup %s --target-dir=DIR on a copy; then ramaria verify DIR", b.path, how, filepath.Base(path), option)}
}

// physicalFrom reads what a physical backup says of itself in small files.
func (b *backup) physicalFrom(small map[string]string) error {
	checkpoints := values(cmp.Or(small[checkpointFiles[0]], small[checkpointFiles[1]]))
	info := values(cmp.Or(small[infoFiles[0]], small[infoFiles[1]]))
	b.physical = &physical{prepared: strings.Contains(checkpoints["backup_type"], "prepared") || checkpoints["backup_type"] == "log-applied"}
	b.made = versionMaker(info["server_version"])
	b.kind = kindXtraBackup
	if strings.Contains(strings.ToLower(info["tool_name"]+info["tool_command"]), "maria") || b.made.Flavour == server.MariaDB {
		b.kind = kindMariaBackup
	}
	if strings.HasPrefix(checkpoints["backup_type"], "incremental") {
		return RequestError{fmt.Errorf("verify %s: it is an incremental backup, from %s on, and nothing without the full one\nhint: on a copy of the full one: %s --prepare --target-dir=FULL; %[3]s --prepare --target-dir=FULL --incremental-dir=%[1]s; then ramaria verify FULL", b.path, checkpoints["from_lsn"], b.kind)}
	}
	if at, err := time.ParseInLocation(time.DateTime, info["end_time"], time.Local); err == nil {
		b.changed, b.changedBy = at, byBackup
	}
	if path := values(small[optionsFile])["innodb_data_file_path"]; path != "" && path != "ibdata1:12M:autoextend" {
		b.physical.set = map[string]string{"innodb_data_file_path": path}
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

// prepare has the program that made a physical backup make the copy one that a server starts on.
func (v *verification) prepare(program server.Program) func(context.Context, image.TrialDir) error {
	return func(ctx context.Context, d image.TrialDir) error {
		v.e.note("preparing the copy by %s", filepath.Base(program.Path()))
		argv := slices.Concat(program.Argv, []string{"--defaults-file=" + filepath.Join(d.Data, optionsFile), "--prepare", "--target-dir=" + d.Data, "--tmpdir=" + d.Tmp, "--use-memory=256M"})
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- of PATH or fetched
		cmd.Env = append([]string{"LC_ALL=C", "PATH=/usr/bin:/bin", "TMPDIR=" + d.Tmp}, program.Env...)
		cmd.Dir = d.Tmp
		var says bytes.Buffer
		cmd.Stdout, cmd.Stderr = &says, &says
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if d.Account != (server.Account{}) {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(d.Account.UID), Gid: uint32(d.Account.GID)}
		}
		if err := cmd.Run(); err != nil {
			lines := strings.Split(strings.TrimSpace(says.String()), "\n")
			return fmt.Errorf("prepare the copy: %s: %w\n%s", filepath.Base(program.Path()), err, strings.Join(lines[max(0, len(lines)-6):], "\n"))
		}
		return nil
	}
}

// findPreparer finds the program that prepares the backup.
func (v *verification) findPreparer(ctx context.Context) (p server.Program, err error) {
	if v.source.kind == kindXtraBackup {
		path, err := exec.LookPath("xtrabackup")
		if err != nil {
			return p, RequestError{fmt.Errorf("verify %s: it is not prepared, and xtrabackup, which does that, is not on this machine\nhint: install percona-xtrabackup of the series that made it; or xtrabackup --prepare --target-dir=DIR on a copy elsewhere", v.q.Backup)}
		}
		return server.Program{Argv: []string{path}}, nil
	}
	if p, err = v.e.Finder().Tool(ctx, software.MariaDBBackup); err != nil {
		return p, fmt.Errorf("verify %s: it is not prepared: %w", v.q.Backup, err)
	}
	out, err := exec.CommandContext(ctx, p.Argv[0], append(slices.Clone(p.Argv[1:]), "--version")...).CombinedOutput() // #nosec G204 -- as above
	if err != nil {
		return p, fmt.Errorf("ask %s for its version: %w: %s", p.Path(), err, out)
	}
	_, rest, _ := strings.Cut(string(out), "server ")
	version, _, _ := strings.Cut(rest, " ")
	tool := versionMaker(version)
	if made := v.source.made; tool.Version.Compare(made.Version) < 0 && tool.Version.Series() != made.Version.Series() {
		return p, RequestError{fmt.Errorf("verify %s: it is not prepared, %s made it, and %s is of the older %s\nhint: install mariadb-backup of series %s; or mariadb-backup --prepare --target-dir=DIR on a copy elsewhere, and ramaria verify DIR",
			v.q.Backup, made.Text, p.Path(), tool.Text, made.Version.Series())}
	}
	return p, nil
}
