package scenario

import (
	"context"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// hundredChanges change a hundred rows of the fixture.
var hundredChanges = []lab.Change{
	{Statement: "UPDATE city SET population = population + 1 ORDER BY id LIMIT 50", Rows: 50},
	{Statement: "INSERT INTO city (name, country_code, district, population) SELECT name, country_code, district, 1 FROM city ORDER BY id LIMIT 25", Rows: 25},
	{Statement: "DELETE FROM language ORDER BY country_code, language LIMIT 25", Rows: 25},
}

// RowHundred is the reset of a HundredScenario.
const RowHundred = "ramaria db reset"

// HundredScenario puts a hundred changed rows back, and loads the fixture again.
func HundredScenario(l *lab.Lab) runner.Scenario {
	const cycles = 20
	settings := l.Settings()
	f := &lab.TemplateServer{Lab: l, Name: "resets", Settings: settings, Flags: func(_ context.Context, kind volume.Kind) ([]string, error) { return l.From(string(kind)), nil }}
	undone := func(_, undone time.Duration) time.Duration { return undone }
	hundred := resetting{templates: f, template: lab.FixtureDatabase, changes: hundredChanges, way: wayRewind, cycles: cycles, value: undone}
	return runner.Scenario{
		Name: "hundred", Title: "a hundred changes put back", Unit: runner.Seconds, Settings: settings, Beside: lab.FsyncBeside(), Cases: lab.WithStorage(l.VolumeStorage(""), byHandRow(l), hundred.named(RowHundred, "")),
	}
}
