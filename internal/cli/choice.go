package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// envVolume names the volume that is wanted where no flag says.
const envVolume = "RAMARIA_VOLUME"

// choosers are the variables that stand for flags that are not given. Unset, or empty,
// they have no opinion.
var choosers = map[string]string{"server": server.EnvServer, "volume": envVolume}

// askedBy names what asks for a value of a flag: the flag, the variable that stands for
// it, or "" where nothing does.
func askedBy(cmd *cobra.Command, flag string) string {
	if cmd.Flags().Changed(flag) {
		return "--" + flag
	}
	if name := choosers[flag]; name != "" && os.Getenv(name) != "" {
		return name
	}
	return ""
}

// settled returns now, with what the instance fulfils already as it was asked for
// when it was made: RAMARIA_SERVER=mariadb has no quarrel with a MariaDB 11.8. asked is what asks for
// a volume; see askedBy.
func (a *app) settled(r *instance.Record, now instance.Spec, asked string) (instance.Spec, error) {
	fulfils := func() (bool, error) { return server.Narrower(r.Spec.Server, now.Server) }
	if i, err := a.registry.Open(r.Name); err == nil { // else it is gone, and only its record tells
		fulfils = func() (bool, error) { return i.Server.Fulfils(now.Server) }
	}
	ok, err := fulfils()
	if err != nil {
		return now, usageError{err}
	}
	if ok {
		now.Server = r.Spec.Server
	}
	want, err := volume.ParseSpec(now.Volume)
	if err != nil {
		return now, usageError{err}
	}
	lies := want.Kind == volume.Auto || string(want.Kind) == r.Volume
	switch {
	case asked == envVolume && !lies:
		// Where data lies changes nothing of what a test sees: the variable is for what is made.
		a.say("note: instance %s lies in volume %s; RAMARIA_VOLUME=%s is for new ones", r.Name, r.Volume, now.Volume)
		fallthrough
	case asked == envVolume, want.Size == 0 && lies:
		now.Volume = r.Spec.Volume
	}
	return now, nil
}

// forCommand is the environment for the command of `ramaria run`, of a caller with the
// environment env: what chose an instance chose this one, and flags win over variables.
func forCommand(env []string, spec instance.Spec) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return name == server.EnvServer && value != spec.Server || name == envVolume && value != spec.Volume
	})
}
