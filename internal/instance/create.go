package instance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
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
	App  dbconn.Login
	Port int
}

// Create makes an instance from an image. When it fails nothing is left.
func (s *Store) Create(ctx context.Context, o Order) (*Instance, error) {
	img := o.Image
	database := o.Spec.Database
	if database == "" {
		database = img.Database
	}
	if database == "" {
		database = image.DefaultDatabase
	}
	i := s.blank(o.Name, o.Spec)
	i.Passing = o.Passing
	i.Server, i.Image, i.Origin, i.PageSize = o.Server, img.ID, img.Origin, img.PageSize
	i.Endpoint.Login, i.Endpoint.Database = o.App, database
	if i.Endpoint.Port == 0 {
		i.Endpoint.Port = o.Port
	}
	return i, s.make(ctx, i, img.DataDir(), img.Size, func() error { return s.Volume.Clone(ctx, img.DataDir(), i.DataDir()) })
}

// Recover makes the instance of an order again from its archive: fill, which gets the instance as made
// says that it was, makes its data directory, of size bytes at most.
func (s *Store) Recover(ctx context.Context, o Order, made Made, size int64, fill func(context.Context, *Instance) error) (*Instance, error) {
	i := s.blank(o.Name, o.Spec)
	socket := i.Endpoint.Socket
	i.Passing = o.Passing
	made.Account, made.Server = s.Account, o.Server
	i.Made = made
	i.Endpoint.Socket = socket
	if o.Spec.Port != 0 {
		i.Endpoint.Port = o.Spec.Port
	}
	return i, s.make(ctx, i, "", size, func() error { return fill(ctx, i) })
}

// Restore makes an instance of what an archive has of another one, or another service has, which made says: its software
// is that of the order, and accounts, port and server id are its own. fill makes its data directory, which takes size bytes
// at most with all that it needs meanwhile.
func (s *Store) Restore(ctx context.Context, o Order, made Made, size int64, fill func(context.Context, *Instance) error) (*Instance, error) {
	i := s.blank(o.Name, o.Spec)
	i.Passing = o.Passing
	i.Server, i.PageSize, i.Origin = o.Server, made.PageSize, made.Origin
	i.Endpoint.Login, i.Endpoint.Database = o.App, made.Endpoint.Database
	if i.Endpoint.Port == 0 {
		i.Endpoint.Port = o.Port
	}
	return i, s.make(ctx, i, "", size, func() error { return fill(ctx, i) })
}

// Branch makes an instance called name from the data of parent as it is now. how says
// how to copy it while parent's server runs; the zero value is for one that does not.
// The new instance has its own accounts, port and server id. settle, if not nil, does what
// else there is to do before the instance is one. When any of it fails nothing is left.
func (s *Store) Branch(ctx context.Context, parent *Instance, name string, how volume.How, settle func(*Instance) error) (*Instance, error) {
	if err := parent.checkData(); err != nil {
		return nil, fmt.Errorf("make instance %s: %w", name, err)
	}
	spec := parent.Spec
	if spec.Cluster != "" { // whose addresses are its members'
		spec.Set = maps.Clone(spec.Set)
		delete(spec.Set, "bind_address")
	}
	// A branch is thrown away: it has no archive, and follows nobody.
	spec.Replica, spec.Cluster = nil, ""
	spec.Durable, spec.Archive, spec.RecoverWithin, spec.History, spec.Restored = "", nil, "", "", nil
	spec.From, spec.Key, spec.Port, spec.Socket, spec.Front, spec.APIListen, spec.PasswordFile = []image.Source{{Kind: image.FromInstance, Name: parent.Name}}, "", 0, "", 0, "", ""
	i := s.blank(name, spec)
	i.Server, i.Origin, i.PageSize = parent.Server, "branch of "+parent.Name, parent.PageSize
	i.Parted = parent.Parted || parent.Source != nil
	i.Endpoint.Login = dbconn.Login{User: parent.Endpoint.User, Password: dbconn.NewPassword()}
	i.Endpoint.Database = parent.Endpoint.Database
	size, err := sys.DiskUsage(parent.DataDir())
	if err != nil {
		return nil, fmt.Errorf("make instance %s: %w", name, err)
	}
	how.Filter = server.CloneFilter
	return i, s.make(ctx, i, parent.DataDir(), size, func() error {
		err := s.Volume.Snapshot(ctx, parent.DataDir(), i.DataDir(), how)
		if err == nil && settle != nil {
			err = settle(i)
		}
		return err
	})
}

// blank returns an instance that is not made yet, with what does not depend on its data.
func (s *Store) blank(name string, spec Spec) *Instance {
	dir := s.dir(name)
	i := &Instance{
		Record: Record{
			Format: Format, Name: name, Spec: spec, Volume: string(s.Volume.Kind()), Dir: dir,
			RunDir: s.Registry.runDir(dir, s.UID), Created: time.Now().Truncate(time.Second),
		},
		Made: Made{
			Account: s.Account, ServerID: 1 + rand.Uint32N(math.MaxInt32-1), // #nosec G404 -- no secret; 0 means none, and some readers take a larger one for negative
			Supervisor: dbconn.Login{User: dbconn.SupervisorUser, Password: dbconn.NewPassword()},
		},
	}
	i.Endpoint = dbconn.Endpoint{Host: server.BindHost(spec.Set["bind_address"]), Port: spec.Port, Socket: i.Socket()}
	return i
}

// make makes the instance's files; clone fills the data directory with the size bytes of
// data that src holds. When it fails nothing is left.
func (s *Store) make(ctx context.Context, i *Instance, src string, size int64, clone func() error) (err error) {
	if err := volume.CheckCopy(s.Volume, src, size, StartRoom, "instance "+i.Name); err != nil {
		return err
	}
	if err := checkFree(i.Dir); err != nil {
		return fmt.Errorf("make instance %s: %w", i.Name, err)
	}
	_, gerr := s.Registry.Get(i.Name)
	known := gerr == nil // one that is made again, and is to be tried again if that fails
	// A directory without a record is what a killed `up` left.
	if err := s.Volume.Remove(ctx, i.Dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			remove := s.Remove
			if known {
				remove = s.Clear
			}
			err = fmt.Errorf("make instance %s: %w", i.Name, errors.Join(err, remove(context.WithoutCancel(ctx), &i.Record)))
		}
	}()
	// Not MkdirAll: in a volume that was removed just now nothing is to be made. And with
	// this mode whatever the umask: the server's account passes through.
	if err := errors.Join(os.Mkdir(i.Dir, 0o711), os.Chmod(i.Dir, 0o711)); err != nil { //nolint:forbidigo // made just now, in a directory of ours
		return err
	}
	if i.Spec.TmpDir != "" && !IsOwnTmpDir(i.Spec.TmpDir) {
		// A new directory each time: nothing that is there already is ours.
		if i.Tmp, err = os.MkdirTemp(i.Spec.TmpDir, "ramaria-"+i.Name+"-"); err != nil {
			return err
		}
	}
	if err := server.MakeDirs(s.Account, i.RunDir, i.TmpDir(), i.FilesDir()); err != nil {
		return err
	}
	if err := clone(); err != nil {
		return err
	}
	if err := i.Account.TakeOver(i.DataDir()); err != nil {
		return err
	}
	if err := i.Save(); err != nil {
		return err
	}
	if err := sys.MakePrivate(s.Registry.Dir); err != nil {
		return err
	}
	i.Archived = i.Durable
	return s.Registry.Put(&i.Record)
}

// Remove removes a stopped instance with all its files, and its record last. It
// may be called more than once.
func (s *Store) Remove(ctx context.Context, r *Record) error {
	if err := s.Clear(ctx, r); errors.Is(err, ErrHeld) {
		return err
	} else if derr := s.Registry.Delete(r.Name); err != nil || derr != nil {
		return errors.Join(err, derr)
	}
	return nil
}

// Clear removes the files of a stopped instance, and leaves its record.
func (s *Store) Clear(ctx context.Context, r *Record) error {
	if err := checkFree(r.Dir); err != nil {
		return fmt.Errorf("remove instance %s: %w", r.Name, err)
	}
	errs := []error{s.Volume.Remove(ctx, r.Dir)}
	if r.Spec.Socket != "" {
		errs = append(errs, server.RemoveDeadSocket(r.Spec.Socket, s.owners()))
	}
	apiDir, _ := r.APIDir()
	for _, dir := range []string{r.RunDir, apiDir, r.TmpDir(), r.front()} {
		if dir == r.Dir || filepath.Dir(dir) == r.Dir || filepath.Dir(dir) == r.Front {
			continue
		}
		if err := s.removeOwn(dir); err != nil {
			errs = append(errs, fmt.Errorf("remove instance %s: %w", r.Name, err))
		}
	}
	return errors.Join(errs...)
}

// ErrHeld says that a supervisor lives which the caller has not ended.
var ErrHeld = errors.New("a supervisor runs there")

// checkFree refuses to touch an instance's directory whose supervisor lives, whatever any
// record says.
func checkFree(dir string) error {
	lock := filepath.Join(dir, lockName)
	held, err := sys.Held(lock)
	if err == nil && held {
		err = fmt.Errorf("%w, in %s\nhint: fuser -v %s names it; end it first", ErrHeld, dir, lock)
	}
	return err
}

// owners are the uids of the caller and of accounts that servers run under, or ran under when an instance was made.
func (s *Store) owners() []int { return []int{s.UID, s.Account.UID, host.FormerID} }

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
	if !ok || !fi.IsDir() || !slices.Contains(s.owners(), int(st.Uid)) {
		return nil
	}
	return os.RemoveAll(dir)
}
