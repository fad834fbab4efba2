package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
	"github.com/ramaria-db/ramaria/internal/wheatfs"
)

func newWheatfs(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wheatfs",
		Short: "Mount a file system for temporary files: RAM first, disk beyond",
		Long: `Mount a file system for temporary files that lies in RAM while there is some, and on a disk
beyond: for the tmpdir of any server, for sort(1), for a build. Files that outgrow the RAM go
on; memory is given back as files are removed.

A server of Ramaria has one of its own with ramaria up --tmpdir wheatfs.`,
	}
	onlyOthers(cmd)
	cmd.AddCommand(newWheatfsMount(a), newWheatfsUmount(a), newWheatfsStatus(a), newWheatfsServe())
	return cmd
}

type wheatfsMountOptions struct {
	ram, size, disk, owner string
	detach                 bool
}

func newWheatfsMount(a *app) *cobra.Command {
	var o wheatfsMountOptions
	cmd := &cobra.Command{
		Use:   "mount DIR",
		Short: "Mount one at an empty directory, and stay until it is unmounted",
		Long: `Mount a wheatfs at an empty directory, and stay until it is unmounted: Ctrl-C unmounts it.
What lies in it does not outlive that. Needs root.`,
		Example: `  ramaria wheatfs mount /srv/tmp --ram 4G -d
  ramaria wheatfs mount /srv/tmp --ram 4G --disk /mnt/nvme --owner mysql`,
		Args: exactArgs(1, "a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.detach {
				return runWheatfsStart(cmd.Context(), a, args[0], o)
			}
			return runWheatfsMount(cmd.Context(), a, args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.ram, "ram", "", "what may lie in RAM, at most: `SIZE` such as 4G (default a quarter of what is free)")
	f.StringVar(&o.disk, "disk", "/var/tmp", "a directory on the disk that takes the rest; nothing is to be seen in `DIR`")
	f.StringVar(&o.size, "size", "", "room for files, `SIZE` (default --ram and what is free on the disk)")
	f.StringVar(&o.owner, "owner", "", "`USER` who owns it alone (default all may use it, as /tmp)")
	f.BoolVarP(&o.detach, "detach", "d", false, "return when it is mounted")
	return cmd
}

func (o wheatfsMountOptions) request(dir string) (engine.WheatRequest, error) {
	r := engine.WheatRequest{Dir: dir, Disk: o.disk, Owner: o.owner}
	if dir == "" {
		return r, usageError{errors.New("mount at an empty name: it must be a directory")}
	}
	for _, s := range []struct {
		flag, text string
		to         *int64
		least      int64
	}{{"ram", o.ram, &r.RAM, 1 << 20}, {"size", o.size, &r.Size, wheatfs.LeastSize}} {
		if s.text == "" {
			continue
		}
		n, err := volume.ParseSize(s.text)
		if err != nil {
			return r, usageError{fmt.Errorf("--%s: %w", s.flag, err)}
		}
		if n < s.least {
			return r, usageError{fmt.Errorf("--%s %s is too little: the least is %s", s.flag, s.text, volume.FormatBytes(s.least))}
		}
		*s.to = n
	}
	return r, nil
}

func runWheatfsMount(ctx context.Context, a *app, dir string, o wheatfsMountOptions) error {
	r, err := o.request(dir)
	if err != nil {
		return err
	}
	err = a.engine.KeepWheat(ctx, r, func(m wheatfs.Mounted) {
		a.say("%s", mountedWords(m))
		sys.ReportReady(nil)
		if err := service.Notify(ctx, "READY=1"); err != nil {
			a.say("ramaria: %s", err)
		}
	})
	if err != nil {
		sys.ReportReady(errors.New(a.words(ctx, err)))
	}
	return err
}

func mountedWords(m wheatfs.Mounted) string {
	return fmt.Sprintf("wheatfs at %s: %s in RAM, beyond that in %s; room for %s", m.Place, volume.FormatBytes(m.RAM), m.Disk, volume.FormatBytes(m.Free))
}

func runWheatfsStart(ctx context.Context, a *app, dir string, o wheatfsMountOptions) error {
	r, err := o.request(dir)
	if err != nil {
		return err
	}
	m, err := a.engine.StartWheat(ctx, r)
	if err != nil {
		return err
	}
	a.say("%s", mountedWords(m))
	return nil
}

func newWheatfsUmount(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "umount DIR",
		Aliases: []string{"unmount"},
		Short:   "Unmount one; what lies in it is gone",
		Args:    exactArgs(1, "a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			freed, err := a.engine.UnmountWheat(cmd.Context(), args[0], force)
			if err != nil {
				return err
			}
			if !freed {
				a.say("unmounted %s; processes still use it, and its memory is free when they have ended", args[0])
				return nil
			}
			a.say("unmounted %s", args[0])
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var places []string
			all, _ := a.engine.Wheats() // completion has nothing to say about it
			for _, m := range all {
				places = append(places, m.Place)
			}
			return places, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "although processes use it: they keep the files that they have open")
	return cmd
}

func newWheatfsStatus(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [DIR]",
		Short: "Show those of this machine: what lies in RAM, and what on the disk",
		Args:  maxArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return runWheatfsStatus(a, args, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return cmd
}

func runWheatfsStatus(a *app, args []string, asJSON bool) error {
	all, err := a.engine.Wheats()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		m, err := a.engine.WheatAt(args[0])
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(o wheatfs.Mounted) bool { return o.Place != m.Place })
	}
	if asJSON {
		return a.printJSON(all)
	}
	if len(all) == 0 {
		a.say("no wheatfs is mounted; ramaria wheatfs mount DIR mounts one")
		return nil
	}
	t := newTable("DIRECTORY", "IN RAM", "OF", "ON DISK", "FREE", "DISK", "STATE")
	for _, m := range all {
		t.row(m.Place, volume.FormatBytes(m.Report.RAM), volume.FormatBytes(m.RAM), volume.FormatBytes(m.Report.Disk), volume.FormatBytes(m.Free), m.Disk, wheatState(m))
	}
	t.print(a.stdout)
	for _, m := range all {
		if m.Error != "" {
			a.say("warning: %s: %s", m.Place, m.Error)
		}
	}
	return nil
}

// wheatState is what is to be said of one in a word or two.
func wheatState(m wheatfs.Mounted) string {
	switch {
	case m.Dead:
		return "dead"
	case m.Pressed:
		return "RAM cut to " + volume.FormatBytes(m.Budget) + ": memory is short"
	case m.Report.Disk > 0:
		return "spilling"
	}
	return "in RAM"
}

func newWheatfsServe() *cobra.Command {
	return &cobra.Command{
		Use:    "serve",
		Short:  "Serve one, as the process that mounts it says",
		Hidden: true,
		Args:   maxArgs(0),
		// It is of no home.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE:              func(*cobra.Command, []string) error { return wheatfs.Serve(os.Stdin, os.Stdout) },
	}
}
