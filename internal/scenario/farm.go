package scenario

import (
	"context"
	"database/sql"
	"slices"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// farm is an instance with templates, made once for all cases that use it, and one
// client of its API, which keeps its connections.
type farm struct {
	lab  *Lab
	name string // of the instance
	// flags tell what the instance is made of.
	flags func(ctx context.Context, kind volume.Kind) ([]string, error)
	// settings are told the kind of volume.
	settings map[string]string

	begun    bool
	err      error // of the beginning
	up       bool
	instance *instance.Instance
	api      *client.Client
	// db is for looking at everything, by the application's account.
	db        *sql.DB
	templates map[string]contents
	named     map[string][]string // the tables of a template that are looked at; none are all
}

// begin brings the instance up, once, on the volume in RAM that ramaria chooses.
func (f *farm) begin(ctx context.Context) error {
	if !f.begun {
		f.begun = true
		f.err = f.bringUp(ctx)
	}
	return f.err
}

func (f *farm) bringUp(ctx context.Context) error {
	kind, err := f.lab.ramKind(ctx)
	if err != nil {
		return err
	}
	f.settings["volume"] = string(kind)
	flags, err := f.flags(ctx, kind)
	if err != nil {
		return err
	}
	if err := f.lab.buildOn(ctx, kind, flags); err != nil {
		return err
	}
	if _, err := f.lab.Run(ctx, append([]string{"up", f.name}, flags...)...); err != nil {
		return err
	}
	f.up = true
	if f.instance, err = f.lab.instance(f.name); err != nil {
		return err
	}
	f.templates, f.named = map[string]contents{}, map[string][]string{}
	f.api = client.New(f.instance.APISocket())
	if err := f.spare(ctx, client.Limits{MaxDatabases: 64}); err != nil { // nothing goes on beside what is measured
		return err
	}
	f.db, err = f.lab.open(f.name)
	return err
}

// end removes the instance. It may be called more than once.
func (f *farm) end(ctx context.Context) error {
	if !f.up {
		return nil
	}
	f.up = false
	f.api.Close()
	if f.db != nil {
		f.db.Close()
	}
	_, err := f.lab.Run(ctx, "down", f.name, "--rm")
	return err
}

// template makes a database a template, once, and remembers what is in the tables; none
// named are all of them.
func (f *farm) template(ctx context.Context, name string, tables ...string) error {
	if err := f.begin(ctx); err != nil {
		return err
	}
	if f.templates[name] != nil {
		return nil
	}
	list, err := f.api.Templates(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(t client.Template) bool { return t.Name == name }) {
		if _, err := f.api.PutTemplate(ctx, name); err != nil {
			return err
		}
	}
	f.named[name] = tables
	f.templates[name], err = readContents(ctx, f.db, name, tables)
	return err
}

// same returns an error if a clone is not as its template.
func (f *farm) same(ctx context.Context, clone, template string) error {
	want := f.templates[template]
	have, err := readContents(ctx, f.db, clone, f.named[template])
	if err != nil {
		return err
	}
	return want.mustEqual(have, clone, "its template "+template)
}

// newLease makes a clone of a template, and connects to it as the test that has it.
func (f *farm) newLease(ctx context.Context, template string, tables ...string) (*lease, error) {
	if err := f.template(ctx, template, tables...); err != nil {
		return nil, err
	}
	l := &lease{api: client.New(f.instance.APISocket())}
	var err error
	if l.Database, err = l.api.NewDatabase(ctx, client.DatabaseRequest{Template: template}); err == nil {
		err = l.connect(ctx)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}
