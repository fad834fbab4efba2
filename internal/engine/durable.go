package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// levelOf is what a power failure may take of an instance.
func levelOf(spec instance.Spec) server.Durability {
	level, _ := spec.Durability()
	return level
}

// archiveDir is the directory of an instance's archive, "" for one that is not durable.
func (e *Engine) archiveDir(name string, spec instance.Spec) string {
	switch {
	case !levelOf(spec).Durable():
		return ""
	case spec.ArchiveDir() != "":
		return spec.ArchiveDir()
	}
	return e.defaultArchive(name)
}

// defaultArchive is where the archive of an instance is unless --archive says otherwise.
func (e *Engine) defaultArchive(name string) string {
	return filepath.Join(e.Places.State, "archives", name)
}

// checkDurable refuses a durable instance that could not keep its promise. fresh says that an archive of
// it goes on with other data.
func (e *Engine) checkDurable(name string, spec instance.Spec, fresh bool) error {
	if err := checkDoors(spec); err != nil {
		return err
	}
	dir := e.archiveDir(name, spec)
	if dir == "" {
		return needsDurable(spec)
	}
	if spec.Log == instance.LogOff {
		return RequestError{errors.New("make a durable instance with --log off: what is archived is its log\nhint: leave --log off out")}
	}
	if err := inRAM(dir); err != nil {
		return RequestError{err}
	}
	if err := mayHold(dir); err != nil {
		return RequestError{fmt.Errorf("make instance %s: %w", name, err)}
	}
	if err := durable.Nested(dir); err != nil && !durable.Exists(dir) { // one that is there already goes on
		return RequestError{fmt.Errorf("make instance %s: %w", name, err)}
	}
	if !fresh && durable.Exists(dir) {
		word := server.ShellWord(dir)
		return RequestError{fmt.Errorf("make instance %s: %s holds the archive of an earlier one\nhint: ramaria restore %s --as %s --durable brings it back as it was; --archive DIR leaves it alone; rm -r %s loses it", name, dir, word, name, word)}
	}
	return nil
}

// mayHold refuses what can hold no archive: a file, or a place that cannot be read.
func mayHold(dir string) error {
	fi, err := os.Stat(dir)
	switch {
	case err == nil && !fi.IsDir(), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("keep the archive in %s: it is not a directory\nhint: --archive DIR, a directory of its own, which may be new", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("keep the archive in %s: %w\nhint: --archive DIR, a directory of its own, which may be new", dir, err)
	}
	return nil
}

// inRAM refuses an archive that a power failure would take. The directory may not exist yet.
func inRAM(dir string) error {
	fs, err := statAbove(dir)
	if err == nil && fs.RAM {
		err = fmt.Errorf("keep the archive in %s: that lies in memory, and goes with the power\nhint: --archive DIR, on a disk", dir)
	}
	return err
}

// beginArchive makes the first base of an instance that was just made, and has it belong to its
// archive. buckets are those of its buckets that it did not have before, and must be able to use.
func (e *Engine) beginArchive(ctx context.Context, i *instance.Instance, buckets []string) (err error) {
	dir := e.archiveDir(i.Name, i.Spec)
	if dir == "" {
		return nil
	}
	a, err := durable.Open(ctx, dir)
	if errors.Is(err, archive.ErrNoArchive) {
		a, err = durable.Create(ctx, dir, i.Name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	release, err := e.claimBuckets(ctx, a.Manifest.ID, buckets)
	if err != nil {
		return err
	}
	if err := a.Begin(ctx, i, e.Places.Keys(), ""); err != nil {
		release()
		return err
	}
	i.Archived = i.Durable
	return errors.Join(i.Save(), e.Registry.Put(&i.Record))
}

// checkArchive refuses to recover an instance whose RAM was lost from an archive that is not its own, or is
// an older state of it: what the instance had is not in that. acceptLoss says to go on with an older state.
func (e *Engine) checkArchive(r *instance.Record, acceptLoss bool) error {
	dir := e.archiveDir(r.Name, r.Spec)
	m, err := durable.Read(dir)
	switch {
	case errors.Is(err, archive.ErrNoArchive):
		return fmt.Errorf("recover instance %s: %w\nhint: %s", r.Name, err, archiveBack(r, instance.Gone))
	case err == nil && r.Archived == nil:
		return nil
	case err != nil:
		return fmt.Errorf("recover instance %s: %w", r.Name, err)
	case r.Archived.Archive != m.ID.String():
		return RequestError{fmt.Errorf("recover instance %s: %s is another archive, that of instance %s\nhint: put the archive of %s back; ramaria restore %s --as NEW makes an instance of this one", r.Name, dir, m.Instance, r.Name, server.ShellWord(dir))}
	}
	if last := m.Last(); last == nil || last.Number < r.Archived.Epoch && !acceptLoss {
		return RequestError{fmt.Errorf("recover instance %s: %s is the archive as it was earlier: its log lacks epoch %d\nhint: put the archive of %s back; ramaria up %[4]s --accept-loss goes on with this state", r.Name, dir, r.Archived.Epoch, r.Name)}
	}
	return nil
}

// recover makes an instance again from its archive, after its data in RAM was lost, and goes on with that.
// acceptLoss says to do without what cannot be recovered of the log.
func (e *Engine) recover(ctx context.Context, o instance.Order, acceptLoss bool) (_ *instance.Instance, err error) {
	dir := e.archiveDir(o.Name, o.Spec)
	began := time.Now()
	a, err := durable.Open(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("recover instance %s: %w", o.Name, err)
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	a.AcceptLoss = acceptLoss
	if err := e.knowExtent(a, o.Name); err != nil {
		return nil, fmt.Errorf("recover instance %s: %w", o.Name, err)
	}
	i, r, err := e.fill(ctx, a, o)
	if err != nil {
		again := fmt.Sprintf("ramaria up %s --accept-loss", o.Name)
		if o.Passing {
			again = fmt.Sprintf("ramaria run --durable --archive %s --accept-loss -- COMMAND", server.ShellWord(dir))
		}
		return nil, explainRestore(fmt.Errorf("recover instance %s: %w", o.Name, err), o.Name, restoreBefore(dir, "NEW"), again)
	}
	e.noteLoss(a, o.Name, r)
	e.note("recovered instance %s in %s: a base of %s, and %s of its log%s", o.Name, time.Since(began).Round(10*time.Millisecond),
		volume.FormatBytes(r.Restored), volume.FormatBytes(r.Replayed), until(r.Time))
	return i, nil
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", up to " + t.Local().Format(time.DateTime)
}

// fill makes an instance of all that an archive has, and has it go on with it.
func (e *Engine) fill(ctx context.Context, a *durable.Archive, o instance.Order) (_ *instance.Instance, r durable.Recovered, err error) {
	if err := checkFileLimit(); err != nil {
		return nil, r, err
	}
	plans, err := durable.Plans(a.Manifest, durable.Until{})
	if err != nil {
		return nil, r, err
	}
	room, err := a.Room(plans[0])
	if err != nil {
		return nil, r, err
	}
	kept, err := a.Made()
	if err != nil {
		return nil, r, err
	}
	old := &instance.Instance{Record: instance.Record{Name: o.Name, Spec: o.Spec}, Made: kept.Made}
	o.Server = kept.Server
	if kept.Server.Missing() != "" {
		if o.Server, err = e.ReplacementServer(ctx, old); err != nil {
			return nil, r, err
		}
	}
	v, err := e.openVolume(ctx, o.Spec.Volume)
	if err != nil {
		return nil, r, err
	}
	if err := errors.Join(e.sweep(ctx, v), e.sweepTempMarks(ctx)); err != nil {
		return nil, r, err
	}
	i, err := e.instances(v).Recover(ctx, o, kept.Made, room, func(ctx context.Context, i *instance.Instance) (err error) {
		show := e.meters("recovering " + o.Name)
		r, err = a.FillUntil(ctx, i, durable.Until{}, show.progress, func(text string) { e.note("%s", text) })
		show.close()
		if err != nil {
			return err
		}
		i.PasswordChanged = r.PasswordChanged
		return a.GoOnAs(ctx, i, e.Places.Keys(), r)
	})
	return i, r, err
}

// existingDurable returns a durable instance that does not run and is to go on. Where its data in RAM is
// not what its archive has, it is recovered: the archive has all that was acknowledged.
func (e *Engine) existingDurable(ctx context.Context, r *instance.Record, acceptLoss bool) (*instance.Instance, error) {
	i, err := e.Registry.Open(r.Name)
	if err != nil {
		return nil, err
	}
	boot, err := e.Host.BootID()
	if err != nil {
		return nil, err
	}
	err = durable.Fits(e.archiveDir(r.Name, r.Spec), i, boot)
	if errors.Is(err, archive.ErrNoArchive) {
		return i, fmt.Errorf("start instance %s: %w\nhint: %s", r.Name, err, archiveBack(r, instance.Stopped))
	}
	if err == nil {
		err = e.giveUpConfused(ctx, r, i, boot)
	}
	if !errors.Is(err, durable.ErrBehind) {
		return i, err
	}
	e.note("instance %s: %s; recovering it from its archive", r.Name, err)
	if err := e.checkLog(r); err != nil && !acceptLoss { // while there is what is in RAM
		return nil, fmt.Errorf("recover instance %s: %w\nhint: what is in RAM stays as it is; ramaria up %[1]s --accept-loss goes on with what is before that in its archive", r.Name, err)
	}
	if err := e.clear(ctx, r); err != nil {
		return nil, err
	}
	return e.recover(ctx, instance.Order{Name: r.Name, Spec: r.Spec}, acceptLoss)
}

// giveUpConfused has the archive have all of the log of an instance whose server would mix up its XA transactions when it
// recovers, and returns an error that matches durable.ErrBehind then.
func (e *Engine) giveUpConfused(ctx context.Context, r *instance.Record, i *instance.Instance, boot string) error {
	if is, err := durable.Confused(i); err != nil || !is {
		return err
	}
	a, err := durable.Open(ctx, e.archiveDir(r.Name, r.Spec))
	if err != nil {
		return err
	}
	a.Beside = e.Registry.ExtentPath(r.Name)
	return a.GiveUp(ctx, i, boot, func(err error) { e.note("instance %s waits until its log can be archived: %v", r.Name, err) })
}

// MakeBase makes a base backup, or a comparison, as a supervisor has ordered it: this is the process that
// does the work.
func (e *Engine) MakeBase(ctx context.Context, o supervisor.BaseOrder) (done supervisor.BaseDone, err error) {
	i, err := e.Registry.Open(o.Name)
	if err != nil {
		return done, err
	}
	s := &durable.Snapshot{
		Instance: i, DataDir: filepath.Join(o.Dir, "data"), Dir: o.Dir, RunDir: o.RunDir, TmpDir: filepath.Join(o.Dir, "tmp"), Volume: snapshotVolume(o.Volume), Keys: e.Places.Keys(), Fence: o.Fence, Archive: o.Archive,
	}
	proven, err := s.Prove(ctx)
	if err != nil {
		return done, err
	}
	if o.Verify {
		done.Verification, err = s.Verify(ctx, o.Archive, proven.At)
		var damaged *archive.DamagedError
		if errors.As(err, &damaged) {
			done.Damaged, err = err.Error(), nil
		}
		return done, err
	}
	done.Base, err = s.Base(ctx, o.Archive, o.Base)
	done.Base.Time = o.Time
	done.Base.TakeProof(proven)
	return done, err
}

// snapshotVolume is the kind of volume by which the server of a snapshot is configured: what lies outside of
// all volumes lies on a disk.
func snapshotVolume(kind string) string {
	if _, err := volume.ParseSpec(kind); err != nil {
		return string(volume.Disk)
	}
	return kind
}
