package cli

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/volume"
)

func newVolumeFstab(a *app) *cobra.Command {
	var kind, dir string
	cmd := &cobra.Command{
		Use:   "fstab",
		Short: "Print lines of /etc/fstab for a mount in RAM of your own",
		Long: `Print lines of /etc/fstab for a mount in RAM of your own, for servers that Ramaria does not run.
What fstab alone cannot do is said on stderr: the device or file, its owner, AppArmor and SELinux.`,
		Example: `  ramaria volume fstab --volume tmpfs:2G --mount /srv/mysql-ram >> /etc/fstab`,
		Args:    maxArgs(0),
		RunE: func(*cobra.Command, []string) error {
			return runVolumeFstab(a, kind, dir)
		},
	}
	cmd.Flags().StringVar(&kind, "volume", string(volume.Tmpfs), "`KIND[:SIZE]`, KIND one of tmpfs, ramfs, zram, xfs")
	cmd.Flags().StringVar(&dir, "mount", "/srv/mysql-ram", "`DIR` to mount at")
	_ = cmd.MarkFlagDirname("mount")
	return cmd
}

func runVolumeFstab(a *app, kind, dir string) error {
	spec, err := volume.ParseSpec(kind)
	if err != nil {
		return usageError{err}
	}
	f := volume.TableFacts{}
	if f.Dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("write fstab lines: %w", err)
	}
	if u, err := user.Lookup("mysql"); err == nil {
		f.Account = true
		f.UID, _ = strconv.Atoi(u.Uid)
		f.GID, _ = strconv.Atoi(u.Gid)
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		f.NoSwap = volume.NoSwapIn(string(b))
	}
	_, err = os.Stat("/sys/fs/selinux/enforce")
	f.SELinux = err == nil
	t, err := volume.Fstab(spec, f)
	if err != nil {
		return usageError{err}
	}
	for _, l := range t.Lines {
		fmt.Fprintln(a.stdout, l)
	}
	for _, s := range t.Steps {
		a.say("%s", s)
	}
	return nil
}
