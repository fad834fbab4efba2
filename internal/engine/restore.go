package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// RestoreRequest asks for a new instance with the data that a durable one had at some time.
type RestoreRequest struct {
	// Source is the name of an instance that is durable, or was and is gone, the directory of an archive, or the URL of
	// a bucket with one.
	Source string
	// Until is where to end; the zero value is the end of the log.
	Until durable.Until
	// AcceptLoss has the restore go on with what the archive has, where that is not all that it should have.
	AcceptLoss bool
	// New is the name of the instance, and Spec what else is asked for of it: no source of data, no name of
	// an account or of a database, and a Server only where one is given.
	New  string
	Spec instance.Spec
}

// Restored says what was restored.
type Restored struct {
	URL string
	// Archive is the directory of the archive, or the URL of the bucket, and Instance the name of the instance that it is of.
	Archive, Instance string
	durable.Recovered
	// Took is how long it took until the instance answered.
	Took time.Duration
	// GoesOn says that the new instance goes on with the archive.
	GoesOn bool
}

// Restore starts a new instance with what an archive has. Errors match instance.ErrTaken, instance.ErrNotFound,
// archive.ErrNoArchive, RequestError, and *durable.BrokenError.
func (e *Engine) Restore(ctx context.Context, q RestoreRequest) (out Restored, err error) {
	began := time.Now()
	if err := instance.CheckNew(q.New); err != nil {
		return out, RequestError{err}
	}
	lock, err := e.lockName(ctx, q.New)
	if err != nil {
		return out, err
	}
	defer lock.Unlock()
	if r, err := e.Registry.Get(q.New); err == nil {
		return out, e.takenError(q, r)
	} else if !errors.Is(err, instance.ErrNotFound) {
		return out, err
	}
	q.Spec.Archive = mergeArchive(nil, q.Spec.Archive)
	r, err := e.prepareRestore(ctx, q, nil)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	i, err := r.make(ctx)
	if err != nil {
		return out, r.explain(err)
	}
	if err := r.close(); err != nil { // the supervisor opens it
		return out, e.unmake(ctx, i, err)
	}
	found := standOf(i)
	if err := e.start(ctx, i, true); err != nil {
		return out, found.explain(ctx, err)
	}
	if i, err = e.Registry.Open(q.New); err != nil {
		return out, err
	}
	e.noteLogout(i)
	return Restored{
		URL: i.Endpoint.URL(), Archive: r.origin, Instance: r.archive.Manifest.Instance, Recovered: r.done, Took: time.Since(began), GoesOn: r.goesOn,
	}, nil
}

// restoration is a Restore at work.
type restoration struct {
	e *Engine
	// old is the record of the instance that is made again; nil for a new one.
	old    *instance.Record
	source string
	// origin is where the archive is: a directory, or the bucket of which it was downloaded for this alone.
	// discard removes what was.
	origin  string
	discard func() error
	until   durable.Until
	// acceptLoss says to do without what the archive lacks.
	acceptLoss bool
	archive    *durable.Archive
	kept       durable.Kept
	// goesOn says that the instance goes on with the archive, which is locked: it is the old one again, with
	// its accounts and its port.
	goesOn bool
	order  instance.Order
	volume volume.Volume
	room   int64
	done   durable.Recovered
}

// prepareRestore finds everything out that there is to find out before anything is made.
// old is the instance that is to be made again, nil for a new one.
func (e *Engine) prepareRestore(ctx context.Context, q RestoreRequest, old *instance.Record) (_ *restoration, err error) {
	r := &restoration{e: e, old: old, source: q.Source, until: q.Until, acceptLoss: q.AcceptLoss}
	var dir string
	if instance.IsBucket(q.Source) {
		dir, r.discard, err = e.fetchArchive(ctx, &q, old)
	} else {
		dir, err = e.findArchive(q.Source)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(r.explain(err), r.close())
		}
	}()
	r.order, r.origin = instance.Order{Name: q.New, Spec: q.Spec}, dir
	if filepath.Dir(dir) == e.downloadsDir() {
		r.origin = q.Source
	}
	if err := r.open(ctx, dir); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{r.know, r.plan, r.specify, r.findServer, r.findVolume} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// close lets the archive go. It may be called twice.
func (r *restoration) close() (err error) {
	if r.archive != nil {
		err = r.archive.Close()
	}
	if r.discard != nil {
		err = errors.Join(err, r.discard())
		r.discard = nil
	}
	return err
}

// open opens the archive: to write to it if the new instance is to go on with it.
func (r *restoration) open(ctx context.Context, dir string) (err error) {
	a, err := durable.OpenReading(dir)
	if errors.Is(err, archive.ErrNoArchive) {
		if fi, serr := os.Stat(dir); serr == nil && fi.IsDir() {
			return fmt.Errorf("restore %s: %w in it: it has no manifest.json\nhint: ramaria restore DIR, which is what --archive was given, or below %s", r.source, archive.ErrNoArchive, filepath.Dir(r.e.defaultArchive(r.order.Name)))
		}
		return fmt.Errorf("restore %s: %w: there is no such directory", r.source, archive.ErrNoArchive)
	}
	if err != nil {
		return err
	}
	r.archive = a
	spec, name := &r.order.Spec, r.order.Name
	if !levelOf(*spec).Durable() {
		return nil
	}
	if spec.ArchiveDir() == "" && a.Manifest.Instance == name && !sameDir(dir, r.e.defaultArchive(name)) && r.origin == dir {
		spec.Archive = mergeArchive(spec.Archive, []string{dir}) // it is this instance's, wherever it lies
	}
	if !sameDir(dir, r.e.archiveDir(name, *spec)) {
		if err := r.e.checkDurable(name, *spec, r.old != nil); err != nil || r.old != nil {
			return err
		}
		return r.e.probeBuckets(ctx, spec.Buckets())
	}
	if err := r.e.checkDurable(name, *spec, true); err != nil {
		return err
	}
	user, err := r.e.archiveUser(dir)
	if err != nil {
		return err
	}
	if user != nil && user.Name != name {
		return RequestError{fmt.Errorf("restore instance %s: %s is the archive of instance %s, and an archive goes on with one\nhint: --archive DIR, a new directory, begins another; without --durable none is needed", name, dir, user.Name)}
	}
	r.goesOn = true
	if r.old != nil { // its supervisor has it for now
		return nil
	}
	return r.lock(ctx)
}

// lock opens the archive to write to it.
func (r *restoration) lock(ctx context.Context) (err error) {
	dir := r.archive.Dir
	if r.archive, err = durable.Open(ctx, dir); errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		err = fmt.Errorf("%w\nhint: --archive DIR begins an archive where it can be written", err)
	}
	return err
}

// know finds out how far the archive went, if it is that of an instance of this home.
func (r *restoration) know(context.Context) error {
	r.archive.AcceptLoss = r.acceptLoss
	user, err := r.e.archiveUser(r.archive.Dir)
	if err != nil || user == nil {
		return err
	}
	return r.e.knowExtent(r.archive, user.Name)
}

// plan makes sure that there is a way to what is asked for.
func (r *restoration) plan(context.Context) (err error) {
	if t := r.until.Time; t.After(time.Now().Add(time.Second)) {
		return RequestError{fmt.Errorf("restore %s as of %s: that is still to come\nhint: without --at it is the last moment", r.source, t.Local().Format(time.DateTime))}
	}
	plans, err := durable.Plans(r.archive.Manifest, r.until)
	if err != nil {
		return err
	}
	r.room, err = r.archive.Room(plans[0])
	return err
}

// specify completes what was asked for by what the archive says.
func (r *restoration) specify(ctx context.Context) (err error) {
	if r.kept, err = r.archive.Made(); err != nil {
		return err
	}
	spec := &r.order.Spec
	set := maps.Clone(server.Usable(r.kept.Spec.Set))
	if r.kept.Spec.Cluster != "" { // what it was made of had an address of its own
		delete(set, "bind_address")
	}
	if set == nil {
		set = map[string]string{}
	}
	maps.Copy(set, spec.Set)
	spec.Set = set
	spec.User, spec.Database = r.kept.Endpoint.User, r.kept.Endpoint.Database
	spec.Confine = cmp.Or(spec.Confine, r.kept.Spec.Confine)
	spec.Restored = &instance.Restored{Archive: r.origin}
	if r.goesOn {
		if err := r.keepBuckets(ctx); err != nil {
			return err
		}
	}
	if r.goesOn && spec.PasswordFile == "" {
		return nil // its account is the one of before
	}
	if r.order.App.Password == "" {
		r.order.App, err = login(*spec)
	}
	r.kept.Endpoint.Login = r.order.App
	return err
}

// keepBuckets has an instance that goes on with its archive go on with its buckets too, unless it is given others.
func (r *restoration) keepBuckets(ctx context.Context) error {
	spec := &r.order.Spec
	if r.old == nil && len(spec.Buckets()) == 0 {
		for _, url := range r.kept.Spec.Buckets() {
			r.e.note("bucket %s gets the copy of its archive, as before", url)
		}
		spec.Archive = append(slices.Clone(spec.Archive), r.kept.Spec.Buckets()...)
	}
	known := append(r.kept.Spec.Buckets(), r.source)
	var others []string
	for _, url := range spec.Buckets() {
		if !slices.ContainsFunc(known, func(k string) bool { return sameBucket(k, url) }) {
			others = append(others, url)
		}
	}
	_, err := r.e.claimBuckets(ctx, r.archive.Manifest.ID, others)
	return err
}

// findServer finds software that can replay the log: of the series that wrote it, and no older.
func (r *restoration) findServer(ctx context.Context) error {
	old := r.kept.Server
	text := cmp.Or(r.order.Spec.Server, string(old.Flavour)+":"+old.Version.Series())
	srv, err := r.e.Finder().Find(ctx, text)
	if err != nil {
		return fmt.Errorf("%w\nhint: %s wrote the archive, and its series replays it", err, old.Name())
	}
	if srv.Flavour != old.Flavour || srv.Version.Series() != old.Version.Series() || srv.Version.Patch < old.Version.Patch {
		return RequestError{fmt.Errorf("restore %s: %s wrote it, and what is there is %s: a log is replayed by the series that wrote it, and by no older version\nhint: ramaria server fetch %s:%s; without --server it is found",
			r.source, old.Name(), srv.Name(), old.Flavour, old.Version.Series())}
	}
	if err := srv.CheckSet(r.order.Spec.Set, r.order.Spec.Log == instance.LogOff, levelOf(r.order.Spec)); err != nil {
		return RequestError{err}
	}
	r.order.Server, r.order.Spec.Server = srv, text
	return nil
}

func (r *restoration) findVolume(ctx context.Context) (err error) {
	if err := checkFileLimit(); err != nil {
		return err
	}
	if r.volume, err = r.e.openVolume(ctx, r.order.Spec.Volume); err != nil {
		return err
	}
	return errors.Join(r.e.sweep(ctx, r.volume), r.e.sweepTempMarks(ctx))
}

// make makes the instance, and what there is to be of its archive.
func (r *restoration) make(ctx context.Context) (_ *instance.Instance, err error) {
	store, made := r.e.instances(r.volume), r.kept.Made
	if r.goesOn {
		return store.Recover(ctx, r.order, made, r.room, func(ctx context.Context, i *instance.Instance) error {
			if err := r.archive.MakeLast(); err != nil {
				return err
			}
			if err := r.fill(ctx, i); err != nil {
				return err
			}
			// To go on with it is to know where its log ends, or to have given that up.
			if err := r.archive.CheckEnd(); err != nil && r.done.Lost == nil {
				return RequestError{fmt.Errorf("go on with the archive in %s: %w\nhint: --archive DIR, a new directory, begins another", r.archive.Dir, err)}
			}
			return r.archive.GoOnAs(ctx, i, r.e.Places.Keys(), r.done)
		})
	}
	made.Durable, made.Origin = nil, "restored from "+r.order.Spec.Restored.Archive
	i, err := store.Restore(ctx, r.order, made, r.room, r.fill)
	if err != nil {
		return nil, err
	}
	var buckets []string
	if r.old == nil {
		buckets = i.Spec.Buckets()
	}
	if err := r.e.beginArchive(ctx, i, buckets); err != nil {
		return nil, r.e.unmake(ctx, i, err)
	}
	return i, nil
}

// restoreAgain makes an instance again that was restored from an archive.
func (e *Engine) restoreAgain(ctx context.Context, old *instance.Record, o instance.Order) (_ *instance.Instance, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make instance %s again, which was restored from %s: %w", o.Name, o.Spec.Restored.Archive, err)
		}
	}()
	q := RestoreRequest{Source: o.Spec.Restored.Archive, New: o.Name, Spec: o.Spec}
	if q.Until.Epoch, q.Until.At, err = durable.ParsePosition(o.Spec.Restored.At); err != nil {
		return nil, err
	}
	r, err := e.prepareRestore(ctx, q, old)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if i, err := e.Registry.Open(o.Name); err == nil {
		r.order.Port = i.Endpoint.Port
		if o.Spec.PasswordFile == old.Spec.PasswordFile {
			r.order.App = i.Endpoint.Login
		}
	}
	if err := e.clear(ctx, old); err != nil {
		return nil, err
	}
	if r.goesOn {
		if err := r.lock(ctx); err != nil {
			return nil, err
		}
		if err := r.know(ctx); err != nil {
			return nil, err
		}
	}
	i, err := r.make(ctx)
	return i, r.explain(err)
}

// fill makes the data directory.
func (r *restoration) fill(ctx context.Context, i *instance.Instance) (err error) {
	show := r.e.meters("restoring " + i.Name)
	r.done, err = r.archive.FillUntil(ctx, i, r.until, show.progress, func(text string) { r.e.note("%s", text) })
	show.close()
	if text := r.done.CrossedText(); err == nil && text != "" {
		r.e.note("warning: %s", text)
	}
	r.e.noteLoss(r.archive, i.Name, r.done)
	i.Spec.Restored.At = durable.FormatPosition(r.done.Epoch, r.done.End)
	return err
}

// explain says what can be restored instead of what cannot.
func (r *restoration) explain(err error) error {
	return explainRestore(err, r.source, restoreBefore(r.source, r.order.Name), "--accept-loss")
}
