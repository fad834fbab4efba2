package engine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/adopt"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Adopted describes an adoption that was done.
type Adopted struct {
	Plan *AdoptPlan
	// URL is the DSN of the instance. Took is how long it all took, and Down how long nothing answered.
	URL        string
	Took, Down time.Duration
}

const (
	// copyMost bounds the rounds in which the data is copied beside a server, and shortCopy is how short one must be for
	// the next to be worth stopping the server for.
	copyMost  = 5
	shortCopy = 200 * time.Millisecond
	// mostFlush is how long a server may take to write out its dirty pages before it is stopped, and fewDirty so few
	// that its end takes no time.
	mostFlush = 20 * time.Second
	fewDirty  = 100
)

// adoption is an Adopt at work.
type adoption struct {
	e     *Engine
	plan  *AdoptPlan
	stock durable.Stock
	// stopped is when the service was stopped, zero before.
	stopped time.Time
	inst    *instance.Instance
	note    adoptionNote
}

// Adopt does what a plan says. The data is copied in rounds while the service works; then the service is stopped, what
// has changed is copied, and an instance starts in its place. If that fails, the service runs as before. Errors match
// RequestError where the plan has something against it.
func (e *Engine) Adopt(ctx context.Context, p *AdoptPlan) (out Adopted, err error) {
	began := time.Now()
	if len(p.Against) > 0 {
		return out, RequestError{fmt.Errorf("adopt %s: %s", p.what(), strings.Join(p.Against, "; "))}
	}
	if p.foreign != nil && e.UID != 0 {
		return out, RequestError{fmt.Errorf("adopt %s: only root may stop it\nhint: sudo ramaria adopt ... --apply", p.Service)}
	}
	lock, err := e.lockAdoption(p)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	a := &adoption{e: e, plan: p}
	if err := a.make(ctx); err != nil {
		return out, a.back(ctx, fmt.Errorf("adopt %s: %w", p.what(), err))
	}
	if err := a.start(ctx); err != nil {
		if u, uerr := e.serviceOf(p.Instance); uerr == nil && u != nil && u.State(ctx) == "active" { // it may have acknowledged commits
			return out, fmt.Errorf("adopt %s: instance %s stands in for it now, but: %w\nhint: ramaria adopt --undo %[2]s gives it back", p.what(), p.Instance, err)
		}
		return out, a.back(ctx, fmt.Errorf("adopt %s: %w", p.what(), err))
	}
	i, err := e.Registry.Open(p.Instance)
	if err != nil {
		return out, err
	}
	out = Adopted{Plan: p, URL: i.Endpoint.URL(), Took: time.Since(began)}
	if !a.stopped.IsZero() {
		out.Down = time.Since(a.stopped)
		// From now on it is what starts and stops the instance.
		err = p.foreign.Start(ctx)
	}
	return out, err
}

// lockAdoption keeps others from adopting the same, under whichever name, and refuses what they have adopted since the plan
// was made.
func (e *Engine) lockAdoption(p *AdoptPlan) (*sys.FileLock, error) {
	lock, err := e.tryAdoptionLock(p)
	if err == nil && p.foreign != nil && p.foreign.StandsIn() != "" {
		err = errors.Join(RequestError{fmt.Errorf("adopt %s: instance %s stands in for it already", p.what(), p.foreign.StandsIn())}, lock.Unlock())
	}
	return lock, err
}

// what is what is adopted.
func (p *AdoptPlan) what() string {
	if p.Service != "" {
		return p.Service
	}
	return p.DataDir
}

// make makes the instance, which does not run yet, and its archive.
func (a *adoption) make(ctx context.Context) (err error) {
	e, p := a.e, a.plan
	lock, err := e.lockName(ctx, p.Instance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if _, err := e.Registry.Get(p.Instance); !errors.Is(err, instance.ErrNotFound) {
		return errors.Join(instance.TakenError(p.Instance), err)
	}
	if err := checkFileLimit(); err != nil {
		return err
	}
	v, err := e.openVolume(ctx, p.spec.Volume)
	if err != nil {
		return err
	}
	if err := errors.Join(e.sweep(ctx, v), e.sweepTempMarks(ctx)); err != nil {
		return err
	}
	// What it is made from again, where it is not durable, and is lost.
	p.spec.From = []image.Source{{Kind: image.FromPath, Name: p.DataDir}}
	p.spec.User, p.spec.Database = p.user, p.database
	o := instance.Order{Name: p.Instance, Spec: p.spec, Server: p.server}
	if o.App, err = login(p.spec); err != nil {
		return err
	}
	made := instance.Made{Origin: adoptedFrom + p.DataDir, Endpoint: dbconn.Endpoint{Database: p.database}}
	if p.live != nil {
		made.PageSize = p.live.PageSize
	}
	i, err := e.instances(v).Restore(ctx, o, made, p.DataBytes, a.fill)
	if err != nil {
		return err
	}
	a.inst = i
	return a.beginArchive(ctx)
}

// fill copies the data.
func (a *adoption) fill(ctx context.Context, i *instance.Instance) (err error) {
	a.stock = durable.Stock{Dir: a.plan.DataDir, Size: a.plan.DataBytes}
	filter, err := durable.StockFilter(a.plan.DataDir)
	if err != nil {
		return err
	}
	files := sys.NewLiveCopy(a.plan.DataDir, i.DataDir(), filter)
	files.Differences()
	if a.plan.foreign != nil {
		err = a.copyBeside(ctx, files)
	} else {
		err = a.ended()
	}
	if err == nil {
		err = a.stock.Seal()
	}
	if err == nil {
		err = files.LastRound(ctx)
	}
	if err == nil {
		err = files.Done()
	}
	if errors.Is(err, sys.ErrHardLinks) {
		err = fmt.Errorf("%w\nhint: find %s -type f -links +1 names them", err, server.ShellWord(a.plan.DataDir))
	}
	if err != nil {
		return err
	}
	return errors.Join(i.Account.GiveTree(i.DataDir()), os.Chmod(i.DataDir(), 0o700)) //nolint:forbidigo // made just now, in a directory of ours
}

// copyBeside copies in rounds while the service works, and stops it.
func (a *adoption) copyBeside(ctx context.Context, files *sys.LiveCopy) error {
	p := a.plan
	db, err := adopt.Open(ctx, p.Socket, p.login)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := copyRounds(ctx, db, files, a.e.meters("adopting "+p.what()), p.DataBytes); err != nil {
		return err
	}
	if err := a.stock.Ask(ctx, db, p.live.Flavour); err != nil {
		return err
	}
	a.stopped = time.Now()
	if err := adopt.Disconnect(ctx, db, p.live.Flavour); err != nil {
		return err
	}
	if err := p.foreign.Stop(ctx); err != nil {
		return err
	}
	if err := a.ended(); err != nil {
		return err
	}
	a.stock.GTIDState, err = p.live.GTIDState()
	return err
}

// ended looks whether the server of the data directory has ended, and ended well.
func (a *adoption) ended() error {
	if p, err := adopt.OnDir(a.plan.DataDir); !errors.Is(err, adopt.ErrNoServer) {
		return errors.Join(fmt.Errorf("process %d runs a server on %s\nhint: shut it down first", p.PID, a.plan.DataDir), err)
	}
	dirs := []string{a.plan.DataDir}
	if a.plan.live != nil && a.plan.live.BinLog != "" {
		dirs = append(dirs, filepath.Dir(a.plan.live.BinLog))
	}
	for _, dir := range dirs {
		if killed, err := image.KilledLog(dir); err != nil {
			return err
		} else if killed != "" {
			return fmt.Errorf("its server was not shut down cleanly: %s was in use", filepath.Join(dir, killed))
		}
	}
	return nil
}

// unused looks whether the service's own server was started again, by whomever, before it could not be any more.
func (a *adoption) unused() error {
	if p, err := adopt.OfGroup(a.plan.foreign.Group); !errors.Is(err, adopt.ErrNoServer) {
		return errors.Join(fmt.Errorf("%s was started meanwhile: process %d", a.plan.Service, p.PID), err)
	}
	return errors.Join(a.ended(), a.stock.Unchanged())
}

// copyRounds copies the data directory of a server that works, of size bytes, so that as little as can be is left to do
// once that has ended: db is a connection of its administrator.
func copyRounds(ctx context.Context, db *sql.DB, files *sys.LiveCopy, show *meters, size int64) (err error) {
	stop := every(meterPause, func() { show.progress("copying", min(files.Read(), size), size) })
	for range copyMost {
		began := time.Now()
		if err = files.Round(ctx); err != nil || time.Since(began) < shortCopy {
			break
		}
	}
	stop()
	show.close()
	if err != nil {
		return err
	}
	if err := writeOut(ctx, db); err != nil {
		return err
	}
	if err := files.Round(ctx); err != nil { // what that has written
		return err
	}
	return writeOut(ctx, db)
}

// writeOut has a server write its dirty pages, which its end would otherwise wait for.
func writeOut(ctx context.Context, db *sql.DB) error {
	_, err := dbconn.FlushPages(ctx, db, fewDirty, mostFlush, nil)
	return err
}

// beginArchive has the old directory be the first base of the archive.
func (a *adoption) beginArchive(ctx context.Context) (err error) {
	if a.plan.Archive == "" {
		return nil
	}
	i := a.inst
	d, err := durable.Open(ctx, a.plan.Archive)
	if errors.Is(err, archive.ErrNoArchive) {
		d, err = durable.Create(ctx, a.plan.Archive, i.Name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.BeginWithDir(i, a.stock); err != nil {
		return err
	}
	i.Archived = i.Durable
	return errors.Join(i.Save(), a.e.Registry.Put(&i.Record))
}

// start starts the instance in the place of the service.
func (a *adoption) start(ctx context.Context) error {
	e, p := a.e, a.plan
	a.note = adoptionNote{DataDir: p.DataDir, Service: p.Service, Began: time.Now().Truncate(time.Second)}
	if err := a.note.ofDir(); err != nil {
		return err
	}
	if err := e.putAdoption(p.Instance, a.note); err != nil {
		return err
	}
	if p.foreign == nil {
		i, err := e.Registry.Open(p.Instance)
		if err != nil {
			return err
		}
		return e.start(ctx, i, true)
	}
	// Whoever interrupts this now: it may be at work for its clients already.
	ctx = context.WithoutCancel(ctx)
	// From here on the service's own server cannot start, also after a power cut, on data that is not all there is.
	if err := p.foreign.StandIn(ctx, p.Instance); err != nil {
		return err
	}
	if err := a.unused(); err != nil {
		return err
	}
	_, err := e.InstallService(ctx, p.Instance)
	return err
}

// back undoes what was done, and has the service run as before.
func (a *adoption) back(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	p := a.plan
	if a.inst != nil {
		if _, err := a.e.dropService(ctx, p.Instance); err != nil { // it may be at work, and two servers must not be
			return fmt.Errorf("%w; and while that was undone: %w\nhint: ramaria adopt --undo %s", cause, err, p.Instance)
		}
		if p.foreign != nil && answered(a.inst) {
			return fmt.Errorf("%w; instance %s has answered before, and may have acknowledged commits: it stays, stopped\nhint: ramaria service install %[2]s goes on with it; ramaria adopt --undo %[2]s gives %s back, with these", cause, p.Instance, p.Service)
		}
	}
	var errs []error
	if p.foreign != nil && p.foreign.StandsIn() == p.Instance {
		note := a.note
		note.Returned = true
		if err := errors.Join(a.e.putAdoption(p.Instance, note), p.foreign.EndStandIn(ctx)); err != nil {
			return fmt.Errorf("%w; and while that was undone: %w\nhint: ramaria adopt --undo %s --as-it-was", cause, err, p.Instance)
		}
	}
	if !a.stopped.IsZero() {
		errs = append(errs, a.restart(ctx))
	}
	if a.inst != nil { // the note is there until now: --undo goes on where this was killed
		errs = append(errs, a.e.forgetAdoption(p.Instance))
		if _, err := a.e.Registry.Get(p.Instance); err == nil {
			errs = append(errs, a.e.Down(ctx, DownRequest{Name: p.Instance, Remove: true, Archive: true}))
		} else if p.Archive != "" && durable.Exists(p.Archive) {
			errs = append(errs, durable.Remove(ctx, p.Archive))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w; and while that was undone: %w", cause, err)
	}
	return cause
}

// restart has the service run as before, also where it was about to be stopped only.
func (a *adoption) restart(ctx context.Context) error {
	p := a.plan
	if db, err := adopt.Open(ctx, p.Socket, p.login); err == nil { // it was not stopped, and its clients were kept out
		err = errors.Join(adopt.Readmit(ctx, db, p.live.Flavour), db.Close())
		if err != nil {
			return fmt.Errorf("%w\nhint: systemctl restart %s", err, p.Service)
		}
	}
	if err := p.foreign.Start(ctx); err != nil {
		return fmt.Errorf("start %s again: %w", p.Service, err)
	}
	a.e.note("%s runs again, as before", p.Service)
	return nil
}

// answered reports whether the server of an instance has ever taken connections: its log says so, whatever it came to.
func answered(i *instance.Instance) bool {
	for _, path := range []string{i.LogPath(), i.OldLogPath()} {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte("ready for connections")) {
			return true
		}
	}
	return false
}
