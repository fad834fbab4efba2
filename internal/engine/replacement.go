package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// ensureServer gives an instance that is about to start another server if the programs of its own
// are gone: caches are cleared, homes moved and packages removed. The data is unharmed and goes on
// under another server of its series, which is found, or fetched, as for a new instance.
func (e *Engine) ensureServer(ctx context.Context, i *instance.Instance) error {
	gone := i.Server.Missing()
	if gone == "" {
		return nil
	}
	srv, err := e.ReplacementServer(ctx, i)
	if err != nil && i.Server.Daemon.Missing() == "" {
		return nil // it can start, and the command that needs the other program says what is missing
	}
	if err != nil {
		return fmt.Errorf("start instance %s: %s no longer exists (its data does): %w", i.Name, gone, err)
	}
	e.note("instance %s: %s no longer exists; it goes on with %s in %s", i.Name, gone, srv.Name(), srv.Dir)
	i.Server = srv
	return i.Save()
}

// ReplacementServer finds a server of the same series for an instance whose own programs are
// gone.
func (e *Engine) ReplacementServer(ctx context.Context, i *instance.Instance) (*server.Server, error) {
	old := i.Server
	text := string(old.Flavour) + ":" + old.Version.Series()
	if strings.Contains(i.Spec.Server, "/") {
		text = i.Spec.Server // this one and no other was asked for
	}
	srv, err := e.Finder().Find(ctx, text)
	if err != nil {
		return nil, err
	}
	if srv.Flavour != old.Flavour || srv.Version.Series() != old.Version.Series() || cmp.Compare(srv.Version.Patch, old.Version.Patch) < 0 {
		return nil, fmt.Errorf("there is %s %s instead of %s, which wrote its data\nhint: put %s back, or make the instance again: ramaria up %s --fresh (what it holds is lost)",
			srv.Flavour, srv.Version, old.Version, old.Daemon.Path(), i.Name)
	}
	return srv, nil
}
