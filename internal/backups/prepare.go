package backups

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
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
		if err := cmd.Run(); err != nil {
			lines := strings.Split(strings.TrimSpace(says.String()), "\n")
			return fmt.Errorf("prepare the copy: %s: %w\n%s", filepath.Base(program.Path()), err, strings.Join(lines[max(0, len(lines)-6):], "\n"))
		}
		return nil
	}
}

// Preparer finds the program that prepares the backup.
func (b *Backup) Preparer(ctx context.Context, finder *software.Finder) (p server.Program, err error) {
	if b.Kind == XtraBackup {
		path, err := exec.LookPath("xtrabackup")
		if err != nil {
			return p, RefusedError{fmt.Errorf("verify %s: it is not prepared, and xtrabackup, which does that, is not on this machine\nhint: install percona-xtrabackup of the series that made it; or xtrabackup --prepare --target-dir=DIR on a copy elsewhere", b.Name)}
		}
		return server.Program{Argv: []string{path}}, nil
	}
	if p, err = finder.Tool(ctx, software.MariaDBBackup); err != nil {
		return p, fmt.Errorf("verify %s: it is not prepared: %w", b.Name, err)
	}
	out, err := exec.CommandContext(ctx, p.Argv[0], append(slices.Clone(p.Argv[1:]), "--version")...).CombinedOutput() // #nosec G204 -- as above
	if err != nil {
		return p, fmt.Errorf("ask %s for its version: %w: %s", p.Path(), err, out)
	}
	_, rest, _ := strings.Cut(string(out), "server ")
	version, _, _ := strings.Cut(rest, " ")
	tool := versionMaker(version)
	if made := b.Made; tool.Version.Compare(made.Version) < 0 && tool.Version.Series() != made.Version.Series() {
		return p, RefusedError{fmt.Errorf("verify %s: it is not prepared, %s made it, and %s is of the older %s\nhint: install mariadb-backup of series %s; or mariadb-backup --prepare --target-dir=DIR on a copy elsewhere, and ramaria verify DIR",
			b.Name, made.Text, p.Path(), tool.Text, made.Version.Series())}
	}
	return p, nil
}
