package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/adopt"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// UnadoptRequest asks to give back what was adopted.
type UnadoptRequest struct {
	// Name is that of the instance, or of the service.
	Name string
	// AsItWas says to leave the old data directory as it is: what was written since the adoption stays in the archive.
	AsItWas bool
	// Login is as that of an AdoptRequest.
	Login string
}

// Unadopted says what was given back.
type Unadopted struct {
	Instance, Service, DataDir string
	// Before is the directory of the data as it was before the adoption; "" where it is DataDir again.
	Before string
	// Archive is where all that was written since is, "" for an instance that was not durable.
	Archive string
	// Down is how long nothing answered.
	Down time.Duration
}

// giveBack is an Unadopt at work.
type giveBack struct {
	e       *Engine
	name    string
	note    *adoptionNote
	login   string
	record  *instance.Record
	foreign *service.Foreign // nil for a data directory
	ended   time.Time
}

// Unadopt ends the instance and gives the service back. With the data as it is now that goes into a new directory, which
// takes the place of the old one; that one stays beside it.
func (e *Engine) Unadopt(ctx context.Context, q UnadoptRequest) (out Unadopted, err error) {
	g := &giveBack{e: e, login: q.Login}
	if g.name, g.note, err = e.findAdoption(q.Name); err != nil {
		return out, err
	}
	out = Unadopted{Instance: g.name, Service: g.note.Service, DataDir: g.note.DataDir}
	if g.note.Service != "" {
		if g.foreign, err = service.System.Foreign(ctx, g.note.Service); err != nil {
			return out, err
		}
	}
	g.record, err = e.Registry.Get(g.name)
	if errors.Is(err, instance.ErrNotFound) && (g.note.Returned || q.AsItWas) { // what stands in is gone, and need not be ended
		out.Archive, out.Before = e.defaultArchive(g.name), g.note.Before
		_, err := e.dropService(ctx, g.name)
		return out, errors.Join(err, g.start(ctx), e.forgetAdoption(g.name))
	}
	if errors.Is(err, instance.ErrNotFound) {
		err = fmt.Errorf("give %s back: its instance is gone\nhint: ramaria adopt --undo %s --as-it-was gives it the old data; ramaria restore has what was archived since", g.what(), g.name)
	}
	if err != nil {
		return out, err
	}
	out.Archive = e.archiveDir(g.name, g.record.Spec)
	if !g.note.Returned { // else by a command that was killed then
		err = g.run(ctx, q.AsItWas)
	}
	if err == nil {
		err = g.start(ctx)
	}
	if err == nil && g.foreign != nil && g.note.Before != "" {
		err = g.forgetAccounts(ctx)
	}
	if err != nil {
		return out, fmt.Errorf("give %s back: %w", g.what(), err)
	}
	out.Before = g.note.Before
	if !g.ended.IsZero() {
		out.Down = time.Since(g.ended)
	}
	if err := e.forgetAdoption(g.name); err != nil {
		return out, err
	}
	return out, e.Down(ctx, DownRequest{Name: g.name, Remove: true})
}

func (g *giveBack) what() string {
	if g.note.Service != "" {
		return g.note.Service
	}
	return g.note.DataDir
}

// run ends the instance and gives the directory back, and notes that.
func (g *giveBack) run(ctx context.Context, asItWas bool) error {
	if p, err := adopt.OnDir(g.note.DataDir); !errors.Is(err, adopt.ErrNoServer) && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(RequestError{fmt.Errorf("process %d runs a server on %s, the data of before the adoption\nhint: shut it down, and then again", p.PID, g.note.DataDir)}, err)
	}
	if asItWas {
		if err := g.end(ctx); err != nil {
			return err
		}
	} else {
		fresh, err := g.copyOut(ctx)
		if err != nil {
			return err
		}
		if g.note.Before, err = g.exchange(fresh); err != nil {
			return err
		}
	}
	g.note.Returned = true
	return g.e.putAdoption(g.name, *g.note)
}

// end ends the instance.
func (g *giveBack) end(ctx context.Context) error {
	if g.ended.IsZero() {
		g.ended = time.Now()
	}
	if _, err := g.e.dropService(ctx, g.name); err != nil {
		return err
	}
	return g.e.Down(ctx, DownRequest{Name: g.name})
}

// start starts the service, if it is one.
func (g *giveBack) start(ctx context.Context) error {
	if g.foreign == nil {
		return nil
	}
	// It may count as active, which its own server is not.
	if err := errors.Join(g.foreign.Halt(ctx), g.foreign.EndStandIn(ctx), g.foreign.Start(ctx)); err != nil {
		return fmt.Errorf("%w\nhint: journalctl -u %s; the instance is stopped, with its data", err, g.foreign.Name)
	}
	return nil
}

// copyOut copies the data to a directory beside the old one, in rounds while the instance works, and ends that.
func (g *giveBack) copyOut(ctx context.Context) (fresh string, err error) {
	if mounted, err := sys.Mounted(g.note.DataDir); err != nil {
		return "", err
	} else if mounted {
		return "", RequestError{fmt.Errorf("a disk is mounted at %s, which cannot change places with another directory\nhint: ramaria export %s DIR, on that disk, and then ramaria adopt --undo %[2]s --as-it-was", g.note.DataDir, g.name)}
	}
	fresh = g.note.DataDir + ".ramaria-" + time.Now().Format("20060102-150405")
	if g.foreign == nil { // no server is there to drop our accounts from it later
		if err := g.end(ctx); err != nil {
			return "", err
		}
		_, err := g.e.Export(ctx, ExportRequest{Name: g.name, Dir: fresh, Owner: strconv.Itoa(g.note.Owner.UID), AsIs: true})
		return fresh, err
	}
	i, err := g.e.Registry.Open(g.name)
	if err != nil {
		return "", err
	}
	if err := g.checkRoom(i); err != nil {
		return "", err
	}
	made := fresh // a failed return has none
	defer func() {
		if err != nil {
			err = errors.Join(err, sys.RemoveTree(made))
		}
		if err != nil && !g.ended.IsZero() {
			err = fmt.Errorf("%w\nhint: ramaria service install %s goes on with the instance, whose data is as it was", err, g.name)
		}
	}()
	files := sys.NewLiveCopy(i.DataDir(), fresh, outFilter)
	files.Differences()
	if err := g.copyBeside(ctx, i, files, fresh); err != nil {
		return "", err
	}
	if err := g.end(ctx); err != nil {
		return "", err
	}
	if state, err := i.State(); err != nil || state.Phase != instance.Stopped { // its log would decide what it had committed
		return "", errors.Join(fmt.Errorf("instance %s was not shut down cleanly", g.name), err)
	}
	if err := errors.Join(files.LastRound(ctx), files.Done()); err != nil {
		return "", err
	}
	return fresh, g.own(fresh)
}

// own gives the new directory, open all the time, to the owner of the old one: where that is also the owner of what they
// lie in, it could put a link in its place.
func (g *giveBack) own(fresh string) (err error) {
	f, err := os.OpenFile(fresh, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	opened := fmt.Sprintf("/proc/self/fd/%d/.", f.Fd())
	return errors.Join(server.ChownTree(opened, g.note.Owner), f.Chmod(g.note.Mode), sys.SyncTree(opened))
}

// outFilter leaves out what the service's own server does without: our log of changes, and what is of the process.
func outFilter(rel string, kind fs.FileMode) (bool, error) {
	skip, err := server.MoveFilter(rel, kind)
	return skip || kind.IsRegular() && server.IsLog(rel), err
}

func (g *giveBack) checkRoom(i *instance.Instance) error {
	size, err := sys.DiskUsage(i.DataDir())
	if err != nil {
		return err
	}
	parent := filepath.Dir(g.note.DataDir)
	fsys, err := sys.Statfs(parent)
	if err == nil && fsys.Avail < size {
		err = fmt.Errorf("its data takes %s, and %s has %s free\nhint: free some space there; or ramaria export %s DIR elsewhere, and then ramaria adopt --undo %[4]s --as-it-was",
			volume.FormatBytes(size), parent, volume.FormatBytes(fsys.Avail), g.name)
	}
	return err
}

// copyBeside copies in rounds while the instance works, if it does, and disconnects its clients.
func (g *giveBack) copyBeside(ctx context.Context, i *instance.Instance, files *sys.LiveCopy, to string) error {
	state, err := i.State()
	if err != nil || !state.Phase.Alive() {
		return err
	}
	db, err := adopt.Open(ctx, i.Spec.Socket, g.login)
	if err != nil {
		return err
	}
	defer db.Close()
	size, err := sys.DiskUsage(i.DataDir())
	if err != nil {
		return err
	}
	if err := copyRounds(ctx, db, files, g.e.meters("giving back "+g.what()), size); err != nil {
		return err
	}
	if err := sys.SyncTree(to); err != nil {
		return err
	}
	g.ended = time.Now()
	return adopt.Disconnect(ctx, db, i.Server.Flavour)
}

// exchange has the new directory and the old one change places, in one step.
func (g *giveBack) exchange(fresh string) (before string, err error) {
	if err := sys.Exchange(fresh, g.note.DataDir); err != nil {
		return "", err
	}
	before = g.note.DataDir + ".before-" + time.Now().Format("20060102-150405")
	if err := os.Rename(fresh, before); err != nil {
		return "", err
	}
	if program, err := exec.LookPath("restorecon"); err == nil { // under SELinux the files have the type of where they were made
		_ = exec.Command(program, "-R", g.note.DataDir).Run()
	}
	return before, sys.SyncDir(filepath.Dir(g.note.DataDir))
}

// forgetAccounts drops our accounts from the service's data.
func (g *giveBack) forgetAccounts(ctx context.Context) error {
	i, err := g.e.Registry.Open(g.name)
	if err != nil {
		return err
	}
	forget := dbconn.Dialect{}.ForgetSQL([]dbconn.Login{i.Supervisor}, []dbconn.Login{i.Endpoint.Login})
	db, err := adopt.Open(ctx, i.Spec.Socket, g.login)
	if err == nil {
		defer db.Close()
		_, err = db.ExecContext(ctx, forget)
	}
	if err != nil {
		g.e.note("warning: accounts of ramaria are still in its data: %s\nhint: as its administrator: %s", oneLine(err), forget)
	}
	return nil
}

// findAdoption finds what was adopted, by the name of the instance or of the service.
func (e *Engine) findAdoption(name string) (string, *adoptionNote, error) {
	if n, err := e.adoptionOf(name); err != nil || n != nil {
		return name, n, err
	}
	all, err := sys.Glob(filepath.Dir(e.adoptionPath("x")), "*.json")
	if err != nil {
		return "", nil, err
	}
	for _, path := range all {
		of := filepath.Base(path[:len(path)-len(".json")])
		if n, err := e.adoptionOf(of); err == nil && n != nil && (n.Service == name || n.Service == name+".service" || n.DataDir == name) {
			return of, n, nil
		}
	}
	return "", nil, fmt.Errorf("undo the adoption of %s: %w that was adopted\nhint: ramaria ls shows what there is", name, instance.ErrNotFound)
}
