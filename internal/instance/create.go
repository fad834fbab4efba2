package instance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// StartRoom is what an instance writes beyond its clone in its first minutes:
// redo log (16 MB), binary log (2 files of 16 MB), temporary tables.
const StartRoom = 64 << 20

// Store makes and removes instances in one volume. Its methods expect that the
// caller holds Registry.Lock of the name.
type Store struct {
	Registry Registry
	Volume   volume.Volume
	Account  server.Account
	// UID is the caller's.
	UID int
}

// dir is the directory of the instance called name.
func (s *Store) dir(name string) string { return filepath.Join(s.Volume.Dir(), "instances", name) }

// Order is what Create makes an instance of.
type Order struct {
	Name    string
	Spec    Spec
	Passing bool
	Image   *image.Lease
	Server  *server.Server
	// App is the application's account, and Port its port of before, 0 for none.
	App  server.Login
	Port int
}

// Create makes an instance from an image. When it fails nothing is left.
func (s *Store) Create(ctx context.Context, o Order) (_ *Instance, err error) {
	name, spec, img := o.Name, o.Spec, o.Image
	dir := s.dir(name)
	database := spec.Database
	if database == "" {
		database = img.Database
	}
	if database == "" {
		database = image.DefaultDatabase
	}
	i := &Instance{
		Record: Record{
			Format: Format, Name: name, Spec: spec, Volume: string(s.Volume.Kind()), Dir: dir,
			RunDir: host.RunDir(dir, s.UID), Passing: o.Passing, Created: time.Now().Truncate(time.Second),
		},
		Made: Made{
			Server: o.Server, Account: s.Account,
			Image: img.ID, Origin: img.Origin, PageSize: img.PageSize,
			Supervisor: server.Login{User: server.SupervisorUser, Password: server.NewPassword()},
		},
	}
	i.Endpoint = server.Endpoint{Host: "127.0.0.1", Port: o.Port, Socket: i.Socket(), Login: o.App, Database: database}
	if spec.Port != 0 {
		i.Endpoint.Port = spec.Port
	}
	if err := volume.CheckRoom(s.Volume, img.Size+StartRoom, "instance "+name); err != nil {
		return nil, err
	}
	// A directory without a record is what a killed `up` left.
	if err := s.Volume.Remove(ctx, dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Remove(context.WithoutCancel(ctx), &i.Record))
		}
	}()
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("make instance %s: %w", name, err)
	}
	if spec.TmpDir != "" {
		// A new directory each time: nothing that is there already is ours.
		if i.Tmp, err = os.MkdirTemp(spec.TmpDir, "ramaria-"+name+"-"); err != nil {
			return nil, fmt.Errorf("make instance %s: %w", name, err)
		}
	}
	if err := server.MakeDirs(s.Account, i.RunDir, i.TmpDir()); err != nil {
		return nil, fmt.Errorf("make instance %s: %w", name, err)
	}
	if err := s.Volume.Clone(ctx, img.DataDir(), i.DataDir()); err != nil {
		return nil, fmt.Errorf("make instance %s: %w", name, err)
	}
	if err := i.Save(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Registry.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make instance %s: %w", name, err)
	}
	return i, s.Registry.Put(&i.Record)
}

// Remove removes a stopped instance with all its files, and its record last. It
// may be called more than once.
func (s *Store) Remove(ctx context.Context, r *Record) error {
	errs := []error{s.Volume.Remove(ctx, r.Dir)}
	for _, dir := range []string{r.RunDir, r.TmpDir()} {
		if filepath.Dir(dir) == r.Dir {
			continue
		}
		if err := s.removeOwn(dir); err != nil {
			errs = append(errs, fmt.Errorf("remove instance %s: %w", r.Name, err))
		}
	}
	return errors.Join(append(errs, s.Registry.Delete(r.Name))...)
}

// removeOwn removes a directory outside the volume, if it is ours: it lies where
// others may have put something in its place.
func (s *Store) removeOwn(dir string) error {
	fi, err := os.Lstat(dir)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !fi.IsDir() || int(st.Uid) != s.UID && int(st.Uid) != s.Account.UID {
		return nil
	}
	return os.RemoveAll(dir)
}
