package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/service"
)

func newService(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Put instances under systemd, which starts them at every boot",
	}
	cmd.AddCommand(newServiceInstall(a), newServiceRemove(a), newServiceLs(a), newServicePrepare(a))
	onlyOthers(cmd)
	return cmd
}

func newServiceInstall(a *app) *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "install NAME",
		Short: "Have systemd start an instance now, and at every boot",
		Long: `Have systemd start an instance now, and at every boot. A durable instance is back after a reboot
or a power cut with all that it has acknowledged; another is made again from what it was made of.
Account, password and port stay either way. An instance that runs is restarted for that.

Root gets a service of the system, anybody else one of their own, with lingering, so that it runs
without a session. From then on ramaria up and down start and stop the service, and ramaria rm
removes it with the instance.`,
		Example: `  ramaria up shop --durable && ramaria service install shop
  systemctl status ramaria@shop        # of your own: systemctl --user
  ramaria service install shop --print`,
		Args: exactArgs(1, "the name of an instance"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if printOnly {
				return runServicePrint(a, args[0])
			}
			return runServiceInstall(cmd.Context(), a, args[0])
		},
		ValidArgsFunction: a.completeOneName,
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the unit, and do nothing")
	return a.named(cmd)
}

func runServicePrint(a *app, name string) error {
	text, err := a.engine.ServiceUnit(name)
	if err != nil {
		return err
	}
	fmt.Fprint(a.stdout, text)
	return nil
}

func runServiceInstall(ctx context.Context, a *app, name string) error {
	s, err := a.engine.InstallService(ctx, name)
	if err != nil {
		return err
	}
	a.say("installed %s (%s); it runs, and starts at every boot", s.Unit, s.File)
	fmt.Fprintln(a.stdout, s.URL)
	return nil
}

func newServiceRemove(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Stop the service of an instance and take it away; the instance stays",
		Args:  exactArgs(1, "the name of an instance"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServiceRemove(cmd.Context(), a, args[0])
		},
		ValidArgsFunction: a.completeOneName,
	}
	return a.named(cmd)
}

func runServiceRemove(ctx context.Context, a *app, name string) error {
	there, err := a.engine.RemoveService(ctx, name)
	switch {
	case err != nil:
		return err
	case !there:
		a.say("instance %s has no service", name)
	default:
		a.say("removed %s; instance %s is stopped\nhint: ramaria up %[2]s starts it", service.Name(name), name)
	}
	return nil
}

func newServiceLs(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the services",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runServiceLs(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, printJSONFlag)
	return cmd
}

func runServiceLs(ctx context.Context, a *app, asJSON bool) error {
	list, err := a.engine.Services(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.say("no services; ramaria service install NAME makes one")
		return nil
	}
	t := newTable("INSTANCE", "UNIT", "STATE", "FILE")
	for _, s := range list {
		t.row(s.Instance, s.Unit, s.State, s.File)
	}
	t.print(a.stdout)
	return nil
}

// newServicePrepare is what the unit starts before the supervisor.
func newServicePrepare(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    "prepare NAME",
		Short:  "Make an instance ready for its supervisor, as its service does",
		Hidden: true,
		Args:   exactArgs(1, "the name of an instance"),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer service.KeepAlive(cmd.Context())()
			return a.engine.PrepareService(cmd.Context(), args[0])
		},
	}
}
