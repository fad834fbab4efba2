package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/pool"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/room"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// noLog says that the server keeps no binary log: there is no pool then, since all that it does
// rests on the log.
func (s *Supervisor) noLog() bool { return s.inst.Spec.Log == instance.LogOff }

// poolConsumer is the pool as a consumer of the binary log: its journal.
const poolConsumer = "pool"

// openPool begins to keep the templates and leases of the server that runs now.
func (s *Supervisor) openPool() error {
	if s.poolless() {
		return nil
	}
	i := s.inst
	p, err := pool.Open(pool.Config{
		Server: i.Server, DataDir: i.DataDir(), Account: i.Account, File: i.PoolPath(), Gone: s.gone, Endpoint: i.Endpoint, Login: i.Supervisor, ServerID: i.ServerID, Log: s.log,
		FoldsNames: server.FoldsNames(i.Spec.Set), Limits: pool.DefaultLimits, Room: s.leastFree,
	})
	if err != nil {
		return err
	}
	if old := s.pool.Swap(p); old != nil {
		old.Close()
	}
	s.logs.Set(poolConsumer, p.ReadLog)
	return nil
}

// poolless reports whether it has neither templates nor leases.
func (s *Supervisor) poolless() bool {
	return s.noLog() || s.durable() || s.isReplica() || s.isMember()
}

// leastFree is the room in the volume, in bytes, at the least that it can be: the pool asks each second.
func (s *Supervisor) leastFree() (int64, error) {
	r, err := s.meter.Read(func(r volume.Reading) bool { return RoomLevel(s.volume, r.Worst) == room.Ample })
	return r.Worst.Free, err
}

// closePool ends what goes on in the server for templates and leases.
func (s *Supervisor) closePool() {
	s.logs.Remove(poolConsumer)
	if p := s.pool.Swap(nil); p != nil {
		p.Close()
	}
}

// withPool calls f with the pool of the running server.
func withPool[T any](s *Supervisor, f func(*pool.Pool) (T, error)) (T, error) {
	p := s.pool.Load()
	if p == nil {
		var none T
		if s.noLog() {
			return none, s.needsLog()
		}
		if err := s.refuseMember("use templates"); err != nil {
			return none, err
		}
		if s.durable() {
			return none, s.needsThrownAway()
		}
		if s.isReplica() {
			return none, s.needsPromotion("use templates")
		}
		return none, s.notRunning()
	}
	v, err := f(p)
	return v, poolError(err, s.pool.Load() != p)
}

// needsLog refuses what rests on the log that the server does not keep.
func (s *Supervisor) needsLog() error {
	hint := fmt.Sprintf("ramaria up %s --log on --fresh makes it again, and its data is lost; ramaria mark and ramaria rewind work without a log", s.inst.Name)
	if s.inst.Passing {
		hint = "leave --log off out of ramaria run"
	}
	return api.As(api.ErrNoLog, fmt.Errorf("use templates of instance %s: it keeps no binary log (--log off), by which clones are made and reset\nhint: %s", s.inst.Name, hint))
}

// poolError makes an error of the pool one of the API. ended says that the pool has been closed since it was
// asked, with the server.
func poolError(err error, ended bool) error {
	for _, k := range []struct{ pool, api error }{
		{pool.ErrNotFound, api.ErrNotFound}, {pool.ErrTaken, api.ErrExists}, {pool.ErrInvalid, api.ErrInvalid}, {pool.ErrUnclonable, api.ErrInvalid}, {pool.ErrInUse, api.ErrBusy}, {pool.ErrFull, api.ErrFull},
		{pool.ErrClosed, api.ErrUnavailable}, {reset.ErrLocked, api.ErrBusy}, {reset.ErrTemplateChanged, api.ErrChanged}, {reset.ErrNoSavepoint, api.ErrChanged}, {pool.ErrKept, api.ErrChanged}, {reset.ErrSavepointLost, api.ErrLost},
	} {
		if errors.Is(err, k.pool) {
			return api.As(k.api, err)
		}
	}
	if err != nil && ended {
		return api.As(api.ErrUnavailable, fmt.Errorf("the server was stopped or rewound meanwhile: %w\nhint: the same again, once it runs", err))
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
	if err := s.refuseFollowed("use templates", "what resets do is in no log"); err != nil {
		return client.Template{}, err
	}
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
		l, err := p.NewDatabase(ctx, pool.Request{Template: r.Template, Name: r.Name, TTL: seconds(r.TTLSeconds), Wait: seconds(r.WaitSeconds)})
		return databaseOf(l), err
	})
}

// ResetDatabase implements api.Instance.
func (s *Supervisor) ResetDatabase(ctx context.Context, name string, c client.ResetMode) (client.Reset, error) {
	return s.putBack(ctx, name, (*pool.Pool).Reset, c)
}

// putBack puts a database back by f.
func (s *Supervisor) putBack(ctx context.Context, name string, f func(*pool.Pool, context.Context, string, reset.Counters) (pool.ResetResult, error), c client.ResetMode) (client.Reset, error) {
	return withPool(s, func(p *pool.Pool) (client.Reset, error) {
		r, err := f(p, ctx, name, c == client.KeepCounters)
		return resetOf(r), err
	})
}

// SetSavepoint implements api.Instance.
func (s *Supervisor) SetSavepoint(ctx context.Context, name string) error {
	_, err := withPool(s, func(p *pool.Pool) (struct{}, error) { return struct{}{}, p.SetSavepoint(ctx, name) })
	return err
}

// RollbackDatabase implements api.Instance.
func (s *Supervisor) RollbackDatabase(ctx context.Context, name string, c client.ResetMode) (client.Reset, error) {
	return s.putBack(ctx, name, (*pool.Pool).RollBack, c)
}

// Database implements api.Instance.
func (s *Supervisor) Database(_ context.Context, name string) (client.Database, error) {
	return withPool(s, func(p *pool.Pool) (client.Database, error) {
		l, err := p.Database(name)
		return databaseOf(l), err
	})
}

// KeepDatabase implements api.Instance.
func (s *Supervisor) KeepDatabase(_ context.Context, name string) (client.Database, error) {
	return withPool(s, func(p *pool.Pool) (client.Database, error) {
		l, err := p.Keep(name)
		return databaseOf(l), err
	})
}

// CreateTemplate implements api.Instance.
func (s *Supervisor) CreateTemplate(ctx context.Context, r client.TemplateRequest) (client.TemplateClaim, error) {
	if err := s.refuseFollowed("use templates", "what resets do is in no log"); err != nil {
		return client.TemplateClaim{}, err
	}
	return withPool(s, func(p *pool.Pool) (client.TemplateClaim, error) {
		c, err := p.ClaimTemplate(ctx, pool.TemplateRequest{Family: r.Name, Key: r.Key, Wait: seconds(r.WaitSeconds), Build: seconds(r.BuildSeconds)})
		claim := client.TemplateClaim{State: client.StateReady, Template: templateOf(c.Template)}
		if c.Build != nil {
			d := databaseOf(pool.Lease{Name: c.Template.Name, Template: c.Template.Name, Endpoint: *c.Build, Expires: c.Expires})
			claim.State, claim.Database = client.StateBuild, &d
		}
		return claim, err
	})
}

// Limits implements api.Instance.
func (s *Supervisor) Limits(context.Context) (client.Limits, error) {
	return withPool(s, func(p *pool.Pool) (client.Limits, error) { return client.Limits(p.Limits()), nil })
}

// SetLimits implements api.Instance.
func (s *Supervisor) SetLimits(_ context.Context, l client.Limits) (client.Limits, error) {
	return withPool(s, func(p *pool.Pool) (client.Limits, error) {
		err := p.SetLimits(pool.Limits(l))
		return client.Limits(p.Limits()), err
	})
}

// Metrics implements api.Instance.
func (s *Supervisor) Metrics(context.Context) ([]byte, error) {
	var b bytes.Buffer
	if s.poolless() {
		err := s.writeMetrics(&b)
		return b.Bytes(), err
	}
	return withPool(s, func(p *pool.Pool) ([]byte, error) {
		p.WriteMetrics(&b)
		err := s.writeMetrics(&b)
		return b.Bytes(), err
	})
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// DropDatabase implements api.Instance.
func (s *Supervisor) DropDatabase(ctx context.Context, name string) error {
	_, err := withPool(s, func(p *pool.Pool) (struct{}, error) { return struct{}{}, p.Drop(ctx, name) })
	return err
}

func templateOf(t pool.Template) client.Template {
	return client.Template{
		Name: t.Name, Family: t.Family, Key: t.Key, Made: t.Made, Tables: t.Tables, Bytes: t.Bytes, Leases: t.Leases, Spare: t.Spare, Changed: t.Changed, Notes: t.Notes,
	}
}

func resetOf(r pool.ResetResult) client.Reset {
	return client.Reset{Way: string(r.Way), Why: r.Why, Micros: r.Took.Microseconds(), Warnings: r.Warnings, Connections: r.Connections}
}

func databaseOf(l pool.Lease) client.Database {
	e := l.Endpoint
	return client.Database{
		Name: l.Name, Template: l.Template, Host: e.Host, Port: e.Port, Socket: e.Socket, User: e.User, Password: e.Password, URL: e.URL(), Expires: l.Expires, Kept: l.Kept,
	}
}
