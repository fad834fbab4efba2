package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

type markOptions struct {
	replace bool
	rm      bool
	asJSON  bool
}

func newMark(a *app) *cobra.Command {
	var o markOptions
	cmd := &cobra.Command{
		Use:   "mark NAME [LABEL]",
		Short: "Keep the data that an instance has now, for ramaria rewind; without LABEL list what is kept",
		Long: `Keep the data that an instance has now under a label, inside the instance; ramaria
rewind puts it back. On volumes xfs and zram that takes milliseconds and no room; on
others the data is copied. Without LABEL the marks of the instance are listed.`,
		Example: `  ramaria mark shop before-migration
  ramaria rewind shop before-migration`,
		Args: oneOrTwoArgs("the name of an instance, and a label"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return runMarks(a, args[0], o)
			}
			return runMark(cmd.Context(), a, args[0], args[1], o)
		},
		ValidArgsFunction: a.completeNames,
	}
	cmd.Flags().BoolVar(&o.replace, "replace", false, "replace the mark of that label, if there is one")
	cmd.Flags().BoolVar(&o.rm, "rm", false, "remove the mark of that label")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "list as JSON")
	return cmd
}

func runMarks(a *app, name string, o markOptions) error {
	if o.replace || o.rm {
		return usageError{fmt.Errorf("mark instance %s: there is no label\nhint: ramaria mark %s LABEL", name, name)}
	}
	r, err := a.engine.Registry.Get(name)
	if err != nil {
		return err
	}
	marks, err := r.Marks()
	if err != nil {
		return err
	}
	if o.asJSON {
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

func runMark(ctx context.Context, a *app, name, label string, o markOptions) error {
	if o.rm && o.replace {
		return usageError{errors.New("mark: either --rm or --replace\nhint: ramaria mark --help")}
	}
	if o.rm {
		err := a.engine.Unmark(ctx, name, label)
		if err == nil {
			a.say("removed mark %s of %s", label, name)
		}
		return err
	}
	m, err := a.engine.Mark(ctx, engine.MarkRequest{Name: name, Label: label, Replace: o.replace})
	if err != nil {
		return err
	}
	if m.Ran {
		a.say("marked %s as %s in %s; it stood still for %s", name, label, short(m.Took), short(m.Pause))
	} else {
		a.say("marked %s, which does not run, as %s", name, label)
	}
	return nil
}
