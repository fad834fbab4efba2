package engine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
)

// findServer finds the software to restore a backup with: what was asked for, else the series that made it, else what
// is here of that flavour and no older, else what can be fetched.
func (v *verification) findServer(ctx context.Context) (*server.Server, error) {
	made := v.source.made
	if v.q.Server != "" || made.Flavour == "" {
		srv, err := v.e.Finder().Find(ctx, v.q.Server)
		if err != nil {
			return nil, err
		}
		return srv, v.refuseOlder(srv)
	}
	series := ""
	if made.Version != (server.Version{}) {
		series = string(made.Flavour) + ":" + made.Version.Series()
	}
	here := v.e.Finder()
	here.NoFetch, here.Progress = true, nil
	for _, text := range []string{series, os.Getenv(software.EnvServer), string(made.Flavour)} {
		if text == "" {
			continue
		}
		if srv, err := here.Find(ctx, text); err == nil && v.fits(srv) {
			return srv, nil
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if series != "" {
		if srv, err := v.e.Finder().Find(ctx, series); err == nil {
			return srv, nil
		}
	}
	srv, err := v.e.Finder().Find(ctx, string(made.Flavour))
	if err != nil {
		return nil, err
	}
	return srv, v.refuseOlder(srv)
}

// fits reports whether a server restores what the backup is of. A dump is loaded by any later one.
func (v *verification) fits(srv *server.Server) bool {
	made := v.source.made
	if srv.Flavour != made.Flavour || v.older(srv) {
		return false
	}
	return v.source.kind == kindDump || v.source.kind == kindDumps || srv.StepTo(made.Version) == ""
}

// older reports whether a server is of an older series than the one that made the backup.
func (v *verification) older(srv *server.Server) bool {
	made := v.source.made
	return srv.Flavour == made.Flavour && made.Version.Series() != srv.Version.Series() && made.Version.Compare(srv.Version) > 0
}

func (v *verification) refuseOlder(srv *server.Server) error {
	made := v.source.made
	if !v.older(srv) {
		return nil
	}
	want := fmt.Sprintf("%s:%s", made.Flavour, made.Version.Series())
	return RequestError{errors.New("verify " + v.q.Backup + ": it was made by " + made.Text + ", and " + srv.Name() + " is of an older series\nhint: ramaria server fetch " + want + "; then ramaria verify --server " + want + " " + server.ShellWord(v.q.Backup))}
}
