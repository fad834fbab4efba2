package scenario

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// running is a server in a place. It is begun once, by the first of the rows that share it,
// and ended once.
type running struct {
	place
	lab  *Lab
	name string
	// endpoint has no database; admin is the account that may change global settings.
	endpoint server.Endpoint
	admin    server.Login
	// data is its data directory, device what that lies on.
	data   string
	device bench.Device
	site
	// tcp has a stock server listen on loopback as well; plain is the server then.
	tcp   bool
	plain *plainServer

	begun    bool
	err      error
	throttle *bench.Throttle
	end      func(ctx context.Context) error
}

// running returns a server that is to be started in a place; name is its own.
func (l *Lab) running(s place, name string) *running {
	return &running{place: s, lab: l, name: name}
}

// begin starts it on an empty data directory. Where this machine does not have the place
// the error is ErrUnavailable.
func (r *running) begin(ctx context.Context) error {
	if !r.begun {
		r.begun = true
		r.err = r.start(ctx)
	}
	return r.err
}

func (r *running) start(ctx context.Context) (err error) {
	start := r.startStock
	if r.ramaria {
		start = r.up
	}
	if err := start(ctx); err != nil {
		return err
	}
	r.device, r.lies = bench.DeviceOf(r.lab.Host, r.data), r.lab.medium(r.data, r.inRAM())
	r.fsyncs, err = r.lab.fsyncUnder(ctx, r.throttle, filepath.Dir(r.data))
	return err
}

// here is where it is, for located.
func (r *running) here(context.Context) (site, error) { return r.site, nil }

// close ends it and removes what it had. It may be called more than once.
func (r *running) close(ctx context.Context) error {
	end := r.end
	r.end = nil
	if end == nil {
		return nil
	}
	return end(ctx)
}

// written runs work and returns how many bytes it made the disk write, see tellWritten: what
// others left in the page cache is written out before, and what the work leaves there after,
// whether the device counts it or not. Work takes its own time.
func (r *running) written(work func() error) (int64, error) {
	if r.inRAM() {
		return 0, work()
	}
	if err := sys.SyncFS(r.data); err != nil {
		return 0, err
	}
	return r.disk().Count(func() error { return errors.Join(work(), sys.SyncFS(r.data)) })
}

func (r *running) up(ctx context.Context) error {
	v, err := r.lab.fitting(ctx, r.kind)
	if err != nil {
		return err
	}
	if err := v.Close(); err != nil {
		return err
	}
	argv := []string{"up", r.name, "--server", r.lab.want(), "--volume", string(r.kind)}
	if r.logOff {
		argv = append(argv, "--log", "off")
	}
	for _, name := range slices.Sorted(maps.Keys(r.set)) {
		argv = append(argv, "--set", name+"="+r.set[name])
	}
	if _, err := r.lab.Run(ctx, argv...); err != nil {
		return err
	}
	r.end = func(ctx context.Context) error {
		_, err := r.lab.Run(ctx, "down", r.name, "--rm")
		return err
	}
	i, err := r.lab.instance(r.name)
	if err != nil {
		return err
	}
	r.endpoint, r.admin, r.data = i.Endpoint, i.Supervisor, i.DataDir()
	r.endpoint.Database = ""
	return nil
}

func (r *running) startStock(ctx context.Context) error {
	parent, err := r.parent(r.lab)
	if err != nil {
		return err
	}
	s := &plainServer{lab: r.lab, dir: filepath.Join(parent, r.name), set: r.set, tcp: r.tcp}
	r.plain = s
	if r.rate > 0 {
		if r.throttle, err = bench.NewThrottle(r.lab.Host, parent, r.rate); err != nil {
			return err
		}
		s.throttle = r.throttle
	}
	r.end = func(context.Context) error { return errors.Join(s.remove(), s.throttle.Remove()) }
	if err := s.initialise(ctx); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	r.endpoint, r.admin, r.data = server.Endpoint{Socket: s.socket(), Login: s.login}, s.login, s.data()
	return nil
}
