package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// whichOne says in helps what aim does.
const whichOne = "Without NAME: the instance of RAMARIA_API, which ramaria run and ramaria env set, else that of\n" +
	"RAMARIA_INSTANCE, else main."

// target is the instance that a command line is about.
type target struct {
	// name is that of an instance of this home, whether it exists or not; "" for one that this home
	// does not have.
	name string
	// api is where such a one answers: a socket, or a URL on another machine.
	api string
}

// aim is the one rule by which every command finds the instance that it is about: the one that is
// named; else the one that RAMARIA_API leads to, as in a script under `ramaria run`, where main
// would be another; else the one that RAMARIA_INSTANCE names; else main. Variables that contradict
// each other are an error: who removes an instance must not hit another.
func (a *app) aim(args []string) (target, error) {
	named := os.Getenv(client.EnvInstance)
	api := os.Getenv(client.EnvVar)
	switch {
	case len(args) > 0:
		return target{name: args[0]}, nil
	case api == "" && named == "":
		return target{name: instance.DefaultName}, nil
	case api == "":
		if err := instance.CheckName(named); err != nil {
			cause, _, _ := strings.Cut(err.Error(), "\nhint: ")
			return target{}, usageError{fmt.Errorf("%s: %s\nhint: unset %s, or set it to a name that ramaria ls shows", client.EnvInstance, cause, client.EnvInstance)}
		}
		return target{name: named}, nil
	}
	t := target{name: a.nameAt(api)}
	if t.name == "" {
		return target{api: api}, nil
	}
	if named != "" && named != t.name {
		return target{}, usageError{fmt.Errorf("choose an instance: %s leads to %s, and %s names %s\nhint: unset one of them, or name the instance: -i %s", client.EnvVar, t.name, client.EnvInstance, named, t.name)}
	}
	return t, nil
}

// nameAt is the name of the instance of this home whose API has the socket; "" if it is none. One
// that is gone is known by the path: a shell that was told of it still means it.
func (a *app) nameAt(socket string) string {
	records, _ := a.engine.Registry.List() // what cannot be read, the command itself will tell
	for _, r := range records {
		if r.APISocket() == socket {
			return r.Name
		}
	}
	dir := filepath.Dir(socket)
	if filepath.Base(filepath.Dir(dir)) != "instances" || instance.CheckName(filepath.Base(dir)) != nil {
		return ""
	}
	for _, place := range []string{a.engine.Places.Shm, a.engine.Places.Disk, a.engine.Places.Mounts} {
		if place != "" && within(socket, place) {
			return filepath.Base(dir)
		}
	}
	return ""
}

// meant is aim for commands that work on instances of this home only.
func (a *app) meant(args []string) (string, error) {
	t, err := a.aim(args)
	if err == nil && t.api != "" {
		where := "no instance of this home: it may be gone, or of another --home"
		if strings.Contains(t.api, "://") {
			where = "an instance on another machine, where only its databases and templates can be used"
		}
		err = usageError{fmt.Errorf("choose an instance: %s leads to %s\nhint: name the instance by -i NAME, or: unset %s %s", client.EnvVar, where, client.EnvVar, client.EnvInstance)}
	}
	return t.name, err
}

// optional is named for commands whose NAME may be left out: they always get one, that of the
// instance that is meant.
func (a *app) optional(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, err := a.meant(args)
		if err != nil {
			return err
		}
		return run(cmd, append([]string{name}, args[min(1, len(args)):]...))
	}
	return a.named(cmd)
}

// at says which instance is meant by a command about databases; add makes it.
type at struct {
	name string
	// given says whether it is named, if only by an empty name.
	given func() bool
}

func (o *at) add(a *app, cmd *cobra.Command) {
	const flag = "instance"
	cmd.Flags().StringVarP(&o.name, flag, "i", "", "`NAME` of the instance (default: the one of "+client.EnvVar+", else of "+client.EnvInstance+", else main)")
	o.given = func() bool { return cmd.Flags().Changed(flag) }
	_ = cmd.RegisterFlagCompletionFunc(flag, a.completeOneName)
}

// client returns a client of the instance, which must run.
func (o *at) client(a *app) (*client.Client, error) {
	var args []string
	if o.given() {
		args = []string{o.name}
	}
	t, err := a.aim(args)
	switch {
	case err != nil:
		return nil, err
	case t.api != "":
		return client.New(t.api), nil
	}
	i, err := a.engine.Running(t.name)
	if err != nil {
		return nil, err
	}
	return client.New(i.APISocket()), nil
}

// elsewhere puts another hint to a text about a socket that RAMARIA_API names and where no instance answers, or
// another user's: what starts main, or chooses another home, does not help, since the variable stays.
func (a *app) elsewhere(text string) string {
	socket := os.Getenv(client.EnvVar)
	if socket == "" || strings.Contains(socket, "://") || !strings.Contains(text, "at "+socket+": ") {
		return text
	}
	cause, _, _ := strings.Cut(text, "\nhint: ")
	return cause + "\nhint: RAMARIA_API names that socket, of no instance of this home; unset RAMARIA_API, or name an instance by -i NAME"
}
