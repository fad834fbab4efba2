package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// adoptionNote is what there is to know to give a service back. It is in the state directory.
type adoptionNote struct {
	Service string         `json:"service,omitempty"`
	DataDir string         `json:"data_dir"`
	Owner   server.Account `json:"owner"`
	Mode    os.FileMode    `json:"mode"`
	Began   time.Time      `json:"began"`
}

func (e *Engine) adoptionPath(name string) string {
	return filepath.Join(e.Places.State, "adopted", name+".json")
}

func (e *Engine) putAdoption(name string, n adoptionNote) error {
	path := e.adoptionPath(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("remember what was adopted: %w", err)
	}
	if err := instance.WriteJSON(path, n); err != nil {
		return err
	}
	return sys.SyncFS(filepath.Dir(path))
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

// refuseAdopted refuses to remove an instance that a service depends on.
func (e *Engine) refuseAdopted(name string) error {
	n, err := e.adoptionOf(name)
	if err != nil || n == nil {
		return err
	}
	of := n.Service
	if of == "" {
		of = n.DataDir
	}
	return RequestError{fmt.Errorf("remove instance %s: it stands in for %s\nhint: ramaria adopt --undo %[1]s gives that back, with the data as it is now", name, of)}
}

// UnadoptRequest asks to give back what was adopted.
type UnadoptRequest struct {
	// Name is that of the instance, or of the service.
	Name string
	// AsItWas says to leave the old data directory as it is: what was written since the adoption stays in the archive.
	AsItWas bool
}

// Unadopted says what was given back.
type Unadopted struct {
	Instance, Service, DataDir string
	// Before is the directory of the data as it was before the adoption; "" where it is DataDir again.
	Before string
	// Archive is where all that was written since is, "" for an instance that was not durable.
	Archive string
	// Down is how long nothing answered.
	Down time.Duration
}

// Unadopt ends the instance and gives the service back. With the data as it is now that goes into a new directory, which
// takes the place of the old one; that one stays beside it.
func (e *Engine) Unadopt(ctx context.Context, q UnadoptRequest) (out Unadopted, err error) {
	name, n, err := e.findAdoption(q.Name)
	if err != nil {
		return out, err
	}
	out = Unadopted{Instance: name, Service: n.Service, DataDir: n.DataDir}
	r, err := e.Registry.Get(name)
	if err != nil {
		return out, err
	}
	var f *service.Foreign
	if n.Service != "" {
		if f, err = service.System.Foreign(ctx, n.Service); err != nil {
			return out, err
		}
	}
	if !q.AsItWas {
		if err := e.checkExchange(name, n.DataDir); err != nil {
			return out, err
		}
	}
	out.Archive = e.archiveDir(name, r.Spec)
	began := time.Now()
	if _, err := e.RemoveService(ctx, name); err != nil {
		return out, err
	}
	if err := e.Down(ctx, DownRequest{Name: name}); err != nil {
		return out, err
	}
	if !q.AsItWas {
		if out.Before, err = e.exchange(ctx, name, n); err != nil {
			return out, fmt.Errorf("give %s back: %w\nhint: ramaria service install %s goes on with the instance, whose data is as it was", n.DataDir, err, name)
		}
	}
	if f != nil {
		if err := errors.Join(f.EndStandIn(ctx), f.Start(ctx)); err != nil {
			return out, fmt.Errorf("give %s back: %w\nhint: journalctl -u %[1]s; the instance is stopped, with its data", n.Service, err)
		}
	}
	out.Down = time.Since(began)
	if err := e.forgetAdoption(name); err != nil {
		return out, err
	}
	return out, e.Down(ctx, DownRequest{Name: name, Remove: true})
}

// findAdoption finds what was adopted, by the name of the instance or of the service.
func (e *Engine) findAdoption(name string) (string, *adoptionNote, error) {
	if n, err := e.adoptionOf(name); err != nil || n != nil {
		return name, n, err
	}
	all, err := sys.Glob(filepath.Dir(e.adoptionPath("x")), "*.json")
	if err != nil {
		return "", nil, err
	}
	for _, path := range all {
		of := filepath.Base(path[:len(path)-len(".json")])
		if n, err := e.adoptionOf(of); err == nil && n != nil && (n.Service == name || n.Service == name+".service" || n.DataDir == name) {
			return of, n, nil
		}
	}
	return "", nil, fmt.Errorf("undo the adoption of %s: %w that was adopted\nhint: ramaria ls shows what there is", name, instance.ErrNotFound)
}

// checkExchange refuses early what exchange cannot do.
func (e *Engine) checkExchange(name, dir string) error {
	mounted, err := sys.Mounted(dir)
	if err == nil && mounted {
		err = RequestError{fmt.Errorf("put the data of now in the place of %s: a disk is mounted there\nhint: ramaria export %s DIR, on that disk, and then ramaria adopt --undo %[2]s --as-it-was", dir, name)}
	}
	return err
}

// exchange puts the data as it is now in the place of the old directory, which gets the name that is returned.
func (e *Engine) exchange(ctx context.Context, name string, n *adoptionNote) (before string, err error) {
	stamp := time.Now().Format("20060102-150405")
	fresh := n.DataDir + ".ramaria-" + stamp
	if _, err := e.Export(ctx, ExportRequest{Name: name, Dir: fresh, Owner: strconv.Itoa(n.Owner.UID), AsIs: true}); err != nil {
		return "", err
	}
	if err := os.Chmod(fresh, n.Mode); err != nil { //nolint:forbidigo // made just now, beside the directory that it replaces
		return "", err
	}
	before = n.DataDir + ".before-" + stamp
	if err := os.Rename(n.DataDir, before); err != nil {
		return "", err
	}
	if err := os.Rename(fresh, n.DataDir); err != nil {
		return "", errors.Join(err, os.Rename(before, n.DataDir))
	}
	return before, sys.SyncFS(n.DataDir)
}
