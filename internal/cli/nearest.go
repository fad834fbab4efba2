package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// farthest is how many letters may be wrong, missing, too many or exchanged in a word that is taken
// for another.
const farthest = 2

// nearest returns the word that was likely meant, "" if none is near.
func nearest(meant string, words []string) string {
	best, least := "", min(farthest, len(meant)-1)+1
	for _, w := range words {
		d := distance(strings.ToLower(meant), w)
		if d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is how many letters must be replaced, left out, put in, or exchanged with their
// neighbour, to make a of b: the optimal string alignment.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			other := 1
			if a[i-1] == b[j-1] {
				other = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+other)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// flagHint is what to type where a flag is wrong: the one that was likely meant, or the help.
func flagHint(cmd *cobra.Command, err error) string {
	_, name, unknown := strings.Cut(err.Error(), "unknown flag: --")
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if like := nearest(name, names); unknown && like != "" {
		return "--" + like + "; " + cmd.CommandPath() + " --help has all"
	}
	return cmd.CommandPath() + " --help"
}
