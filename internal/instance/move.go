package instance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Names in an instance's directory that clients know. They stay where they are when it moves.
const (
	clientName = "client"
	apiName    = "api.sock"
	runName    = "run" // and names that begin with it
)

// Moved returns the instance as it will be in the volume of s, which spec asked for. Sockets stay where they are.
func (s *Store) Moved(i *Instance, spec volume.Spec) *Instance {
	next := *i
	next.Volume, next.Spec.Volume, next.Dir, next.Front = string(spec.Kind), spec.String(), s.dir(i.Name), i.front()
	if next.Front == next.Dir {
		next.Front = ""
	}
	return &next
}

// Receive makes the directory for an instance that comes from another volume, as Moved says it, and takes the lock in
// it: what has no record and no lock there is what a killed move left. The caller holds the name.
func (s *Store) Receive(ctx context.Context, next *Instance) (_ *sys.FileLock, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("make directory of instance %s: %w", next.Name, err)
		}
	}()
	if err := checkFree(next.Dir); err != nil {
		return nil, err
	}
	if err := s.clearPlace(ctx, next.Dir, next.Front == ""); err != nil {
		return nil, err
	}
	if err := os.Mkdir(next.Dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := os.Chmod(next.Dir, 0o711); err != nil { //nolint:forbidigo // a directory of ours, in a directory of ours
		return nil, err
	}
	return sys.TryLock(next.LockPath(), sys.Exclusive)
}

// clearPlace removes what is in a directory of an instance, and the directory, or, if it is a front, all but what
// clients know.
func (s *Store) clearPlace(ctx context.Context, dir string, front bool) error {
	if !front {
		return s.Volume.Remove(ctx, dir)
	}
	entries, err := os.ReadDir(dir)
	if missing(err) {
		return nil
	}
	for _, e := range entries {
		if !ofFront(e.Name()) {
			err = errors.Join(err, s.Volume.Remove(ctx, filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// ofFront reports whether a name in an instance's directory is one that clients know.
func ofFront(name string) bool {
	return name == clientName || name == apiName || strings.HasPrefix(name, runName)
}

// Leave removes what there is of an instance in the volume of s, which is not its place, or not any more. The caller
// holds the name, and no supervisor lives there.
func (s *Store) Leave(ctx context.Context, r *Record) error {
	dir := s.dir(r.Name)
	if dir == r.Dir {
		return nil
	}
	return s.clearPlace(ctx, dir, dir == r.Front)
}

// ReapLeft removes what a killed move left of an instance in the volume of s, where its record does not have it: a half
// copy, or what it had before. It does nothing, and takes no time, where nothing lies there.
func (s *Store) ReapLeft(ctx context.Context, r *Record) error {
	if r.Strayed || !s.left(r) {
		return nil
	}
	lock, err := sys.TryLock(filepath.Join(s.Registry.Dir, r.Name+".lock"), sys.Exclusive)
	if errors.Is(err, sys.ErrLocked) {
		return nil // it may be on its way
	}
	if err != nil {
		return fmt.Errorf("reap instance %s: %w", r.Name, err)
	}
	return errors.Join(s.reapLeft(ctx, r.Name), lock.Unlock())
}

func (s *Store) reapLeft(ctx context.Context, name string) error {
	r, err := s.Registry.Get(name) // under the lock things may have changed
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || !s.left(r) || errors.Is(checkFree(s.dir(name)), ErrHeld) {
		return err
	}
	if err := s.Leave(ctx, r); err != nil {
		return fmt.Errorf("reap instance %s: %w", name, err)
	}
	return nil
}

// left reports whether there is something of an instance in the volume of s that does not belong there.
func (s *Store) left(r *Record) bool {
	dir := s.dir(r.Name)
	if dir == r.Dir {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false // most likely there is none
	}
	if dir != r.Front {
		return true
	}
	for _, e := range entries {
		if !ofFront(e.Name()) {
			return true
		}
	}
	return false
}

// BringHome lets the sockets of an instance lie with its data again, if the volume in which they stayed when it moved
// is gone, or is to go, as away says. No server of it runs.
func (s *Store) BringHome(i *Instance, away bool) error {
	if i.Front == "" {
		return nil
	}
	if _, err := os.Lstat(i.Front); !away && !missing(err) {
		return err
	}
	if err := s.removeOwn(i.Front); err != nil {
		return err
	}
	i.Front, i.RunDir = "", s.Registry.runDir(i.Dir, s.UID)
	i.Endpoint.Socket = i.Socket()
	return errors.Join(i.Save(), s.Registry.Put(&i.Record))
}

// Carriage copies the files of an instance to where it moves. Until the record says so, the instance is where it was.
type Carriage struct {
	from, to *Instance
	trees    []*sys.LiveCopy
}

// carriedTrees are the directories that move, and carriedFiles the files.
var (
	carriedTrees = []string{"data", "files", "marks"}
	carriedFiles = []string{"pool.json", "buckets.json", keysName, "server.log", "server.log.old", "supervisor.log"}
)

// Carry returns the copying of from to what Moved says of it, in a directory that Receive made. Nothing is copied yet.
func Carry(from, to *Instance) (*Carriage, error) {
	c := &Carriage{from: from, to: to}
	if !server.HoldsSystemTables(from.DataDir()) {
		return nil, from.checkData()
	}
	for _, name := range carriedTrees {
		src := filepath.Join(from.Dir, name)
		if _, err := os.Lstat(src); missing(err) {
			continue
		}
		var filter sys.Filter
		if name == "data" {
			filter = server.MoveFilter
		}
		tree := sys.NewLiveCopy(src, filepath.Join(to.Dir, name), filter)
		tree.Differences()
		c.trees = append(c.trees, tree)
	}
	return c, nil
}

// Round makes the copy what the files are now, beside a server that writes to them; see sys.LiveCopy.
func (c *Carriage) Round(ctx context.Context) error {
	for _, tree := range c.trees {
		if err := tree.Round(ctx); err != nil {
			return fmt.Errorf("move instance %s: %w", c.from.Name, err)
		}
	}
	return nil
}

// Settled says that no write is under way that began before; others may begin. It waits for a moment, lest what was
// written last is read once more at the end.
func (c *Carriage) Settled() {
	time.Sleep(2 * sys.ShortRest)
	for _, tree := range c.trees {
		tree.Settled()
	}
}

// Read is how many bytes of the files were read.
func (c *Carriage) Read() (n int64) {
	for _, tree := range c.trees {
		n += tree.Read()
	}
	return n
}

// Last copies what is left, with no server running, and writes what the instance is there: only the record is missing.
func (c *Carriage) Last(ctx context.Context) error {
	for _, tree := range c.trees {
		if err := errors.Join(tree.LastRound(ctx), tree.Done()); err != nil {
			return fmt.Errorf("move instance %s: %w", c.from.Name, err)
		}
	}
	for _, name := range carriedFiles {
		if err := copySmall(filepath.Join(c.from.Dir, name), filepath.Join(c.to.Dir, name)); err != nil {
			return fmt.Errorf("move instance %s: %w", c.from.Name, err)
		}
	}
	return errors.Join(c.to.Save(), c.to.SaveState(State{Phase: Stopped, Since: time.Now()}))
}

// copySmall copies a file of ours that is there.
func copySmall(from, to string) (err error) {
	in, err := os.Open(from)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
