package durable

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Stock is a data directory of another service, which was shut down, and of which an instance has a copy.
type Stock struct {
	Dir string
	// Size is what of it is copied, in bytes.
	Size int64
	// GTIDState is the state of a MariaDB server's log at its end, and Outside and BesideLog are as those of
	// archive.Base.
	GTIDState          string
	Outside, BesideLog []string
	// sum is that of the directory when it was sealed.
	sum string
}

// Seal notes how the directory is, whose server has ended, before the last of it is copied.
func (s *Stock) Seal() (err error) {
	s.sum, err = sumOfDir(s.Dir)
	return err
}

// Unchanged is an error if a server has run on the directory since it was sealed: what that has written is in no copy.
func (s *Stock) Unchanged() error {
	sum, err := sumOfDir(s.Dir)
	if err == nil && sum != s.sum {
		err = fmt.Errorf("a server has run on %s while it was copied", s.Dir)
	}
	return err
}

// BeginWithDir begins an epoch as Begin does, with the data directory that the instance is a copy of as the base: that
// takes no time, whatever its size. Nothing may be changed there, since it was sealed, until there is another base.
func (a *Archive) BeginWithDir(i *instance.Instance, s Stock) error {
	failed := func(err error) error { return fmt.Errorf("take %s for a base backup: %w", s.Dir, err) }
	if err := s.Unchanged(); err != nil {
		return failed(err)
	}
	if err := sys.SyncTree(s.Dir); err != nil {
		return failed(err)
	}
	return a.beginWith(i, archive.Base{
		ID: max(1, a.Manifest.NextBase), Time: time.Now(), Size: s.Size, Dir: s.Dir, DirSum: s.sum,
		GTIDState: s.GTIDState, Outside: s.Outside, BesideLog: s.BesideLog,
	})
}

// Ask notes what of the data is outside of the promise, while the service's server runs on it.
func (s *Stock) Ask(ctx context.Context, db *sql.DB, flavour server.Flavour) (err error) {
	s.Outside, s.BesideLog, err = askOutside(ctx, db, flavour, s.Dir)
	return err
}

// StockFilter is what of such a directory is not copied: logs, and what is of the process. The names of its logs are
// those of its own service, and more of its files may come.
func StockFilter(dir string) (sys.Filter, error) {
	logs, err := server.Logs(dir)
	if err != nil {
		return nil, err
	}
	return func(rel string, kind fs.FileMode) (bool, error) {
		skip, err := server.MoveFilter(rel, kind)
		ofLog := kind.IsRegular() && slices.ContainsFunc(logs, func(l server.IndexedLog) bool { return strings.HasPrefix(rel, l.Base+".") })
		return skip || ofLog, err
	}, nil
}

// sumOfDir is a sum of what a server changes of a data directory when it runs on it: names, sizes, times of files.
func sumOfDir(dir string) (string, error) {
	filter, err := StockFilter(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if skip, err := filter(rel, d.Type()); skip || err != nil {
			return err
		}
		fi, err := d.Info()
		switch {
		case err != nil:
			return err
		case fi.Mode().IsRegular():
			fmt.Fprintf(h, "%q %d %d\n", rel, fi.Size(), fi.ModTime().UnixNano())
		case fi.IsDir():
			fmt.Fprintf(h, "%q\n", rel)
		}
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// restoreDir is restore for a base that is a directory.
func restoreDir(ctx context.Context, b archive.Base, i *instance.Instance) error {
	failed := func(err error) error { return fmt.Errorf("restore base %d, which is %s: %w", b.ID, b.Dir, err) }
	sum, err := sumOfDir(b.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return failed(fmt.Errorf("%w\nhint: put that directory back, as it was when the instance was made of it", err))
	}
	if err != nil {
		return failed(err)
	}
	if sum != b.DirSum {
		return failed(errors.New("it was changed since the instance was made of it: a server ran on it?\nhint: put it back as it was, with the times of its files"))
	}
	filter, err := StockFilter(b.Dir)
	if err != nil {
		return failed(err)
	}
	if err := sys.CopyTree(ctx, b.Dir, i.DataDir(), filter); err != nil {
		return failed(err)
	}
	if i.Account != (server.Account{}) {
		err = i.Account.GiveTree(i.DataDir())
	}
	if err := errors.Join(err, os.Chmod(i.DataDir(), 0o700)); err != nil { //nolint:forbidigo // made just now, in a directory of ours
		return failed(err)
	}
	return nil
}
