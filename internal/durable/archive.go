package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/basebackup"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// lockName is the file whose lock the process holds that writes to the archive.
	lockName = "lock"
	// madeName is the copy of instance.json: with it an instance has its accounts and its port
	// again. Its passwords are why the archive is the user's alone.
	madeName = "instance.json"
	// writeOK asks access(2) for the right to write.
	writeOK = 2
	// lockPatience is how long another process may be at work on an archive.
	lockPatience = 10 * time.Second
)

// Archive is an archive that this process may write to, or one that it only reads.
type Archive struct {
	Dir      string
	Disk     archive.Disk
	Manifest *archive.Manifest
	// AcceptLoss has a recovery go on with what is there where the log cannot be read or applied any farther, or lacks
	// its end. Without it that is an error.
	AcceptLoss bool
	// Beside is a file outside of the archive that says, too, how far its log goes; "" for none. It is kept up to date
	// by a Keeper.
	Beside string

	lock *sys.FileLock // nil for one that is only read
	// extents are how far the log is known to have gone, and unsaid is why the archive does not say that itself.
	extents []archive.Extent
	unsaid  error
	// lost is what a recovery has gone on without, and lostFrom the time of the last transaction that it has; zero if the
	// log had none.
	lost     *BrokenError
	lostFrom time.Time
	// plain says that a replay is to give tables no index, since one that did has failed.
	plain bool
	// serial says that a replay is to apply one transaction after the other, since one has failed that did not, and it is to
	// be known where.
	serial bool
}

// ErrInUse says that another process writes to an archive.
var ErrInUse = errors.New("another process writes to it")

// Exists reports whether a directory holds an archive.
func Exists(dir string) bool {
	_, err := archive.ReadManifest(archive.OSDisk{Dir: dir, ReadOnly: true})
	return !errors.Is(err, archive.ErrNoArchive)
}

// OpenReading opens an archive to read it. Others may write to it and prune it meanwhile, and it may lie where
// nothing can be written.
func OpenReading(dir string) (*Archive, error) {
	d := archive.OSDisk{Dir: dir, ReadOnly: true}
	a := &Archive{Dir: dir, Disk: d}
	for range 2 { // its writer may just have made the first extent, and then named it
		known, kerr := readExtent(d)
		var err error
		if a.Manifest, err = archive.ReadManifest(d); err != nil {
			return nil, explain(dir, err)
		}
		if err := a.know(known, kerr); err != nil {
			return nil, err
		}
		if a.unsaid == nil {
			break
		}
	}
	return a, nil
}

// Read reads the manifest of an archive that others may write to.
func Read(dir string) (*archive.Manifest, error) {
	m, err := archive.ReadManifest(archive.OSDisk{Dir: dir, ReadOnly: true})
	if err != nil {
		return nil, explain(dir, err)
	}
	return m, nil
}

func explain(dir string, err error) error { return fmt.Errorf("open archive %s: %w", dir, err) }

// Open opens an archive and locks it. The error matches archive.ErrNoArchive and ErrInUse.
func Open(ctx context.Context, dir string) (_ *Archive, err error) {
	d := archive.OSDisk{Dir: dir}
	if _, err := archive.ReadManifest(d); err != nil { // a lock file is not to be left where no archive is
		return nil, explain(dir, err)
	}
	if err := syscall.Access(dir, writeOK); err != nil { // to be known before work is done in vain
		return nil, explain(dir, &fs.PathError{Op: "write to", Path: dir, Err: err})
	}
	lock, err := lockDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	if d.Home, err = os.Stat(dir); err != nil {
		return nil, errors.Join(explain(dir, err), lock.Unlock())
	}
	m, err := archive.SettledManifest(d)
	if err != nil {
		return nil, errors.Join(explain(dir, err), lock.Unlock())
	}
	a := &Archive{Dir: dir, Disk: d, Manifest: m, lock: lock}
	if err := a.know(readExtent(d)); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func lockDir(ctx context.Context, dir string) (*sys.FileLock, error) {
	limited, cancel := context.WithTimeoutCause(ctx, lockPatience, ErrInUse)
	defer cancel()
	lock, err := sys.Lock(limited, filepath.Join(dir, lockName), sys.Exclusive, nil)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = fmt.Errorf("%w\nhint: fuser -v %s names it", ErrInUse, server.ShellQuote(filepath.Join(dir, lockName)))
	}
	if err != nil {
		return nil, explain(dir, err)
	}
	return lock, nil
}

// Create makes an archive, without bases and epochs, in a directory that is not there yet or is
// empty. Its manifest is not written before Begin.
func Create(ctx context.Context, dir, instance string) (_ *Archive, err error) {
	if err := Nested(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make archive: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("make archive: %w", err)
	}
	for _, e := range entries {
		if !leftover(e.Name()) {
			return nil, fmt.Errorf("make archive in %s: it is not empty\nhint: --archive DIR, a directory of its own", dir)
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:forbidigo // the user's own directory, which no server can write to
		return nil, fmt.Errorf("make archive: %w", err)
	}
	lock, err := lockDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	m := &archive.Manifest{ID: archive.NewID(), Instance: instance, Created: time.Now(), NextBase: 1}
	a := &Archive{Dir: dir, Disk: archive.OSDisk{Dir: dir}, Manifest: m, lock: lock}
	if err := syncAbove(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("make archive: %w", err), a.Close())
	}
	return a, nil
}

// Remove removes an archive. Without its manifest, which goes first, it is none any more.
func Remove(ctx context.Context, dir string) (err error) {
	a, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("remove archive: %w", err)
		}
	}()
	if err := errors.Join(archive.RemoveManifest(a.Disk), os.RemoveAll(filepath.Join(dir, "log")), os.RemoveAll(filepath.Join(dir, "base"))); err != nil {
		return errors.Join(err, a.Close())
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return errors.Join(err, a.Close())
	}
	others := false
	for _, e := range entries {
		if !leftover(e.Name()) {
			others = true
		} else if rerr := os.Remove(filepath.Join(dir, e.Name())); rerr != nil {
			err = errors.Join(err, rerr)
		}
	}
	if err = errors.Join(err, a.Close()); err != nil || others {
		return err
	}
	return os.Remove(dir)
}

// leftover reports whether a name is one of an archive that never got its manifest.
func leftover(name string) bool {
	switch name {
	case lockName, madeName, madeName + ".new", archive.ManifestNew, archive.ExtentName, archive.ExtentName + ".new", "base", "log":
		return true
	}
	return false
}

// syncAbove makes the names last that lead to a directory.
func syncAbove(dir string) error {
	for up := filepath.Dir(dir); ; up = filepath.Dir(up) {
		f, err := os.Open(up)
		if errors.Is(err, fs.ErrPermission) {
			return nil // not made by this user
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		if up == filepath.Dir(up) {
			return nil
		}
	}
}

// Close lets the archive go. It may be called twice.
func (a *Archive) Close() error {
	if a.lock == nil {
		return nil
	}
	return a.lock.Unlock()
}

// save writes the manifest. After an error it is as the disk has it.
func (a *Archive) save(change func(*archive.Manifest)) error {
	next := a.Manifest.Clone()
	change(next)
	if err := next.Write(a.Disk); err != nil {
		if m, rerr := archive.ReadManifest(a.Disk); rerr == nil {
			a.Manifest = m
		}
		return err
	}
	a.Manifest = next
	return nil
}

// Kept is what an archive keeps of its instance besides the data.
type Kept struct {
	instance.Made
	Spec instance.Spec `json:"spec"`
}

// SaveMade keeps what an instance was made of.
func (a *Archive) SaveMade(i *instance.Instance) error {
	text, err := json.MarshalIndent(Kept{Made: i.Made, Spec: i.Spec}, "", "  ")
	if err == nil {
		err = archive.WriteFile(a.Disk, madeName, text)
	}
	if err != nil {
		return fmt.Errorf("write %s of the archive: %w", madeName, err)
	}
	return nil
}

// Made is what SaveMade has kept.
func (a *Archive) Made() (k Kept, err error) {
	if err = instance.ReadJSON(filepath.Join(a.Dir, madeName), &k); err == nil && k.Server == nil {
		err = errors.New("it names no server")
	}
	if err != nil {
		err = fmt.Errorf("read %s of the archive: %w", madeName, err)
	}
	return k, err
}

// Begin makes a base of the data of an instance whose server does not run, and begins an epoch with
// it, which the instance belongs to from then on. Before, the server runs once to make the accounts
// and the database, which are in no log then. The next log begins with a state of MariaDB's GTIDs; "" is that of
// the log that the data has.
func (a *Archive) Begin(ctx context.Context, i *instance.Instance, keys, gtids string) error {
	return a.beginBehind(ctx, i, keys, gtids, false)
}

// beginBehind is Begin; complete says that the data goes on from the epoch that goes on, whose archived log has every XA
// transaction that was prepared before the log begins that the data has.
func (a *Archive) beginBehind(ctx context.Context, i *instance.Instance, keys, gtids string, complete bool) error {
	s := &Snapshot{
		Instance: i, DataDir: i.DataDir(), Dir: i.Dir, RunDir: i.RunDir, TmpDir: i.TmpDir(), Volume: i.Volume, Keys: keys, Database: i.Endpoint.Database,
	}
	if complete { // else the archive may not know one that is to stay
		s.Archive = a.Dir
	}
	end, state, err := logEnd(i.DataDir())
	if err != nil && !errors.Is(err, ErrNoLog) {
		return fmt.Errorf("make a base backup: %w", err)
	}
	proven := archive.Base{GTIDState: cmp.Or(gtids, state)}
	if i.Server.Flavour == server.MariaDB {
		switch killed, err := unsettled(i.DataDir()); {
		case err != nil:
			return fmt.Errorf("make a base backup: %w", err)
		case killed: // what its server had not ended is ended, as of a snapshot
			proven.At = end
		}
	}
	if err := s.prove(ctx, &proven); err != nil {
		return fmt.Errorf("make a base backup: %w", err)
	}
	// The log goes with the data that it led to: nothing of it, or of what the server said behind it, comes in the next one.
	proven.At, proven.Ahead = archive.Position{}, nil
	if err := removeLog(i.DataDir()); err != nil {
		return fmt.Errorf("make a base backup: %w", err)
	}
	before, err := indexOf(a.Disk, a.Manifest.ID, lastBase(a.Manifest))
	if err != nil {
		return fmt.Errorf("make a base backup: %w", err)
	}
	b, err := a.writeBase(ctx, i.DataDir(), before)
	if err != nil {
		return err
	}
	b.TakeProof(proven)
	return a.beginWith(i, b)
}

// beginWith ends the epoch that goes on, if there is one, and begins one with a base that lasts, which the
// instance belongs to from then on.
func (a *Archive) beginWith(i *instance.Instance, b archive.Base) error {
	end, total, err := a.settledEnd()
	if err != nil {
		return err
	}
	next := a.Manifest.Clone()
	began := archive.Epoch{Number: a.above(), Began: time.Now(), Base: b.ID, GTIDState: b.GTIDState}
	epoch := next.Begin(began, end, total)
	i.Durable = &instance.Durable{Archive: a.Manifest.ID.String(), Epoch: epoch}
	if err := a.SaveMade(i); err != nil {
		return err
	}
	return a.save(func(m *archive.Manifest) {
		a.noteLoss(m, b)
		m.Begin(began, end, total)
		b.Epoch = epoch
		m.Add(b)
		m.Server = i.Server.Name()
	})
}

// removeLog removes the binary log of a data directory.
func removeLog(path string) (err error) {
	dir, err := sys.OpenDir(path)
	if err != nil {
		return err
	}
	defer dir.CloseWith(&err)
	names, err := dir.Names()
	for _, name := range names {
		if server.IsLog(name) {
			err = errors.Join(err, dir.Remove(name))
		}
	}
	return err
}

// CheckEnd makes sure that the log has an end that is whole, where the next epoch can begin.
func (a *Archive) CheckEnd() error {
	_, _, err := a.end()
	return err
}

// end is where the log of the last epoch ends, and how many bytes it has; zero without one.
func (a *Archive) end() (archive.Position, int64, error) { return a.endBy(archive.EndOf) }

// settledEnd is the end for a manifest that says it: the log lasts up to there. Nothing writes to it. Where what is
// behind a place cannot be used and was given up, it is that place.
func (a *Archive) settledEnd() (archive.Position, int64, error) {
	end, total, err := a.endBy(archive.SettledEnd)
	var damaged *archive.DamagedError
	if errors.As(err, &damaged) && a.lost != nil && a.lost.Epoch == a.Manifest.Last().Number {
		return a.lost.At, a.totalBefore(a.lost), nil
	}
	return end, total, err
}

func (a *Archive) endBy(of func(archive.Disk, archive.LogID) (archive.Position, int64, error)) (archive.Position, int64, error) {
	last := a.Manifest.Last()
	if last == nil {
		return archive.Position{}, 0, nil
	}
	if last.End != nil {
		return *last.End, last.Total, nil
	}
	return of(a.Disk, a.Manifest.LogID(last.Number))
}

// writeBase writes a data directory as the next base. It is not in the manifest yet.
func (a *Archive) writeBase(ctx context.Context, dir string, prev *basebackup.Index) (archive.Base, error) {
	id := max(1, a.Manifest.NextBase)
	x, w, err := basebackup.Write(ctx, a.Disk, a.Manifest.ID, id, dir, prev, leaveOut)
	if err != nil {
		return archive.Base{}, fmt.Errorf("make a base backup: %w", err)
	}
	return archive.Base{ID: id, Time: time.Now(), Size: x.Size(), Stored: w.Bytes, Packs: x.Packs()}, nil
}

// leaveOut says what a base does without: what each server makes again, and the log, which the
// archive has.
func leaveOut(rel string) bool {
	return server.Transient(rel) || server.IsLog(rel)
}
