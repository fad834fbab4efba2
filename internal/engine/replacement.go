package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
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

// isPath reports whether a server is asked for by the path of its program.
func isPath(text string) bool { return strings.Contains(text, "/") }

// leavePath has an instance ask for a server by flavour and series that asked for one by its path, which is gone, if
// that is said now.
func (e *Engine) leavePath(q UpRequest, r *instance.Record) error {
	given, is := q.Options["server"]
	if !is || given.Default || isPath(q.Spec.Server) || !isPath(r.Spec.Server) {
		return nil
	}
	if _, err := os.Stat(r.Spec.Server); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if i, err := e.Registry.Open(r.Name); err == nil { // else only its archive knows, if it has one
		if own, err := software.Fulfils(i.Server, q.Spec.Server); err != nil || !own {
			return nil //nolint:nilerr // what differs is said
		}
	}
	spec := r.Spec
	spec.Server = q.Spec.Server
	return e.put(r, spec)
}

// ReplacementServer finds a server of the same series for an instance whose own programs are
// gone.
func (e *Engine) ReplacementServer(ctx context.Context, i *instance.Instance) (*server.Server, error) {
	old := i.Server
	text := string(old.Flavour) + ":" + old.Version.Series()
	if isPath(i.Spec.Server) {
		text = i.Spec.Server // this one and no other was asked for
	}
	srv, err := e.Finder().Find(ctx, text)
	if err != nil && isPath(i.Spec.Server) {
		text, _ := splitHint(err)
		return nil, fmt.Errorf("%s\nhint: put %s back there; or ramaria up %s --server %s:%s goes on with another one of its series", text, old.Name(), i.Name, old.Flavour, old.Version.Series())
	}
	if err != nil {
		return nil, err
	}
	if srv.Flavour != old.Flavour || srv.Version.Series() != old.Version.Series() || cmp.Compare(srv.Version.Patch, old.Version.Patch) < 0 {
		return nil, fmt.Errorf("there is %s %s instead of %s, which wrote its data\nhint: put %s back, or make the instance again: ramaria up %s --fresh (what it holds is lost)",
			srv.Flavour, srv.Version, old.Version, old.Daemon.Path(), i.Name)
	}
	return srv, nil
}
