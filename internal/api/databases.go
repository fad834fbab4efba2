package api

import (
	"context"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
)

const (
	// MaxTTL is the longest time to live of a database.
	MaxTTL = 365 * 24 * time.Hour
	// MaxWait is the longest that a request can wait for its turn.
	MaxWait = time.Hour
	// MaxKey is the length of the longest key of a template, in bytes.
	MaxKey = 1024
	// MaxDatabases bounds what the limits of the pool can be set to.
	MaxDatabases = 10_000
)

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
	if req.Name != "" && !dbconn.PlainName(req.Name) {
		return nil, invalid("use name %q: it must have 1 to %d of A-Z, a-z, 0-9 and _", req.Name, dbconn.MaxName)
	}
	if err := checkSeconds("ttl_s", req.TTLSeconds, MaxTTL, "a year"); err != nil {
		return nil, err
	}
	if err := checkSeconds("wait_s", req.WaitSeconds, MaxWait, "an hour"); err != nil {
		return nil, err
	}
	return h.instance.NewDatabase(ctx, req)
}

// checkSeconds refuses a time that is not between 0 and the most.
func checkSeconds(what string, seconds float64, most time.Duration, words string) error {
	if !(seconds >= 0 && seconds <= most.Seconds()) { // the other way round it would let NaN pass
		return invalid("use %s %v: it must be a number of seconds from 0, which is the default, to %.0f, %s", what, seconds, most.Seconds(), words)
	}
	return nil
}

func (h *handler) createTemplate(ctx context.Context, r request) (any, error) {
	req, err := decode[client.TemplateRequest](r.body)
	if err != nil {
		return nil, err
	}
	if !dbconn.PlainName(req.Name) {
		return nil, invalid("use name %q: it must have 1 to %d of A-Z, a-z, 0-9 and _", req.Name, dbconn.MaxName)
	}
	if len(req.Key) == 0 || len(req.Key) > MaxKey {
		return nil, invalid("use a key of %d bytes: it must have 1 to %d", len(req.Key), MaxKey)
	}
	if err := checkSeconds("wait_s", req.WaitSeconds, MaxWait, "an hour"); err != nil {
		return nil, err
	}
	if err := checkSeconds("build_s", req.BuildSeconds, MaxTTL, "a year"); err != nil {
		return nil, err
	}
	return h.instance.CreateTemplate(ctx, req)
}

func (h *handler) database(ctx context.Context, r request) (any, error) {
	if err := checkDatabase("database", r.name); err != nil {
		return nil, err
	}
	return h.instance.Database(ctx, r.name)
}

func (h *handler) keepDatabase(ctx context.Context, r request) (any, error) {
	if err := checkDatabase("database", r.name); err != nil {
		return nil, err
	}
	return h.instance.KeepDatabase(ctx, r.name)
}

func (h *handler) limits(ctx context.Context, _ request) (any, error) {
	return h.instance.Limits(ctx)
}

func (h *handler) setLimits(ctx context.Context, r request) (any, error) {
	req, err := decode[client.Limits](r.body)
	if err != nil {
		return nil, err
	}
	if req.MaxDatabases < 1 || req.MaxDatabases > MaxDatabases || req.Spare < 0 || req.Spare > MaxDatabases {
		return nil, invalid("use max_databases %d and spare %d: they must be from 1, and from 0, to %d\nhint: ramaria db pool shows them", req.MaxDatabases, req.Spare, MaxDatabases)
	}
	return h.instance.SetLimits(ctx, req)
}

func (h *handler) resetDatabase(ctx context.Context, r request) (any, error) {
	return putBack(ctx, r, h.instance.ResetDatabase)
}

// putBack puts a database back by f.
func putBack(ctx context.Context, r request, f func(context.Context, string, client.ResetMode) (client.Reset, error)) (any, error) {
	if err := checkDatabase("database", r.name); err != nil {
		return nil, err
	}
	counters, err := countersOf(r.query)
	if err != nil {
		return nil, err
	}
	reset, err := f(ctx, r.name, counters)
	reset.Warnings = list(reset.Warnings)
	return reset, err
}

// countersOf reads a query, which may say what becomes of counters and nothing else: who
// misspells that would otherwise get what they did not ask for.
func countersOf(query string) (client.ResetMode, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", invalid("read query: %w", err)
	}
	counters := client.RestoreCounters
	for key, given := range values {
		if key != "counters" {
			return "", invalid("use %q in the URL: only counters can stand there", key)
		}
		counters = client.ResetMode(strings.Join(given, ","))
	}
	if counters != client.RestoreCounters && counters != client.KeepCounters {
		return "", invalid("use counters %q: it must be %s, which is the default, or %s", string(counters), client.RestoreCounters, client.KeepCounters)
	}
	return counters, nil
}

func (h *handler) setSavepoint(ctx context.Context, r request) (any, error) {
	if err := checkDatabase("database", r.name); err != nil {
		return nil, err
	}
	return nil, h.instance.SetSavepoint(ctx, r.name)
}

func (h *handler) rollbackDatabase(ctx context.Context, r request) (any, error) {
	return putBack(ctx, r, h.instance.RollbackDatabase)
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
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > dbconn.MaxName || strings.ContainsAny(name, "/\x00"):
		return invalid("use %s %q: it must have 1 to %d characters, none of them / or NUL", what, name, dbconn.MaxName)
	}
	return nil
}
