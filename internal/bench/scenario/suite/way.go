package suite

import (
	"context"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
)

// Way is a way to run the user's tests: how they are kept apart, and where their server is.
type Way struct {
	// Name says how tests are kept apart: "truncate", "reset"; "" where there is one command alone.
	Name string
	// Place is where the server is, as --place has it; "" for each place of a suite.
	Place string
	Argv  []string
}

// ParseWay reads NAME=COMMAND, or NAME@PLACE=COMMAND. A shell takes the command.
func ParseWay(text string) (Way, error) {
	head, command, found := strings.Cut(text, "=")
	name, place, placed := strings.Cut(head, "@")
	if !found || strings.TrimSpace(name) == "" || strings.TrimSpace(command) == "" {
		return Way{}, fmt.Errorf("use way %q: it has no name, or no command\nhint: --way 'truncate@disk=make test'", text)
	}
	if placed {
		if err := lab.CheckPlaces([]string{place}); err != nil {
			return Way{}, fmt.Errorf("use way %q: %w", text, err)
		}
	}
	return Way{Name: name, Place: place, Argv: []string{"sh", "-c", command}}, nil
}

// Meets says whether two ways may have a row of one name.
func (w Way) Meets(other Way) bool {
	return w.Name == other.Name && (w.Place == other.Place || w.Place == "" || other.Place == "")
}

// String is what ParseWay reads.
func (w Way) String() string {
	if w.Place == "" {
		return w.Name + "=" + w.Argv[len(w.Argv)-1]
	}
	return w.Name + "@" + w.Place + "=" + w.Argv[len(w.Argv)-1]
}

// setting is the name of the setting that has the command.
func (w Way) setting() string {
	switch {
	case w.Name == "":
		return "command"
	case w.Place == "":
		return "way " + w.Name
	}
	return "way " + w.Name + "@" + w.Place
}

// row is the name of the row in a place.
func (w Way) row(at lab.Place) string {
	if w.Name == "" {
		return at.Row
	}
	return w.Name + " (" + at.Row + ")"
}

// places are those where it runs.
func (w Way) places(l *lab.Lab) []lab.Place {
	if w.Place != "" {
		return l.PlacesNamed(context.Background(), w.Place)
	}
	return l.Places(context.Background(), lab.PlaceDisk, lab.PlaceRAMByHand, lab.PlaceRAMRelaxed, lab.PlaceRamaria)
}

// waysConclusion compares each way of Ramaria's with the others, one of which is what people have, and
// says how many tests leak.
func waysConclusion(r *runner.Result) string {
	var said []string
	for i := range r.Rows {
		ours := &r.Rows[i]
		if !ours.Ours || ours.Count == 0 {
			continue
		}
		for j := range r.Rows {
			other := &r.Rows[j]
			switch ratio := r.Unit.Ratio(other.Median, ours.Median); {
			case other.Ours || other.Count == 0:
			case !r.Beats(ours, other) && !r.Beats(other, ours):
				said = append(said, fmt.Sprintf("beside %s, %s %s", other.Name, ours.Name, r.NoGain(ratio)))
			default:
				said = append(said, fmt.Sprintf("%s is %s as fast as %s", ours.Name, strings.TrimSuffix(runner.FormatRatio(ratio), "x")+" times", other.Name))
			}
		}
	}
	for _, row := range r.Rows {
		if n, told := row.Beside[besideLeaking]; told {
			said = append(said, fmt.Sprintf("%.0f of %.0f tests leak with %s", n, row.Beside[besideLooked], row.Name))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return strings.Join(said, "; ") + "."
}
