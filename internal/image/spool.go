package image

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// What begins the part of an image's id in the names of spools: of standard input, and of what came from elsewhere.
const (
	spoolID = "spool-"
	fetchID = "fetch-"
)

// spooled says that a path is a spool of this kind.
func spooled(path, kind string) bool {
	return strings.HasPrefix(filepath.Base(filepath.Dir(path)), ".build-"+kind)
}

// roomStep is after how many bytes a spool looks at the room again.
const roomStep = 8 << 20

// Spool is a copy of what can be read only once, and must be read twice: once to know it, once to load it.
type Spool struct {
	// Path is the copy. Its name gives the database its default name.
	Path string
	dir  string
	lock *sys.FileLock
}

// Spooled is what is to be copied.
type Spooled struct {
	// Name is the name of the file that comes from elsewhere; "" for standard input.
	Name string
	// Size is in bytes; less than 1 where it is not known.
	Size int64
	From io.Reader
}

// Spool copies to a file in the store, and leaves room in the volume.
func (s *Store) Spool(ctx context.Context, in Spooled) (_ *Spool, err error) {
	what, kind := in.Name, fetchID
	if what == "" {
		what, kind = "standard input", spoolID
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("spool %s: %w", what, err)
		}
	}()
	if err := os.MkdirAll(s.dir(), 0o711); err != nil {
		return nil, err
	}
	if err := volume.CheckRoom(s.Volume, max(in.Size, 0)+minRoom, what); err != nil {
		return nil, err
	}
	// Locked before it is there, as a build: a Sweep of another process never sees it free.
	id := kind + rand.Text()
	lock, err := sys.Lock(ctx, s.lockPath(id), sys.Exclusive, nil)
	if err != nil {
		return nil, err
	}
	dir := s.buildDir(id)
	sp := &Spool{Path: filepath.Join(dir, cmp.Or(in.Name, DefaultDatabase+".sql")), dir: dir, lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, sp.Close())
		}
	}()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(sp.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(&roomWriter{to: f, volume: s.Volume, what: what}, dump.Until(ctx, in.From))
	return sp, errors.Join(err, f.Close())
}

// Close removes the copy. It may be called more than once.
func (sp *Spool) Close() error {
	return errors.Join(os.RemoveAll(sp.dir), sp.lock.UnlockRemove())
}

// roomWriter writes to a volume until too little room is left there for others.
type roomWriter struct {
	to     io.Writer
	volume volume.Volume
	what   string
	// since is how much was written since the room was looked at, in bytes.
	since int
}

func (w *roomWriter) Write(p []byte) (int, error) {
	if w.since += len(p); w.since >= roomStep {
		w.since = 0
		if err := volume.CheckRoom(w.volume, minRoom, w.what); err != nil {
			return 0, err
		}
	}
	return w.to.Write(p)
}
