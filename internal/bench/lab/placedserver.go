package lab

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// PlacedServer is a server in a place. It is begun once, by the first of the rows that share it,
// and ended once.
type PlacedServer struct {
	Place
	Lab  *Lab
	Name string
	// endpoint has no database; admin is the account that may change global settings.
	Endpoint dbconn.Endpoint
	Admin    dbconn.Login
	// data is its data directory, device what that lies on.
	Data   string
	Device runner.Device
	Storage
	// Archive is where the archive of a durable instance is.
	Archive string
	// TCP makes a stock server listen on loopback as well; plain is the server then.
	TCP   bool
	Plain *PlainServer

	begun    bool
	Err      error
	throttle *runner.Throttle
	end      func(ctx context.Context) error
}

// NewServer returns a server that is to be started in a place; name is its own.
func (l *Lab) NewServer(s Place, name string) *PlacedServer {
	return &PlacedServer{Place: s, Lab: l, Name: name}
}

// Start starts it on an empty data directory. Where this machine does not have the place
// the error is ErrUnavailable.
func (r *PlacedServer) Start(ctx context.Context) error {
	if !r.begun {
		r.begun = true
		r.Err = r.startUp(ctx)
	}
	return r.Err
}

func (r *PlacedServer) startUp(ctx context.Context) (err error) {
	start := r.startStock
	if r.Ramaria {
		start = r.up
	}
	if err := start(ctx); err != nil {
		return err
	}
	r.Device, r.Description = runner.DeviceOf(r.Lab.Host, r.Data), r.Lab.DescribeStorage(r.Data, r.InRAM())
	r.Fsyncs, err = r.Lab.MeasureFsync(ctx, r.throttle, filepath.Dir(r.Data))
	return err
}

// Where is where it is, for WithStorage.
func (r *PlacedServer) Where(context.Context) (Storage, error) { return r.Storage, nil }

// Close ends it and removes what it had. It may be called more than once.
func (r *PlacedServer) Close(ctx context.Context) error {
	end := r.end
	r.end = nil
	if end == nil {
		return nil
	}
	return end(ctx)
}

// CountWritten runs work and returns how many bytes it made the disk write, see AddWritten: what
// others left in the page cache is written out before, and what the work leaves there after,
// whether the device counts it or not. Work takes its own time.
func (r *PlacedServer) CountWritten(work func() error) (int64, error) {
	if r.InRAM() {
		return 0, work()
	}
	if err := sys.SyncFS(r.Data); err != nil {
		return 0, err
	}
	return r.Disk().Count(func() error { return errors.Join(work(), sys.SyncFS(r.Data)) })
}

func (r *PlacedServer) up(ctx context.Context) error {
	v, err := r.Lab.AvailableVolume(ctx, r.Kind)
	if err != nil {
		return err
	}
	if err := v.Close(); err != nil {
		return err
	}
	argv := []string{"up", r.Name, "--server", r.Lab.ServerFlag(), "--volume", string(r.Kind)}
	if r.LogOff {
		argv = append(argv, "--log", "off")
	}
	if r.Durable != "" {
		r.Archive = filepath.Join(r.Lab.Dir, r.Name+"-archive")
		argv = append(argv, "--durable="+r.Durable, "--archive", r.Archive)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Set)) {
		argv = append(argv, "--set", name+"="+r.Set[name])
	}
	removeArchive := func() error {
		if r.Archive == "" {
			return nil
		}
		return os.RemoveAll(r.Archive)
	}
	if _, err := r.Lab.Run(ctx, argv...); err != nil {
		return errors.Join(err, removeArchive())
	}
	r.end = func(ctx context.Context) error {
		_, err := r.Lab.Run(ctx, "down", r.Name, "--rm")
		return errors.Join(err, removeArchive())
	}
	i, err := r.Lab.Instance(r.Name)
	if err != nil {
		return err
	}
	r.Endpoint, r.Admin, r.Data = i.Endpoint, i.Supervisor, i.DataDir()
	r.Endpoint.Database = ""
	return nil
}

func (r *PlacedServer) startStock(ctx context.Context) error {
	parent, err := r.Parent(r.Lab)
	if err != nil {
		return err
	}
	s := &PlainServer{Lab: r.Lab, Dir: filepath.Join(parent, r.Name), Set: r.Set, TCP: r.TCP}
	r.Plain = s
	if r.SyncedLog {
		s.SyncedLog = filepath.Join(r.Lab.Dir, r.Name+"-log")
	}
	if r.Rate > 0 {
		if r.throttle, err = runner.NewThrottle(r.Lab.Host, parent, r.Rate); err != nil {
			return err
		}
		s.Throttle = r.throttle
	}
	r.end = func(context.Context) error { return errors.Join(s.Remove(), s.Throttle.Remove()) }
	if err := s.Initialise(ctx); err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	r.Endpoint, r.Admin, r.Data = dbconn.Endpoint{Socket: s.Socket(), Login: s.Login}, s.Login, s.Data()
	return nil
}

// Disk is the device that a server's writes wear, none in RAM: an XFS there has a loop
// device, which counts what is a copy in memory.
func (r *PlacedServer) Disk() runner.Device {
	if r.InRAM() {
		return runner.Device{}
	}
	return r.Device
}

// Connect connects to the server, by the account that the rows use.
func (r *PlacedServer) Connect(database string) (*sql.DB, error) {
	return dbconn.Open(r.Endpoint.Socket, r.Endpoint.Login, database)
}
