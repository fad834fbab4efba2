package api

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ramaria-db/ramaria/client"
)

const (
	// MaxTTL is the longest time to live of a database.
	MaxTTL = 365 * 24 * time.Hour
	// MaxDatabase is the length of the longest name of a database, in characters, from
	// the servers' manuals, "Identifier Length Limits" and "Identifier Names".
	MaxDatabase = 64
)

// newName is what a new database's name must keep: it needs no quotes anywhere.
var newName = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

func (h *handler) templates(ctx context.Context, _ request) (any, error) {
	t, err := h.instance.Templates(ctx)
	return list(t), err
}

func (h *handler) putTemplate(ctx context.Context, r request) (any, error) {
	if err := checkDatabase("template", r.name); err != nil {
		return nil, err
	}
	return h.instance.PutTemplate(ctx, r.name)
}

func (h *handler) deleteTemplate(ctx context.Context, r request) (any, error) {
	if err := checkDatabase("template", r.name); err != nil {
		return nil, err
	}
	return nil, h.instance.DeleteTemplate(ctx, r.name)
}

func (h *handler) databases(ctx context.Context, _ request) (any, error) {
	d, err := h.instance.Databases(ctx)
	return list(d), err
}

func (h *handler) newDatabase(ctx context.Context, r request) (any, error) {
	req, err := decode[client.DatabaseRequest](r.body)
	if err != nil {
		return nil, err
	}
	if err := checkDatabase("template", req.Template); err != nil {
		return nil, err
	}
	if req.Name != "" && !newName.MatchString(req.Name) {
		return nil, invalid("use name %q: it must have 1 to %d of A-Z, a-z, 0-9 and _", req.Name, MaxDatabase)
	}
	// The other way round it would let NaN pass.
	if ttl := req.TTLSeconds; !(ttl >= 0 && ttl <= MaxTTL.Seconds()) {
		return nil, invalid("use ttl_s %v: it must be a number of seconds from 0, which is the default, to %.0f, a year", ttl, MaxTTL.Seconds())
	}
	return h.instance.NewDatabase(ctx, req)
}

func (h *handler) resetDatabase(ctx context.Context, r request) (any, error) {
	if err := checkDatabase("database", r.name); err != nil {
		return nil, err
	}
	reset, err := h.instance.ResetDatabase(ctx, r.name)
	reset.Warnings = list(reset.Warnings)
	return reset, err
}

func (h *handler) dropDatabase(ctx context.Context, r request) (any, error) {
	if err := checkDatabase("database", r.name); err != nil {
		return nil, err
	}
	return nil, h.instance.DropDatabase(ctx, r.name)
}

// checkDatabase refuses a name, of the template or database that what says, that no
// database has. Whether there is one the server knows.
func checkDatabase(what, name string) error {
	switch {
	case name == "":
		return invalid("read request: its %s is missing", what)
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxDatabase || strings.ContainsAny(name, "/\x00"):
		return invalid("use %s %q: it must have 1 to %d characters, none of them / or NUL", what, name, MaxDatabase)
	}
	return nil
}
