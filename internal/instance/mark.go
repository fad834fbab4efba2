package instance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Mark is the data of an instance at one moment, kept inside it: marks/LABEL is a
// data directory, and marks/LABEL.json says this of it.
type Mark struct {
	Label   string    `json:"label"`
	Created time.Time `json:"created"`
	// Size is what its files held, in bytes.
	Size int64 `json:"size"`
	// Paused are events that are enabled but for the time in which their database is a template:
	// package pool knows them, and finds them here when the data is that of the mark again.
	Paused map[string][]string `json:"paused,omitempty"`
	// Leases are the clones that were there, with their accounts, as package pool writes them: some may
	// have ended when the data is that of the mark again.
	Leases json.RawMessage `json:"leases,omitempty"`
}

// RewindRoom is what a server must find, in bytes, to start on a mark: it makes its
// temporary tablespace and its logs again. What the instance held is still there then.
const RewindRoom = 32 << 20

var (
	// ErrNoMark says that an instance has no mark of a label.
	ErrNoMark = errors.New("no such mark")
	// ErrMarkExists says that it has one already.
	ErrMarkExists = errors.New("the label is taken")
)

func (r *Record) marksDir() string { return filepath.Join(r.Dir, "marks") }

// MarkDir is the data directory that a mark keeps.
func (r *Record) MarkDir(label string) string    { return filepath.Join(r.marksDir(), label) }
func (r *Record) markRecord(label string) string { return r.MarkDir(label) + ".json" }

// nextDir begins the names of the data directories that a rewind exchanges.
func (r *Record) nextDir() string                { return filepath.Join(r.Dir, "data.next") }
func (r *Record) newMarkDir(label string) string { return filepath.Join(r.marksDir(), ".new-"+label) }
func (r *Record) noMark(label string) error {
	return fmt.Errorf("use mark %s of instance %s: %w\nhint: ramaria mark ls %s", label, r.Name, ErrNoMark, r.Name)
}

// Marks returns the marks of the instance, the oldest first.
func (r *Record) Marks() ([]Mark, error) {
	entries, err := os.ReadDir(r.marksDir())
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list marks: %w", err)
	}
	var marks []Mark
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		m, err := r.readMark(e.Name())
		if err != nil {
			return nil, err
		}
		m.Paused, m.Leases = nil, nil // not for those who list marks
		marks = append(marks, m)
	}
	sort.SliceStable(marks, func(i, j int) bool { return marks[i].Created.Before(marks[j].Created) })
	return marks, nil
}

// ReadMark returns the mark of a label, or ErrNoMark.
func (r *Record) ReadMark(label string) (Mark, error) {
	if err := r.checkMark(label); err != nil {
		return Mark{}, err
	}
	return r.readMark(label)
}

// checkMark is ErrNoMark if there is no mark of a label.
func (r *Record) checkMark(label string) error {
	if _, err := os.Lstat(r.MarkDir(label)); CheckLabel(label) != nil || missing(err) {
		return r.noMark(label)
	}
	return nil
}

func (r *Record) readMark(label string) (Mark, error) {
	m := Mark{Label: label}
	if err := ReadJSON(r.markRecord(label), &m); err != nil && !missing(err) {
		return m, err
	}
	return m, nil
}

// notePool writes down in a mark what the pool has now, nothing if that cannot be told.
func (r *Record) notePool(m *Mark) error {
	var pool struct {
		Paused map[string][]string
		Leases json.RawMessage
	}
	if err := ReadJSON(r.PoolPath(), &pool); err != nil && !missing(err) && !errors.Is(err, errDamaged) {
		return err
	}
	m.Paused, m.Leases = pool.Paused, pool.Leases
	return nil
}

// Mark keeps the instance's data as it is now under a label. how says how to copy it
// while the server runs. An existing mark is ErrMarkExists, unless it is to be
// replaced: it stays until the new one is whole.
func (s *Store) Mark(ctx context.Context, r *Record, label string, replace bool, how volume.How) (_ Mark, err error) {
	if err := CheckLabel(label); err != nil {
		return Mark{}, err
	}
	if _, err := os.Lstat(r.MarkDir(label)); err == nil && !replace {
		return Mark{}, fmt.Errorf("mark instance %s: %w: %s\nhint: ramaria mark %s %s --replace, or another label", r.Name, ErrMarkExists, label, r.Name, label)
	}
	if err := r.checkData(); err != nil {
		return Mark{}, fmt.Errorf("mark instance %s: %w", r.Name, err)
	}
	m := Mark{Label: label, Created: time.Now()}
	// Before the data: what is no template any more has its events enabled before that is written down.
	if err := r.notePool(&m); err != nil {
		return Mark{}, fmt.Errorf("mark instance %s: %w", r.Name, err)
	}
	if m.Size, err = sys.DiskUsage(r.DataDir()); err != nil {
		return Mark{}, fmt.Errorf("mark instance %s: %w", r.Name, err)
	}
	if err := volume.CheckCopy(s.Volume, r.DataDir(), m.Size, 0, "mark "+label); err != nil {
		return Mark{}, err
	}
	if err := os.MkdirAll(r.marksDir(), 0o700); err != nil {
		return Mark{}, fmt.Errorf("mark instance %s: %w", r.Name, err)
	}
	made := r.newMarkDir(label)
	if err := s.Volume.Remove(ctx, made); err != nil { // of a mark that was never finished
		return Mark{}, err
	}
	how.Filter = server.CloneFilter
	if err := s.Volume.Snapshot(ctx, r.DataDir(), made, how); err != nil {
		return Mark{}, fmt.Errorf("mark instance %s: %w", r.Name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("mark instance %s: %w", r.Name, err), s.Volume.Remove(context.WithoutCancel(ctx), made))
		}
	}()
	record := made + ".json" // beforehand, while there is room for it
	if err := WriteJSON(record, m); err != nil {
		return Mark{}, err
	}
	undo := func() error { return os.Rename(r.MarkDir(label), made) }
	err = os.Rename(made, r.MarkDir(label))
	if errors.Is(err, os.ErrExist) {
		// The old one takes the place of the new one, where Tidy finds it.
		undo = func() error { return sys.Exchange(made, r.MarkDir(label)) }
		err = undo()
	}
	if err != nil {
		return Mark{}, errors.Join(err, os.Remove(record))
	}
	if err := os.Rename(record, r.markRecord(label)); err != nil {
		return Mark{}, errors.Join(err, undo(), os.Remove(record))
	}
	return m, s.Volume.Remove(context.WithoutCancel(ctx), made)
}

// DeleteMark removes a mark.
func (s *Store) DeleteMark(ctx context.Context, r *Record, label string) error {
	if err := r.checkMark(label); err != nil {
		return err
	}
	if err := s.Volume.Remove(ctx, r.MarkDir(label)); err != nil {
		return err
	}
	return s.Volume.Remove(context.WithoutCancel(ctx), r.markRecord(label))
}

// checkData refuses to take for data what was emptied: every data directory
// has the tables of the server itself.
func (r *Record) checkData() error {
	if !server.HoldsSystemTables(r.DataDir()) {
		return fmt.Errorf("%s holds no tables of the server: it was emptied, or is damaged\nhint: ramaria mark %s lists what ramaria rewind can put back", r.DataDir(), r.Name)
	}
	return nil
}

// Rewind puts the data directory back to a mark. stop, which is called when all is
// prepared, makes sure that no server runs on the data any more; an error of it ends
// the rewind, and nothing has changed. What the instance held is in the directory that
// is returned, "" if that was gone: for Unwind, should the server not start on the mark,
// or for Discard.
func (s *Store) Rewind(ctx context.Context, r *Record, label string, stop func() error) (old string, err error) {
	if err := r.checkMark(label); err != nil {
		return "", err
	}
	size, err := sys.DiskUsage(r.MarkDir(label))
	if err != nil {
		return "", fmt.Errorf("rewind instance %s: %w", r.Name, err)
	}
	if err := volume.CheckCopy(s.Volume, r.MarkDir(label), size, RewindRoom, "rewinding instance "+r.Name); err != nil {
		return "", err
	}
	next := r.nextDir() + rand.Text()
	if err := s.Volume.Clone(ctx, r.MarkDir(label), next); err != nil {
		return "", fmt.Errorf("rewind instance %s: %w", r.Name, err)
	}
	if err := stop(); err != nil {
		return "", errors.Join(err, s.Volume.Remove(context.WithoutCancel(ctx), next))
	}
	err = sys.Exchange(next, r.DataDir())
	if missing(err) { // it was removed: then there is nothing to give back
		return "", os.Rename(next, r.DataDir())
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("rewind instance %s: %w", r.Name, err), s.Volume.Remove(context.WithoutCancel(ctx), next))
	}
	return next, nil
}

// Discard removes what an instance held before a Rewind.
func (s *Store) Discard(ctx context.Context, old string) error {
	if old == "" {
		return nil
	}
	return s.Volume.Remove(ctx, old)
}

// Unwind takes a Rewind back, while no server runs.
func (s *Store) Unwind(ctx context.Context, r *Record, old string) error {
	if old == "" {
		return nil
	}
	if err := sys.Exchange(old, r.DataDir()); err != nil {
		return fmt.Errorf("put back the data of instance %s: %w", r.Name, err)
	}
	return s.Volume.Remove(ctx, old)
}

// Tidy removes what an interrupted branch, mark or rewind left, in the volume and in
// the instance's directory. The caller holds the instance: no other command marks or rewinds
// it.
func (s *Store) Tidy(ctx context.Context, r *Record) error {
	errs := []error{s.Volume.Sweep(ctx), s.Sweep(ctx)}
	for _, begin := range []string{r.nextDir(), r.newMarkDir("")} {
		half, err := sys.Glob(filepath.Dir(begin), filepath.Base(begin)+"*")
		errs = append(errs, err)
		for _, path := range half {
			errs = append(errs, s.Volume.Remove(ctx, path))
		}
	}
	return errors.Join(errs...)
}
