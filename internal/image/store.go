package image

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// DefaultLimitShare is the part of a volume that its images may take before the
// least recently used ones go, unless Store.Limit says otherwise.
const DefaultLimitShare = 0.5

// Store is the hot store: the images in one volume.
type Store struct {
	Volume volume.Volume
	Places host.Places
	// Memo remembers the hashes of sources.
	Memo memo.Store
	// Account is what servers run under; zero is the caller's own.
	Account server.Account
	// UID is the caller's, and RegistryID that of the registry whose volume it is.
	UID        int
	RegistryID string
	// Limit is how many bytes of images are kept; 0 is DefaultLimitShare of the volume.
	Limit int64
	// InUse reports whether an instance is a clone of the image; nil is never.
	InUse func(id string) bool
	// Instances gives access to the data of instances; nil is of none.
	Instances Instances
	// Last is called on the server of a build that copies an instance, before the accounts of instance and build go. Of
	// the users that it returns these accounts stay. nil does nothing.
	Last func(ctx context.Context, db *sql.DB) (keep []string, err error)
	// Fetch brings an image from elsewhere to the cold store: from the place that a URL names, or, where that is "",
	// from where images are looked for before they are built; ErrNotFound if it is not there. nil is from nowhere.
	Fetch func(ctx context.Context, url, id string) error
	// Talk is where progress and messages go; nil is nowhere. Terminal says that it
	// is one.
	Talk     io.Writer
	Terminal bool
}

func (s *Store) dir() string               { return filepath.Join(s.Volume.Dir(), "images") }
func (s *Store) imageDir(id string) string { return filepath.Join(s.dir(), id) }
func (s *Store) buildDir(id string) string { return filepath.Join(s.dir(), ".build-"+id) }
func (s *Store) lockPath(id string) string { return filepath.Join(s.dir(), ".lock-"+id) }

// Lease is an image that cannot be removed until Release.
type Lease struct {
	*Image
	lock *sys.FileLock
}

// Release lets the image go. It may be called more than once.
func (l *Lease) Release() {
	// Closing a descriptor that was only locked has no error worth telling.
	_ = l.lock.Unlock()
}

// Ensure returns the image of a recipe. If it is not there it is restored from where
// it was saved, or built. One process does so, however many ask; the others wait.
func (s *Store) Ensure(ctx context.Context, r Recipe) (*Lease, error) {
	r, err := s.fullID(r)
	if err != nil {
		return nil, err
	}
	if err := s.bring(ctx, r); err != nil {
		return nil, err
	}
	p, err := r.resolve(ctx, s.Memo)
	if err != nil {
		return nil, err
	}
	if len(p.inputs) == 1 && p.inputs[0].kind == kindImage {
		return s.Get(ctx, p.inputs[0].path, r.Server)
	}
	l, err := s.lease(ctx, p.id)
	if !errors.Is(err, ErrNotFound) {
		return l, err
	}
	return s.buildOnce(ctx, p)
}

// bring has the image that a recipe begins with come from the bucket that it is in, unless it is here.
func (s *Store) bring(ctx context.Context, r Recipe) error {
	if len(r.From) == 0 || r.From[0].Kind != FromBucket || s.Fetch == nil {
		return nil
	}
	url, id, err := SplitURL(r.From[0].Name)
	if err != nil {
		return err
	}
	if _, err := s.look(ctx, id); !errors.Is(err, ErrNotFound) {
		return err
	}
	return s.Fetch(ctx, url, id)
}

// fullID returns the recipe with the beginning of an image's id completed, since
// the id of what is made from it must not depend on how much was typed. An image
// can only come first.
func (s *Store) fullID(r Recipe) (Recipe, error) {
	if len(r.From) == 0 || !r.From[0].isPrefix() {
		return r, nil
	}
	if _, err := look(r.From); err != nil {
		return r, err
	}
	id, err := s.find(r.From[0].Name)
	if err != nil {
		return r, err
	}
	r.From = append([]Source{{FromImage, id}}, r.From[1:]...)
	return r, nil
}

// Get returns the image whose id begins with prefix, restored if it is only saved.
// It must have been made by the flavour and series of srv, if srv is not nil.
func (s *Store) Get(ctx context.Context, prefix string, srv *server.Server) (*Lease, error) {
	id, err := s.find(prefix)
	if err != nil {
		return nil, err
	}
	m, err := s.look(ctx, id)
	if errors.Is(err, ErrNotFound) { // removed just now
		return nil, s.notFound(id)
	}
	if err != nil {
		return nil, err
	}
	if srv != nil && (m.Flavour != srv.Flavour || m.Version.Series() != srv.Version.Series()) {
		return nil, fmt.Errorf("use image %s: it was made by %s %s, and the server is %s\nhint: --server %s:%s", m.ID, m.Flavour, m.Version, srv.Name(), m.Flavour, m.Version.Series())
	}
	l, err := s.lease(ctx, id)
	if errors.Is(err, ErrNotFound) {
		l, err = s.once(ctx, id, "another process is making image "+id, func() (*Lease, error) { return s.restore(ctx, id) })
	}
	if errors.Is(err, ErrNotFound) {
		return nil, s.notFound(id)
	}
	return l, err
}

func (s *Store) notFound(id string) error {
	return fmt.Errorf("use image %s: %w in the %s volume\nhint: ramaria image ls", id, ErrNotFound, s.Volume.Kind())
}

// find returns the id that begins with prefix, of an image that is hot or saved.
func (s *Store) find(prefix string) (string, error) {
	images, err := s.List()
	if err != nil {
		return "", err
	}
	saved, err := ColdIn(s.Places).List()
	if err != nil {
		return "", err
	}
	found := map[string]bool{}
	for _, m := range images {
		found[m.ID] = strings.HasPrefix(m.ID, prefix)
	}
	for _, v := range saved {
		found[v.ID] = strings.HasPrefix(v.ID, prefix)
	}
	maps.DeleteFunc(found, func(_ string, fits bool) bool { return !fits })
	switch {
	case len(found) == 0:
		return "", s.notFound(prefix)
	case len(found) > 1:
		return "", fmt.Errorf("use image %s: %d images begin like this\nhint: ramaria image ls", prefix, len(found))
	}
	for id := range found {
		prefix = id
	}
	return prefix, nil
}

// look returns what is known of an image that is hot or saved.
func (s *Store) look(ctx context.Context, id string) (*Image, error) {
	m, err := read(s.imageDir(id))
	if !errors.Is(err, ErrNotFound) {
		return m, err
	}
	v, err := ColdIn(s.Places).Get(id)
	if err != nil {
		return nil, err
	}
	return v.Image(ctx)
}

// lease locks an image against removal and marks it used. A process that looks whether it
// may be removed is waited for.
func (s *Store) lease(ctx context.Context, id string) (*Lease, error) {
	m, err := read(s.imageDir(id))
	if err != nil {
		return nil, err
	}
	lock, err := sys.Lock(ctx, m.usedPath(), sys.Shared, nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNotFound // it was removed
	}
	if err != nil {
		return nil, fmt.Errorf("use image %s: %w", id, err)
	}
	now := time.Now()
	if err := os.Chtimes(m.usedPath(), now, now); err != nil {
		return nil, errors.Join(fmt.Errorf("use image %s: %w", id, err), lock.Unlock())
	}
	return &Lease{Image: m, lock: lock}, nil
}

// List returns the images, the last used first.
func (s *Store) List() ([]*Image, error) {
	entries, err := os.ReadDir(s.dir())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var images []*Image
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		m, err := read(filepath.Join(s.dir(), e.Name()))
		if errors.Is(err, ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		images = append(images, m)
	}
	sort.Slice(images, func(i, j int) bool { return images[i].LastUse().After(images[j].LastUse()) })
	return images, nil
}

// errInUse says that an image must stay.
var errInUse = errors.New("it is in use")

// Remove removes an image, unless it is in use.
func (s *Store) Remove(ctx context.Context, id string) error {
	if err := s.checkUnused(id); err != nil {
		return err // without a lock that those who clone it would wait for
	}
	lock, err := sys.TryLock(filepath.Join(s.imageDir(id), "used"), sys.Exclusive)
	if errors.Is(err, sys.ErrLocked) {
		return fmt.Errorf("remove image %s: %w: it is being cloned", id, errInUse)
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove image %s: %w\nhint: ramaria image ls", id, ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("remove image %s: %w", id, err)
	}
	// A clone may have been made, and its lease let go, since.
	if err = s.checkUnused(id); err == nil {
		err = s.Volume.Remove(ctx, s.imageDir(id))
	}
	return errors.Join(err, lock.Unlock())
}

func (s *Store) checkUnused(id string) error {
	if s.InUse != nil && s.InUse(id) {
		return fmt.Errorf("remove image %s: %w by an instance\nhint: ramaria ls, then ramaria down NAME --rm", id, errInUse)
	}
	return nil
}

// limit returns how many bytes of images are kept.
func (s *Store) limit() (int64, error) {
	if s.Limit > 0 {
		return s.Limit, nil
	}
	u, err := s.Volume.Usage()
	if err != nil {
		return 0, err
	}
	return int64(float64(u.Size) * DefaultLimitShare), nil
}

// evict removes the least recently used images until the rest and need bytes more
// are within the limit, or nothing is left that may go.
func (s *Store) evict(ctx context.Context, need int64) error {
	limit, err := s.limit()
	if err != nil {
		return err
	}
	images, err := s.List()
	if err != nil {
		return err
	}
	var total int64
	for _, m := range images {
		total += m.Size
	}
	for i := len(images) - 1; i >= 0 && total+need > limit; i-- {
		err := s.Remove(ctx, images[i].ID)
		if errors.Is(err, errInUse) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		total -= images[i].Size
		s.say("removed image %s (%s), the least recently used: images may take %s\n", images[i].ID, images[i].Origin, volume.FormatBytes(limit))
	}
	return nil
}

// Sweep removes what killed builders and savers left behind.
func (s *Store) Sweep(ctx context.Context) error {
	return errors.Join(s.sweepHot(ctx), ColdIn(s.Places).Sweep())
}

func (s *Store) sweepHot(ctx context.Context) error {
	entries, err := os.ReadDir(s.dir())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep images: %w", err)
	}
	var errs []error
	for _, e := range entries {
		id, ok := strings.CutPrefix(e.Name(), ".lock-")
		if !ok {
			continue
		}
		lock, err := sys.TryLock(s.lockPath(id), sys.Exclusive)
		if errors.Is(err, sys.ErrLocked) {
			continue // another process builds
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep images: %w", err))
			continue
		}
		errs = append(errs, s.Volume.Remove(ctx, s.buildDir(id)), s.removeRunDir(s.buildDir(id)), lock.UnlockRemove())
	}
	return errors.Join(errs...)
}

func (s *Store) runDir(dir string) string { return host.RunDir(dir, s.UID, s.RegistryID) }

// removeRunDir removes the socket directory of dir if it lies elsewhere.
func (s *Store) removeRunDir(dir string) error {
	run := s.runDir(dir)
	if filepath.Dir(run) == dir {
		return nil
	}
	return os.RemoveAll(run)
}

func (s *Store) say(format string, args ...any) {
	if s.Talk != nil {
		io.WriteString(s.Talk, progress.Plain(fmt.Sprintf(format, args...))) //nolint:errcheck // talk
	}
}
