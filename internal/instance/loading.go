package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// Loading is a load of dumps into an instance. The command writes it to the state directory and holds
// a lock on the file while it loads, so that one that was killed is known by it.
type Loading struct {
	Database string    `json:"database"`
	Dumps    []string  `json:"dumps"`
	Began    time.Time `json:"began"`

	path string
	lock *sys.FileLock
}

func (g Registry) loadings(name string) ([]string, error) {
	return sys.Glob(g.Dir, name+".loading-*")
}

// BeginLoading writes down that a load into the instance has begun.
func (g Registry) BeginLoading(name string, l Loading) (*Loading, error) {
	l.path = filepath.Join(g.Dir, fmt.Sprintf("%s.loading-%d-%d", name, os.Getpid(), l.Began.UnixNano()))
	text, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("note the load: %w", err)
	}
	if l.lock, err = sys.TryLock(l.path, sys.Exclusive); err != nil {
		return nil, fmt.Errorf("note the load: %w", err)
	}
	if err := os.WriteFile(l.path, text, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("note the load: %w", err), l.lock.UnlockRemove())
	}
	return &l, nil
}

// End ends a load that has left every table with its keys, and rows that its error tells of.
func (l *Loading) End() error { return l.lock.UnlockRemove() }

// Leave ends a load after which it is not known what is there: Unfinished tells of it.
func (l *Loading) Leave() error { return l.lock.Unlock() }

// Unfinished returns the loads into an instance that were killed, or lost its server. The instance is
// the present one, and its databases are those of its data directory, if it runs.
func (r *Record) Unfinished(g Registry, runs bool) ([]Loading, error) {
	paths, err := g.loadings(r.Name)
	if err != nil {
		return nil, fmt.Errorf("list loads: %w", err)
	}
	var list []Loading
	for _, path := range paths {
		l := Loading{path: path}
		if held, err := sys.Held(path); err != nil || held {
			continue // it is loading, or has just ended
		}
		if err := ReadJSON(path, &l); err != nil || l.Began.Before(r.Created) {
			continue // killed before it did anything, or of another instance of that name
		}
		if runs && r.hasNoDatabase(l.Database) {
			_ = os.Remove(path) // it is told of again where that fails
			continue
		}
		list = append(list, l)
	}
	return list, nil
}

// hasNoDatabase reports whether a database has no directory. Of a name that servers write otherwise
// there, it is not known.
func (r *Record) hasNoDatabase(name string) bool {
	if strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) {
		return false
	}
	for _, name := range []string{name, strings.ToLower(name)} {
		if _, err := os.Lstat(filepath.Join(r.DataDir(), name)); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

// ForgetUnfinished forgets loads into a database that has been loaded as a whole since.
func (r *Record) ForgetUnfinished(g Registry, database string) error {
	list, err := r.Unfinished(g, true)
	for _, l := range list {
		if l.Database == database {
			if gone := os.Remove(l.path); !missing(gone) {
				err = errors.Join(err, gone)
			}
		}
	}
	return err
}

// deleteLoadings forgets all.
func (g Registry) deleteLoadings(name string) error {
	paths, err := g.loadings(name)
	for _, path := range paths {
		if gone := os.Remove(path); !missing(gone) {
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return fmt.Errorf("forget loads: %w", err)
	}
	return nil
}
