package backups

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
)

// Prepare has the program that made a physical backup make the copy one that a server starts on.
func (b *Backup) Prepare(program server.Program) func(context.Context, image.TrialDir) error {
	return func(ctx context.Context, d image.TrialDir) error {
		// In the place of that which the backup brought: see layout.
		config := filepath.Join(d.Data, optionsFile)
		if err := server.WritePrivate(config, b.Physical.optionFile(), d.Account); err != nil {
			return fmt.Errorf("prepare the copy: %w", err)
		}
		argv := slices.Concat(program.Argv, []string{"--defaults-file=" + config, "--prepare", "--target-dir=" + d.Data, "--tmpdir=" + d.Tmp, "--use-memory=256M"})
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- of PATH or fetched
		cmd.Env = append([]string{"LC_ALL=C", "PATH=/usr/bin:/bin", "TMPDIR=" + d.Tmp}, program.Env...)
		cmd.Dir = d.Tmp
		var says bytes.Buffer
		cmd.Stdout, cmd.Stderr = &says, &says
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if d.Account != (server.Account{}) {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(d.Account.UID), Gid: uint32(d.Account.GID)}
		}
		err := cmd.Run()
		if err == nil {
			return nil
		}
		lines := strings.Split(strings.TrimSpace(says.String()), "\n")
		said := fmt.Errorf("prepare the copy: %s: %w\n%s", filepath.Base(program.Path()), err, strings.Join(lines[max(0, len(lines)-6):], "\n"))
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
			return image.NewUnfitError(said)
		}
		return said // it was killed, or could not be started: no word about the backup
	}
}

// Preparer finds the program that prepares the backup.
func (b *Backup) Preparer(ctx context.Context, finder *software.Finder) (p server.Program, err error) {
	if b.Kind == XtraBackup {
		path, err := exec.LookPath("xtrabackup")
		if err != nil {
			return p, RefusedError{fmt.Errorf("verify %s: it is not prepared, and xtrabackup, which does that, is not on this machine\nhint: install percona-xtrabackup of the series that made it; or xtrabackup --prepare --target-dir=DIR on a copy elsewhere", b.Name)}
		}
		p = server.Program{Argv: []string{path}}
		return p, b.refuseTool(ctx, p, "percona-xtrabackup")
	}
	if p, err = finder.Tool(ctx, software.MariaDBBackup); err != nil {
		return p, fmt.Errorf("verify %s: it is not prepared: %w", b.Name, err)
	}
	return p, b.refuseTool(ctx, p, "mariadb-backup")
}

// toolVersion is the version of the server that a program says it is for: "xtrabackup version 8.0.35-31 based on MySQL
// server 8.0.35 ...", "mariadb-backup based on MariaDB server 10.11.6-MariaDB debian-linux-gnu (x86_64)".
var toolVersion = regexp.MustCompile(`based on \w+ server (\S+)`)

// refuseTool refuses a program of an older series than the server that the backup is of; of XtraBackup, which prepares
// what its own series made alone, any other series.
func (b *Backup) refuseTool(ctx context.Context, p server.Program, pack string) error {
	out, err := exec.CommandContext(ctx, p.Argv[0], append(slices.Clone(p.Argv[1:]), "--version")...).CombinedOutput() // #nosec G204 -- as above
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w: %s", p.Path(), err, out)
	}
	m := toolVersion.FindSubmatch(out)
	if m == nil || b.Made.Flavour == "" {
		return nil
	}
	tool := versionMaker(string(m[1]))
	order := tool.Version.Compare(b.Made.Version)
	if tool.Version.Series() == b.Made.Version.Series() || order > 0 && b.Kind == MariaDBBackup {
		return nil
	}
	return RefusedError{fmt.Errorf("verify %s: it is not prepared, %s made it, and %s is of %s\nhint: install %s of series %s; or prepare a copy elsewhere, and ramaria verify DIR",
		b.Name, b.Made.Text, p.Path(), tool.Text, pack, b.Made.Version.Series())}
}
