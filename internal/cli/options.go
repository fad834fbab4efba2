package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/engine"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/software"
)

// envVolume names the volume that is wanted where no flag says.
const envVolume = "RAMARIA_VOLUME"

// envOptions are the variables that stand for flags that are not given. One that is empty counts
// as unset.
var envOptions = map[string]string{"server": software.EnvServer, "volume": envVolume}

// givenOptions returns the flags that are given, and the variables that stand for others.
func givenOptions(cmd *cobra.Command) engine.Options {
	out := engine.Options{}
	for _, field := range engine.Fields() {
		if cmd.Flags().Changed(field) {
			out[field] = engine.Option{Name: "--" + field}
		} else if name := envOptions[field]; name != "" && os.Getenv(name) != "" {
			out[field] = engine.Option{Name: name, Default: true}
		}
	}
	return out
}

// commandEnv is the environment for the command of `ramaria run`, of a caller with the
// environment env: what chose an instance chose this one, and flags win over variables.
func commandEnv(env []string, spec instance.Spec) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return name == software.EnvServer && value != spec.Server || name == envVolume && value != spec.Volume
	})
}
