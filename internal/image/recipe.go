package image

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/fit"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

// DefaultDatabase and DefaultUser are what applications get by default.
const (
	DefaultDatabase = "app"
	DefaultUser     = "app"
)

// Recipe is what an image is built from.
type Recipe struct {
	Server *server.Server
	// From are the sources, with absolute paths; none is an empty server.
	From []Source
	// Key stands for the content of exec: sources.
	Key string
	// AllowEmpty takes dumps without a statement.
	AllowEmpty bool
	// Fit is what of dumps is mapped.
	Fit fit.Options
	// Database is where dumps without USE go, and what applications get; "" is named
	// after the first such dump.
	Database string
	// User is the application's account, which exec: commands connect as.
	User string
	// Set holds the user's own settings.
	Set map[string]string
	// Unconfined lets the build's servers reach whatever their account may. The image is the same.
	Unconfined bool
}

// plan is a recipe with its sources looked at and its id known.
type plan struct {
	Recipe
	inputs []input
	id     string
}

// base returns the recipe of the empty server that dumps are loaded into.
func (r Recipe) base() Recipe {
	return Recipe{Server: r.Server, User: r.User, Set: r.Set, Unconfined: r.Unconfined}
}

// resolve looks at the sources and computes the id. It reads a source only when
// it changed since it was last read. An image must be named by its full id: see
// Store.fullID.
func (r Recipe) resolve(ctx context.Context, m memo.Store) (*plan, error) {
	inputs, err := look(r.From)
	if err != nil {
		return nil, err
	}
	if r.Key != "" && !slices.ContainsFunc(inputs, func(s input) bool { return s.kind == kindExec }) {
		return nil, usagef("use --key: no source needs it\nhint: leave --key out; it stands for what a command makes, --from exec:COMMAND")
	}
	h := sha256.New()
	fmt.Fprintf(h, "ramaria image %d\n%s\n", Format, r.Server.Name())
	for _, line := range r.Server.Shape(r.Set) {
		fmt.Fprintf(h, "set %s\n", line)
	}
	if r.Database != "" {
		fmt.Fprintf(h, "database %q\n", r.Database)
	}
	if r.Fit != (fit.Options{}) {
		fmt.Fprintf(h, "fit %+v\n", r.Fit)
	}
	if r.AllowEmpty { // who does not say so must not find the image
		fmt.Fprintf(h, "allow empty\n")
	}
	for _, s := range inputs {
		switch s.kind {
		case kindDump:
			sum, err := s.hash(ctx, m)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(h, "dump %s %q\n", sum, dumpfile.DatabaseName(s.path))
		case kindDataDir:
			sum, err := hashDataDir(ctx, m, s.path)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(h, "datadir %s\n", sum)
		case kindExec:
			if r.Key == "" {
				return nil, usagef("use source %s: what a command makes has no content to tell changes by, so it needs a key that does\nhint: add --key, for example --key \"$(sha256sum migrations/* | sha256sum)\"", s.name)
			}
			fmt.Fprintf(h, "exec %q key %q user %q\n", s.path, r.Key, r.User)
		case kindImage:
			fmt.Fprintf(h, "image %s\n", s.path)
		case kindInstance:
			// It has no content that stays: each image of it is another.
			fmt.Fprintf(h, "instance %q %s\n", s.path, rand.Text())
		}
	}
	return &plan{Recipe: r, inputs: inputs, id: hex.EncodeToString(h.Sum(nil)[:8])}, nil
}

// origin tells people what the image is built from.
func (p *plan) origin() string {
	if len(p.inputs) == 0 {
		return "empty server"
	}
	var names []string
	for _, s := range p.inputs {
		names = append(names, s.name)
	}
	if len(names) > 4 {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

// checkClient refuses a plan that loads dumps without a client to load them.
func (p *plan) checkClient() error {
	for _, s := range p.inputs {
		if s.kind == kindDump && len(p.Server.Client.Argv) == 0 {
			return fmt.Errorf("load %s: %w", filepath.Base(s.path), p.Server.NoClient())
		}
	}
	return nil
}

// errEachAnother says that a recipe has no id.
var errEachAnother = errors.New("each image of an instance is another")

// ID returns the id of the image that the recipe makes; when that is the recipe's
// only source, as it was given: see Made. A recipe that begins with an instance has
// none.
func (r Recipe) ID(ctx context.Context, m memo.Store) (string, error) {
	p, err := r.resolve(ctx, m)
	if err != nil {
		return "", err
	}
	if len(p.inputs) > 0 && p.inputs[0].kind == kindInstance {
		return "", fmt.Errorf("use source %s: %w", p.inputs[0].name, errEachAnother)
	}
	if len(p.inputs) == 1 && p.inputs[0].kind == kindImage {
		return p.inputs[0].path, nil
	}
	return p.id, nil
}

// Made reports whether the image with this id is what the recipe makes. It is an
// error when that cannot be told at all, of an instance, or not without the store: an
// image that is loaded into and was given by the beginning of its id.
func (r Recipe) Made(ctx context.Context, m memo.Store, id string) (bool, error) {
	made, err := r.ID(ctx, m)
	if err != nil {
		return false, err
	}
	if len(r.From) > 1 && r.From[0].isPrefix() {
		return false, fmt.Errorf("compare with image %s: %s is only the beginning of an id", id, r.From[0])
	}
	return strings.HasPrefix(id, made), nil
}
