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

// choosers are the variables that stand for flags that are not given. Unset, or empty,
// they have no opinion.
var choosers = map[string]string{"server": software.EnvServer, "volume": envVolume}

// choices tells what asks for which field of a spec: its flag, or the variable that stands for the
// flag.
func choices(cmd *cobra.Command) engine.Choices {
	out := engine.Choices{}
	for _, field := range engine.Fields() {
		if cmd.Flags().Changed(field) {
			out[field] = engine.Choice{By: "--" + field}
		} else if name := choosers[field]; name != "" && os.Getenv(name) != "" {
			out[field] = engine.Choice{By: name, Standing: true}
		}
	}
	return out
}

// forCommand is the environment for the command of `ramaria run`, of a caller with the
// environment env: what chose an instance chose this one, and flags win over variables.
func forCommand(env []string, spec instance.Spec) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return name == software.EnvServer && value != spec.Server || name == envVolume && value != spec.Volume
	})
}
