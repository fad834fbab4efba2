package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newBackup(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup [NAME]",
		Short: "Make a base backup of a durable instance now",
		Long: `Make a base backup of a durable instance in its archive now. They are made by themselves in
time for --recover-within; one made now makes recovery faster, and is a good beginning before
something large. The server is paused for milliseconds on volumes xfs and zram.

` + whichOne,
		Example: `  ramaria backup shop
  ramaria backup ls shop
  ramaria backup verify shop`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBackup(cmd.Context(), a, args[0])
		},
		ValidArgsFunction: a.completeNames,
	}
	cmd.AddCommand(newBackupLs(a), newBackupVerify(a), newBackupPrune(a))
	return a.optional(cmd)
}

func runBackup(ctx context.Context, a *app, name string) error {
	b, err := a.engine.Backup(ctx, name)
	if err != nil {
		return err
	}
	pause, took := time.Duration(0), time.Duration(0)
	if s := b.Snapshot; s != nil {
		pause, took = time.Duration(s.PauseMicros)*time.Microsecond, time.Since(b.Time)
	}
	a.say("backed up %s as %d in %s: %s of data, %s written; it was paused for %s", name, b.ID, short(took), volume.FormatBytes(b.DataBytes), volume.FormatBytes(b.StoredBytes), short(pause))
	return nil
}

func newBackupLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls [NAME|DIR|URL]",
		Short: "List the base backups in an archive, the oldest first",
		Long: `List the base backups in the archive of an instance, in a directory, or in a bucket
(s3://BUCKET/PREFIX), the oldest first. The instance may run or not, or be gone. POSITION is up to where each has the log; ramaria restore
takes any later one, and any time.

` + whichOne,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBackupLs(cmd.Context(), a, args[0], asJSON)
		},
		ValidArgsFunction: a.completeNames,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return a.optional(cmd)
}

func runBackupLs(ctx context.Context, a *app, source string, asJSON bool) error {
	_, m, err := a.engine.ArchiveOf(ctx, source)
	if err != nil {
		return err
	}
	list := []client.Backup{}
	for _, b := range m.Bases {
		list = append(list, durable.BackupOf(b))
	}
	if asJSON {
		return a.printJSON(list)
	}
	t := newTable("ID", "TIME", "POSITION", "SIZE", "STORED", "OUTSIDE THE PROMISE")
	for _, b := range list {
		t.row(fmt.Sprint(b.ID), b.Time.Local().Format(timeFormat), b.Position, volume.FormatBytes(b.DataBytes), volume.FormatBytes(b.StoredBytes), strings.Join(b.Outside, ", "))
	}
	t.print(a.stdout)
	return nil
}

func newBackupVerify(a *app) *cobra.Command {
	return a.optional(&cobra.Command{
		Use:   "verify [NAME]",
		Short: "Recover what the archive has beside the instance, and compare the two",
		Long: `Recover in RAM, beside a durable instance that runs, what its archive has, and compare it with
the instance, table by table. That is done once a day by itself; status says when it was last.

` + whichOne,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBackupVerify(cmd.Context(), a, args[0])
		},
		ValidArgsFunction: a.completeNames,
	})
}

func runBackupVerify(ctx context.Context, a *app, name string) error {
	v, err := a.engine.VerifyBackups(ctx, name)
	if err != nil {
		return err
	}
	a.say("the archive of %s gives what it has: %s in %s, and %s of its log in %s, up to %s; %s equal", name,
		volume.FormatBytes(v.RestoredBytes), short(time.Duration(v.RestoreMicros)*time.Microsecond),
		volume.FormatBytes(v.ReplayedBytes), short(time.Duration(v.ReplayMicros)*time.Microsecond), v.Position, tablesAre(v.Tables))
	return nil
}

func tablesAre(n int) string {
	if n == 1 {
		return "1 table is"
	}
	return fmt.Sprintf("%d tables are", n)
}

func newBackupPrune(a *app) *cobra.Command {
	return a.optional(&cobra.Command{
		Use:   "prune [NAME]",
		Short: "Remove from an archive what its history does not need",
		Long: `Remove from the archive of a durable instance what --history does not need. That is done after
each base backup by itself.

` + whichOne,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBackupPrune(cmd.Context(), a, args[0])
		},
		ValidArgsFunction: a.completeNames,
	})
}

func runBackupPrune(ctx context.Context, a *app, name string) error {
	p, err := a.engine.PruneBackups(ctx, name)
	if err != nil {
		return err
	}
	backups := fmt.Sprintf("%d base backups", p.Backups)
	if p.Backups == 1 {
		backups = "1 base backup"
	}
	a.say("removed %s of %s, and the log that only these needed", backups, name)
	return nil
}
