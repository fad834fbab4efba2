package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// adoptionNote is what there is to know to give a service back. It is in the state directory.
type adoptionNote struct {
	Service string         `json:"service,omitempty"`
	DataDir string         `json:"data_dir"`
	Owner   server.Account `json:"owner"`
	Mode    os.FileMode    `json:"mode"`
	Began   time.Time      `json:"began"`
	// Returned says that the directory is the service's again, whose server may have started on it, and Before where
	// the data of before the adoption is, "" for there.
	Returned bool   `json:"returned,omitempty"`
	Before   string `json:"before,omitempty"`
}

func (e *Engine) adoptionPath(name string) string {
	return filepath.Join(e.Places.State, "adopted", name+".json")
}

func (e *Engine) putAdoption(name string, n adoptionNote) error {
	path := e.adoptionPath(name)
	if err := sys.MakePrivate(filepath.Dir(path)); err != nil {
		return fmt.Errorf("remember what was adopted: %w", err)
	}
	return instance.WriteDurableJSON(path, n)
}

// adoptionOf is what an instance stands in for, nil for nothing.
func (e *Engine) adoptionOf(name string) (*adoptionNote, error) {
	var n adoptionNote
	err := instance.ReadJSON(e.adoptionPath(name), &n)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return &n, err
}

func (e *Engine) forgetAdoption(name string) error {
	path := e.adoptionPath(name)
	err := os.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	_ = os.Remove(filepath.Dir(path)) // if it was the last
	return err
}

// ofDir notes whose the directory is.
func (n *adoptionNote) ofDir() error {
	fi, err := os.Stat(n.DataDir)
	if err != nil {
		return err
	}
	n.Mode = fi.Mode().Perm()
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		n.Owner = server.Account{UID: int(st.Uid), GID: int(st.Gid)}
	}
	return nil
}

// adoptedFrom begins the origin of what was adopted, before its directory.
const adoptedFrom = "adopted from "

// tryAdoptionLock is held by whoever adopts something.
func (e *Engine) tryAdoptionLock(p *AdoptPlan) (*sys.FileLock, error) {
	dir := filepath.Dir(e.adoptionPath(p.Instance))
	if err := sys.MakePrivate(dir); err != nil {
		return nil, fmt.Errorf("adopt %s: %w", p.what(), err)
	}
	lock, err := sys.TryLock(filepath.Join(dir, ".lock"), sys.Exclusive)
	if errors.Is(err, sys.ErrLocked) {
		err = RequestError{errors.New("another command adopts something at the moment")}
	}
	if err != nil {
		return nil, fmt.Errorf("adopt %s: %w", p.what(), err)
	}
	return lock, nil
}

// cutOff explains what a command left that was killed before its instance stood in for what was copied.
func (e *Engine) cutOff(p *AdoptPlan) error {
	i, err := e.Registry.Open(p.Instance)
	if err != nil || !strings.HasPrefix(i.Origin, adoptedFrom) {
		return nil //nolint:nilerr // the name is free, or of something else, which is found out later
	}
	if note, err := e.adoptionOf(p.Instance); err != nil || note != nil {
		return err
	}
	lock, err := e.tryAdoptionLock(p)
	if err != nil {
		return err
	}
	what := strings.TrimPrefix(i.Origin, adoptedFrom)
	return errors.Join(RequestError{fmt.Errorf("adopt %s: an adoption was cut off, and left instance %s, a copy that nobody has written to\nhint: ramaria rm %[2]s --with-archive removes it; systemctl start starts the service again, if it does not run", what, i.Name)}, lock.Unlock())
}

// refuseAdopted refuses to do something to an instance that a service depends on.
func (e *Engine) refuseAdopted(what, name string) error {
	n, err := e.adoptionOf(name)
	if err != nil || n == nil {
		return err
	}
	of := n.Service
	if of == "" {
		of = n.DataDir
	}
	return RequestError{fmt.Errorf("%s instance %s: it stands in for %s\nhint: ramaria adopt --undo %[2]s gives that back, with the data as it is now", what, name, of)}
}
