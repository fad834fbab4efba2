package lab

import (
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Settings are those of a scenario whose data is the fixture.
func (l *Lab) Settings() map[string]string {
	settings := map[string]string{
		"server": l.Server.Name(), "origin": l.Server.Origin, "data": "world fixture, 239 + 4079 + 984 rows",
		"ramaria's settings": l.ramariaSettings(),
	}
	if stock := l.Server.Settings(server.Stock, ""); len(stock) > 0 {
		settings["stock settings"] = "the server's defaults, and " + strings.Join(stock, ", ")
	} else {
		settings["stock settings"] = "the server's defaults"
	}
	return settings
}

// SysbenchSettings are those of a scenario whose data sysbench makes.
func (l *Lab) SysbenchSettings(d SysbenchData) map[string]string {
	settings := l.Settings()
	settings["data"] = d.String()
	return settings
}

// ramariaSettings are the options that ramaria gives a server, but for those that say where it is:
// first those of all volumes, then what some have besides.
func (l *Lab) ramariaSettings() string {
	on, of := map[string][]volume.Kind{}, []string{}
	for _, kind := range volume.Kinds {
		for _, option := range l.Server.Settings(server.Run, string(kind)) {
			if on[option] == nil {
				of = append(of, option)
			}
			on[option] = append(on[option], kind)
		}
	}
	var all, some []string
	for _, option := range of {
		if kinds := on[option]; len(kinds) == len(volume.Kinds) {
			all = append(all, option)
		} else {
			some = append(some, fmt.Sprintf("%s on %s", option, joined(kinds)))
		}
	}
	return strings.Join(append(all, some...), ", ")
}

// joined are kinds of volumes in a row.
func joined(kinds []volume.Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, " and ")
}
