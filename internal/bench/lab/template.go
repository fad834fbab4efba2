package lab

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// TemplateServer is an instance with templates, made once for all cases that use it, and one
// client of its API, which keeps its connections.
type TemplateServer struct {
	Lab  *Lab
	Name string // of the instance
	// flags tell what the instance is made of.
	Flags func(ctx context.Context, kind volume.Kind) ([]string, error)
	// settings are told the kind of volume.
	Settings map[string]string

	begun    bool
	err      error // of the beginning
	up       bool
	Instance *instance.Instance
	API      *client.Client
	// db is for looking at everything, by the application's account.
	DB        *sql.DB
	Templates map[string]Contents
	named     map[string][]string // the tables of a template that are looked at; none are all
}

// Start brings the instance up, once, on the volume in RAM that ramaria chooses.
func (f *TemplateServer) Start(ctx context.Context) error {
	if !f.begun {
		f.begun = true
		f.err = f.start(ctx)
	}
	return f.err
}

func (f *TemplateServer) start(ctx context.Context) error {
	kind, err := f.Lab.RAMKind(ctx)
	if err != nil {
		return err
	}
	f.Settings["volume"] = string(kind)
	flags, err := f.Flags(ctx, kind)
	if err != nil {
		return err
	}
	if err := f.Lab.PrepareImage(ctx, kind, flags); err != nil {
		return err
	}
	if _, err := f.Lab.Run(ctx, append([]string{"up", f.Name}, flags...)...); err != nil {
		return err
	}
	f.up = true
	if f.Instance, err = f.Lab.Instance(f.Name); err != nil {
		return err
	}
	f.Templates, f.named = map[string]Contents{}, map[string][]string{}
	f.API = client.New(f.Instance.APISocket())
	if err := f.SetLimits(ctx, client.Limits{MaxDatabases: 64}); err != nil { // nothing goes on beside what is measured
		return err
	}
	f.DB, err = f.Lab.open(f.Name)
	return err
}

// Stop removes the instance. It may be called more than once.
func (f *TemplateServer) Stop(ctx context.Context) error {
	if !f.up {
		return nil
	}
	f.up = false
	f.API.Close()
	if f.DB != nil {
		f.DB.Close()
	}
	_, err := f.Lab.Run(ctx, "down", f.Name, "--rm")
	return err
}

// AddTemplate makes a database a template, once, and remembers what is in the tables; none
// named are all of them.
func (f *TemplateServer) AddTemplate(ctx context.Context, name string, tables ...string) error {
	if err := f.Start(ctx); err != nil {
		return err
	}
	if f.Templates[name] != nil {
		return nil
	}
	list, err := f.API.Templates(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(t client.Template) bool { return t.Name == name }) {
		if _, err := f.API.PutTemplate(ctx, name); err != nil {
			return err
		}
	}
	f.named[name] = tables
	f.Templates[name], err = ReadContents(ctx, f.DB, name, tables)
	return err
}

// CheckClone returns an error if a clone is not as its template.
func (f *TemplateServer) CheckClone(ctx context.Context, clone, template string) error {
	want := f.Templates[template]
	have, err := ReadContents(ctx, f.DB, clone, f.named[template])
	if err != nil {
		return err
	}
	return want.mustEqual(have, clone, "its template "+template)
}

// NewLease makes a clone of a template, and connects to it as the test that has it.
func (f *TemplateServer) NewLease(ctx context.Context, template string, tables ...string) (*Lease, error) {
	if err := f.AddTemplate(ctx, template, tables...); err != nil {
		return nil, err
	}
	l := &Lease{API: client.New(f.Instance.APISocket())}
	var err error
	if l.Database, err = l.API.NewDatabase(ctx, client.DatabaseRequest{Template: template}); err == nil {
		err = l.connect(ctx)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// TimeLease takes a lease, and adds to the sample how long that took.
func (f *TemplateServer) TimeLease(ctx context.Context, template string, s *runner.Sample) (name string, err error) {
	began := time.Now()
	d, err := f.API.NewDatabase(ctx, client.DatabaseRequest{Template: template})
	s.Values = append(s.Values, time.Since(began).Seconds())
	return d.Name, err
}

// SetLimits changes the limits, and with them what is made ahead.
func (f *TemplateServer) SetLimits(ctx context.Context, l client.Limits) error {
	_, err := f.API.SetLimits(ctx, l)
	return err
}

// SpareTimeout is how long a pool may take to have a clone ready: one that cannot make any, as
// its volume is full, says so in its instance's log alone.
const SpareTimeout = time.Minute

// WaitForSpare waits until there are spare clones of a template, for no longer than limit.
func (f *TemplateServer) WaitForSpare(ctx context.Context, template string, limit time.Duration) error {
	for over := time.After(limit); ; {
		list, err := f.API.Templates(ctx)
		if err != nil {
			return err
		}
		changed := ""
		for _, t := range list {
			if t.Name != template {
				continue
			}
			if t.Spare > 0 {
				return nil
			}
			changed = ": " + t.Changed
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			return fmt.Errorf("wait for a spare clone of %s: none in %s%s%s", template, limit, changed, f.logTail())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// logTail is the end of what the supervisor of the instance has said, on lines of its own.
func (f *TemplateServer) logTail() string {
	if f.Instance == nil {
		return ""
	}
	return "\n" + server.LogTail(f.Instance.SupervisorLog())
}
