package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/dumpdir"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/fit"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/load"
)

// TemplateRequest asks to make a database a template.
type TemplateRequest struct {
	// Name is the name of the database. With From, the name of the new database begins with it.
	Name string
	// From are dumps, or directories of dumps, to load into a new database, unless a template
	// of that name and key exists.
	From []image.Source
	// Stdin is what the source "-" reads.
	Stdin io.Reader
	// Key identifies the content; "" means a hash of the files.
	Key string
	// Database is the database to load of a dump that holds several.
	Database string
	// AllowEmpty takes dumps without a statement.
	AllowEmpty bool
	// Fit is what of dumps is mapped.
	Fit fit.Options
}

// AddTemplate makes a database of the instance that c talks to a template: as the database is
// now, or loaded from dumps.
func (e *Engine) AddTemplate(ctx context.Context, c *client.Client, q TemplateRequest) (client.Template, error) {
	if len(q.From) > 0 {
		return e.loadTemplate(ctx, c, q)
	}
	return c.PutTemplate(ctx, q.Name)
}

// loadTime is how long loading dumps may take.
const loadTime = time.Hour

// loadTemplate returns the template that the dumps make, and makes it unless it is there.
func (e *Engine) loadTemplate(ctx context.Context, c *client.Client, q TemplateRequest) (client.Template, error) {
	from, release, err := e.spoolForTemplate(ctx, c, q)
	if err != nil {
		return client.Template{}, err
	}
	defer release()
	dumps, key, err := image.Dumps(ctx, e.Memo, from)
	if err != nil {
		return client.Template{}, err
	}
	if q.Key != "" {
		key = q.Key
	}
	if q.Database != "" {
		key += " " + q.Database
	}
	if q.Fit != (fit.Options{}) {
		key += fmt.Sprintf(" %+v", q.Fit)
	}
	claim, err := c.CreateTemplate(ctx, client.TemplateRequest{Name: q.Name, Key: key, WaitSeconds: loadTime.Seconds(), BuildSeconds: loadTime.Seconds()})
	if err != nil || claim.State == client.StateReady {
		return claim.Template, err
	}
	var t client.Template
	if err = e.fillTemplate(ctx, c, q, claim, dumps); err == nil {
		t, err = c.PutTemplate(ctx, claim.Template.Name)
	}
	if err != nil { // it is another's turn
		err = errors.Join(err, c.DeleteTemplate(context.WithoutCancel(ctx), claim.Template.Name))
	}
	return t, err
}

// fillTemplate loads dumps into the database of a template that is being built.
func (e *Engine) fillTemplate(ctx context.Context, c *client.Client, q TemplateRequest, claim client.TemplateClaim, dumps []image.Dump) error {
	s, err := c.Status(ctx)
	if err != nil {
		return err
	}
	i, err := e.Registry.Open(s.Name)
	if err != nil {
		return err
	}
	if err := q.checkDatabases(claim.Template, dumps); err != nil {
		return err
	}
	d := claim.Database
	to := load.Target{
		Server: i.Server, Endpoint: dbconn.Endpoint{
			Host: d.Host, Port: d.Port, Socket: d.Socket, Login: dbconn.Login{User: d.User, Password: d.Password}, Database: d.Name,
		},
		Rename:     &dump.Rename{To: d.Name, From: q.Database, New: true, Hint: "--database NAME takes one of them; no template was made"},
		AllowEmpty: q.AllowEmpty, Fit: q.Fit, Say: e.note,
	}
	return e.LockNewAccounts(ctx, i, func() error {
		for _, d := range dumps {
			if err := loadInto(ctx, to, d); err != nil {
				return e.ExplainNoRoom(ctx, i, "the rest of "+d.Name, err)
			}
		}
		return nil
	})
}

// checkDatabases looks at dumps before anything is loaded: a template is one database.
func (q TemplateRequest) checkDatabases(t client.Template, dumps []image.Dump) error {
	var names []string
	for _, d := range dumps {
		s, err := summarize(d)
		if err != nil {
			return err
		}
		for _, name := range s.Databases {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	switch {
	case q.Database != "" && len(names) > 0 && !slices.Contains(names, q.Database):
		return RequestError{fmt.Errorf("load template %s: the dump holds no database %s, but %s\nhint: --database %s", t.Family, q.Database, strings.Join(names, ", "), names[0])}
	case q.Database == "" && len(names) > 1:
		return RequestError{fmt.Errorf("load template %s: the dump holds several databases: %s\nhint: ramaria template add %s --from ... --database %[3]s makes a template of one of them",
			t.Family, strings.Join(names, ", "), names[0])}
	}
	return nil
}

func summarize(d image.Dump) (dump.Summary, error) {
	if d.Dir {
		dir, err := dumpdir.Open(d.Path, io.Discard)
		if err != nil {
			return dump.Summary{}, err
		}
		return dump.Summary{Databases: dir.Databases}, dir.Close()
	}
	r, err := dumpfile.OpenWatched(d.Path, d.Called, io.Discard)
	if err != nil {
		return dump.Summary{}, err
	}
	defer r.Close()
	return dump.Check(io.Discard, r, dump.Options{File: d.Name})
}

// loadOne loads a dump.
func loadOne(ctx context.Context, to load.Target, d image.Dump) (dump.Summary, error) {
	if d.Dir {
		return loadDir(ctx, to, d.Path, io.Discard)
	}
	r, err := dumpfile.OpenWatched(d.Path, d.Called, io.Discard)
	if err != nil {
		return dump.Summary{}, err
	}
	defer r.Close()
	r.Tell(to.Say)
	return to.Load(ctx, d.Name, r)
}

// loadInto loads a dump into the target's database, and no other.
func loadInto(ctx context.Context, to load.Target, d image.Dump) error {
	_, err := loadOne(ctx, to, d)
	if fault, ok := errors.AsType[*dump.Error](err); ok && fault.Hint == "" {
		fault.Hint = "correct the dump; no template was made"
	}
	return err
}

// spoolForTemplate has sources that can be read only once be files in the volume of the instance.
func (e *Engine) spoolForTemplate(ctx context.Context, c *client.Client, q TemplateRequest) (from []image.Source, release func(), err error) {
	if err := image.CheckSources(q.From); err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(q.From, image.Source.Once) {
		return q.From, func() {}, nil
	}
	s, err := c.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	i, err := e.Registry.Open(s.Name)
	if err != nil {
		return nil, nil, err
	}
	v, err := e.volumeOf(ctx, &i.Record)
	if err != nil {
		return nil, nil, err
	}
	images, err := e.Images(v)
	if err != nil {
		return nil, nil, err
	}
	return e.spoolSources(ctx, images, q.From, q.Stdin)
}
