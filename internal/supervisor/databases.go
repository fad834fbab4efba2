package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/rewind"
)

// openPool begins to keep the templates and leases of the server that runs now.
func (s *Supervisor) openPool() error {
	i := s.inst
	p, err := pool.Open(pool.Config{
		Server: i.Server, DataDir: i.DataDir(), Account: i.Account, File: i.PoolPath(), Endpoint: i.Endpoint, Login: i.Supervisor, ServerID: i.ServerID, Log: s.log,
	})
	if err != nil {
		return err
	}
	if old := s.pool.Swap(p); old != nil {
		old.Close()
	}
	return nil
}

// closePool ends what goes on in the server for templates and leases.
func (s *Supervisor) closePool() {
	if p := s.pool.Swap(nil); p != nil {
		p.Close()
	}
}

// withPool has f done with the pool of the running server.
func withPool[T any](s *Supervisor, f func(*pool.Pool) (T, error)) (T, error) {
	p := s.pool.Load()
	if p == nil {
		var none T
		return none, s.notRunning()
	}
	v, err := f(p)
	return v, poolError(err)
}

// poolError makes an error of the pool one of the API.
func poolError(err error) error {
	for _, k := range []struct{ pool, api error }{
		{pool.ErrNotFound, api.ErrNotFound}, {pool.ErrTaken, api.ErrExists}, {pool.ErrInvalid, api.ErrInvalid}, {pool.ErrInUse, api.ErrBusy},
		{pool.ErrClosed, api.ErrUnavailable}, {rewind.ErrTemplateChanged, api.ErrChanged},
	} {
		if errors.Is(err, k.pool) {
			return api.As(k.api, err)
		}
	}
	return err
}

// Templates implements api.Instance.
func (s *Supervisor) Templates(context.Context) ([]client.Template, error) {
	return withPool(s, func(p *pool.Pool) ([]client.Template, error) {
		var list []client.Template
		for _, t := range p.Templates() {
			list = append(list, templateOf(t))
		}
		return list, nil
	})
}

// PutTemplate implements api.Instance.
func (s *Supervisor) PutTemplate(ctx context.Context, name string) (client.Template, error) {
	return withPool(s, func(p *pool.Pool) (client.Template, error) {
		t, err := p.PutTemplate(ctx, name)
		return templateOf(t), err
	})
}

// DeleteTemplate implements api.Instance.
func (s *Supervisor) DeleteTemplate(_ context.Context, name string) error {
	_, err := withPool(s, func(p *pool.Pool) (struct{}, error) { return struct{}{}, p.DeleteTemplate(name) })
	return err
}

// Databases implements api.Instance.
func (s *Supervisor) Databases(context.Context) ([]client.Database, error) {
	return withPool(s, func(p *pool.Pool) ([]client.Database, error) {
		var list []client.Database
		for _, l := range p.Databases() {
			list = append(list, databaseOf(l))
		}
		return list, nil
	})
}

// NewDatabase implements api.Instance.
func (s *Supervisor) NewDatabase(ctx context.Context, r client.DatabaseRequest) (client.Database, error) {
	return withPool(s, func(p *pool.Pool) (client.Database, error) {
		l, err := p.NewDatabase(ctx, pool.Request{Template: r.Template, Name: r.Name, TTL: time.Duration(r.TTLSeconds * float64(time.Second))})
		return databaseOf(l), err
	})
}

// ResetDatabase implements api.Instance.
func (s *Supervisor) ResetDatabase(ctx context.Context, name string) (client.Reset, error) {
	return withPool(s, func(p *pool.Pool) (client.Reset, error) {
		r, err := p.Reset(ctx, name)
		return client.Reset{Way: string(r.Way), Why: r.Why, Micros: r.Took.Microseconds(), Warnings: r.Warnings}, err
	})
}

// DropDatabase implements api.Instance.
func (s *Supervisor) DropDatabase(ctx context.Context, name string) error {
	_, err := withPool(s, func(p *pool.Pool) (struct{}, error) { return struct{}{}, p.Drop(ctx, name) })
	return err
}

func templateOf(t pool.Template) client.Template {
	return client.Template{Name: t.Name, Made: t.Made, Tables: t.Tables, Bytes: t.Bytes, Leases: t.Leases, Changed: t.Changed}
}

func databaseOf(l pool.Lease) client.Database {
	e := l.Endpoint
	return client.Database{
		Name: l.Name, Template: l.Template, Host: e.Host, Port: e.Port, Socket: e.Socket, User: e.User, Password: e.Password, URL: e.URL(), Expires: l.Expires,
	}
}
