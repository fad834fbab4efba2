package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newMark(a *app) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use:   "mark NAME LABEL",
		Short: "Keep the data that an instance has now, for ramaria rewind",
		Long: `Keep the data that an instance has now under a label, inside the instance; ramaria
rewind puts it back. On volumes xfs and zram that takes milliseconds and no room; on
others the data is copied.

An instance that is itself called ls or rm is named by -i.`,
		Example: `  ramaria mark shop before-migration
  ramaria rewind shop before-migration
  ramaria mark ls shop
  ramaria mark rm shop before-migration`,
		Args: exactArgs(2, "the name of an instance, and a label"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMark(cmd.Context(), a, args[0], args[1], replace)
		},
		ValidArgsFunction: a.completeMark,
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace the mark of that label, if there is one")
	cmd.AddCommand(newMarkLs(a), newMarkRm(a))
	return a.named(cmd)
}

func runMark(ctx context.Context, a *app, name, label string, replace bool) error {
	m, err := a.engine.Mark(ctx, engine.MarkRequest{Name: name, Label: label, Replace: replace})
	if err != nil {
		return err
	}
	if m.Ran {
		a.say("marked %s as %s in %s; it was paused for %s", name, label, short(m.Took), short(m.Pause))
	} else {
		a.say("marked %s, which does not run, as %s", name, label)
	}
	return nil
}

func newMarkLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls [NAME]",
		Short: "List the marks of an instance, the oldest first",
		Long:  "List the marks of an instance, the oldest first.\n\n" + whichOne,
		Args:  maxArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return runMarkLs(a, args[0], asJSON)
		},
		ValidArgsFunction: a.completeNames,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return a.optional(cmd)
}

func runMarkLs(a *app, name string, asJSON bool) error {
	marks, err := a.engine.Marks(name)
	if err != nil {
		return err
	}
	if asJSON {
		if marks == nil {
			marks = []instance.Mark{}
		}
		return a.printJSON(marks)
	}
	if len(marks) == 0 {
		a.say("instance %s has no marks; ramaria mark %s LABEL makes one", name, name)
		return nil
	}
	t := newTable("LABEL", "MADE", "SIZE")
	for _, m := range marks {
		t.row(m.Label, m.Created.Local().Format(timeFormat), volume.FormatBytes(m.Size))
	}
	t.print(a.stdout)
	return nil
}

func newMarkRm(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "rm NAME LABEL...",
		Short: "Remove marks of an instance",
		Example: `  ramaria mark rm shop before-migration
  ramaria mark rm shop --all`,
		Args: minArgs("the name of an instance, and labels or --all"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, labels := args[0], args[1:]
			if err := someOrAll("remove marks of instance "+name, labels, all, "ramaria mark ls "+name); err != nil {
				return err
			}
			if all {
				marks, err := a.engine.Marks(name)
				if err != nil {
					return err
				}
				for _, m := range marks {
					labels = append(labels, m.Label)
				}
			}
			return runMarkRm(cmd.Context(), a, name, labels)
		},
		ValidArgsFunction: a.completeMarks,
	}
	cmd.Flags().BoolVar(&all, "all", false, "all marks of the instance")
	return a.named(cmd)
}

func runMarkRm(ctx context.Context, a *app, name string, labels []string) error {
	return eachOf(ctx, labels, func(label string) error {
		err := a.engine.Unmark(ctx, name, label)
		if err == nil {
			a.say("removed mark %s of %s", label, name)
		}
		return err
	})
}
