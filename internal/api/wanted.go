package api

import (
	"fmt"
	"net/url"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
)

// wantedOf reads the query of a status: what the caller expects of the instance.
func wantedOf(query string) (w client.Wanted, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return w, invalid("read query: %w", err)
	}
	fields := map[string]*string{"instance": &w.Instance, "server": &w.Server}
	for key, given := range values {
		field := fields[key]
		if field == nil || len(given) != 1 {
			return w, invalid("use %q in the URL: only instance and server can stand there, once each", key)
		}
		*field = given[0]
	}
	return w, nil
}

// checkWanted refuses to be taken for another instance: tests that were to run on a MySQL
// would otherwise pass on a MariaDB.
func checkWanted(s client.Status, w client.Wanted) error {
	refuse := func(variable, has, asked string) error {
		return As(errOther, fmt.Errorf("use instance %s: it %s, and %s was asked for\nhint: unset %s to use it, or unset %s to have an instance started that is as asked for",
			s.Name, has, asked, variable, client.EnvVar))
	}
	if w.Instance != "" && w.Instance != s.Name {
		return refuse(client.EnvInstance, "has another name", w.Instance)
	}
	if w.Server != "" {
		ok, err := fulfils(s.Server, w.Server)
		if err != nil {
			return As(ErrInvalid, err)
		}
		if !ok {
			return refuse(software.EnvServer, "runs "+s.Server.Flavour+" "+s.Server.Version, w.Server)
		}
	}
	return nil
}

func fulfils(has client.Server, text string) (bool, error) {
	v, err := server.ParseVersion(has.Version)
	if err != nil {
		return false, err
	}
	srv := server.Server{Flavour: server.Flavour(has.Flavour), Version: v, Daemon: server.Program{Argv: []string{has.Path}}}
	return software.Fulfils(&srv, text)
}
