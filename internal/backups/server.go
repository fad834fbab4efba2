package backups

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
)

// Server finds the software to restore a backup with: what was asked for, else the series that made it, else what
// is here of that flavour and no older, else what can be fetched.
func (b *Backup) Server(ctx context.Context, asked string, finder *software.Finder) (*server.Server, error) {
	made := b.Made
	here := *finder
	here.NoFetch, here.Progress = true, nil
	if asked == "" && made.Flavour == "" && b.likely != "" {
		if srv, err := here.Find(ctx, string(b.likely)); err == nil {
			return srv, nil
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if asked != "" || made.Flavour == "" {
		srv, err := finder.Find(ctx, asked)
		if err != nil {
			return nil, err
		}
		return srv, b.refuseOlder(srv)
	}
	series := ""
	if made.Version != (server.Version{}) {
		series = string(made.Flavour) + ":" + made.Version.Series()
	}
	for _, text := range []string{series, os.Getenv(software.EnvServer), string(made.Flavour)} {
		if text == "" {
			continue
		}
		if srv, err := here.Find(ctx, text); err == nil && b.fits(srv) {
			return srv, nil
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if series != "" {
		if srv, err := finder.Find(ctx, series); err == nil {
			return srv, nil
		}
	}
	srv, err := finder.Find(ctx, string(made.Flavour))
	if err != nil {
		return nil, err
	}
	return srv, b.refuseOlder(srv)
}

// fits reports whether a server restores what the backup is of. A dump is loaded by any later one.
func (b *Backup) fits(srv *server.Server) bool {
	made := b.Made
	if srv.Flavour != made.Flavour || b.older(srv) {
		return false
	}
	return b.Loaded() || srv.StepTo(made.Version) == ""
}

// older reports whether a server is of an older series than the one that made the backup.
func (b *Backup) older(srv *server.Server) bool {
	made := b.Made
	return srv.Flavour == made.Flavour && made.Version.Series() != srv.Version.Series() && made.Version.Compare(srv.Version) > 0
}

func (b *Backup) refuseOlder(srv *server.Server) error {
	made := b.Made
	if !b.older(srv) {
		return nil
	}
	want := fmt.Sprintf("%s:%s", made.Flavour, made.Version.Series())
	return RefusedError{errors.New("verify " + b.Name + ": it was made by " + made.Text + ", and " + srv.Name() + " is of an older series\nhint: ramaria server fetch " + want + "; then ramaria verify --server " + want + " " + server.ShellWord(b.Name))}
}
