package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// PrepareService makes an instance ready for its supervisor, as a service does before that: it mounts the volume, and
// recovers the data, or makes it again.
func (e *Engine) PrepareService(ctx context.Context, name string) error {
	lock, err := e.lockName(ctx, name)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	r, err := e.Registry.Get(name)
	if err != nil {
		return err
	}
	state, err := r.State()
	if err != nil {
		return err
	}
	if state.Phase.Alive() {
		return fmt.Errorf("start instance %s: it runs already, outside of its service\nhint: ramaria down %s && systemctl start %s", name, name, service.Name(name))
	}
	if state.Phase == instance.Gone && r.Volume == string(volume.Disk) && !levelOf(r.Spec).Durable() {
		// It is on a disk that is not there, more likely than not.
		return fmt.Errorf("start instance %s: %w: nothing is in %s\nhint: mount what it lies on; ramaria up %s makes it again, from what it was made of", name, instance.ErrGone, r.Dir, name)
	}
	i, err := e.existing(ctx, UpRequest{Name: name, Spec: r.Spec})
	if err != nil {
		return err
	}
	if state, err = i.State(); err != nil {
		return err
	}
	return e.beforeStart(ctx, i, state, false)
}

// keptLogin is by what clients know an instance that is a service: it has the same account and port when it is made
// again after a reboot, as one that is durable has by its archive.
type keptLogin struct {
	Login dbconn.Login `json:"login"`
	Port  int          `json:"port"`
}

func (e *Engine) keptLoginPath(name string) string {
	return filepath.Join(e.Places.State, "services", name+".json")
}

// keepLogin remembers the account and the port of an instance. The file has a password, and is the user's alone.
func (e *Engine) keepLogin(name string) error {
	i, err := e.Registry.Open(name)
	if err != nil {
		return err
	}
	path := e.keptLoginPath(name)
	if err := sys.MakePrivate(filepath.Dir(path)); err != nil {
		return fmt.Errorf("remember account: %w", err)
	}
	return instance.WriteJSON(path, keptLogin{Login: i.Endpoint.Login, Port: i.Endpoint.Port})
}

// kept returns what keepLogin remembers, nil for nothing.
func (e *Engine) kept(name string) *keptLogin {
	var k keptLogin
	if err := instance.ReadJSON(e.keptLoginPath(name), &k); err != nil {
		return nil // of no service, or damaged: it gets new ones
	}
	return &k
}

func (e *Engine) forgetLogin(name string) error {
	path := e.keptLoginPath(name)
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	_ = os.Remove(filepath.Dir(path)) // if it was the last
	return err
}
