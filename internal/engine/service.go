package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/service"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// ServiceInstalled describes a service that was installed.
type ServiceInstalled struct {
	Unit, File string
	// URL is the instance's DSN.
	URL string
}

// manager is the service manager for instances of this user.
func (e *Engine) manager() (service.Manager, error) {
	if e.UID == 0 {
		return service.System, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return service.Manager{}, fmt.Errorf("find directory of units: %w\nhint: set HOME", err)
	}
	return service.OfUser(dir), nil
}

// serviceOf returns the unit of an instance, nil if it has none.
func (e *Engine) serviceOf(name string) (*service.Installed, error) {
	m, err := e.manager()
	if err != nil {
		return nil, nil //nolint:nilerr // a user without a home has no units
	}
	u, err := m.Find(name, e.Places.State)
	if errors.Is(err, service.ErrForeign) {
		return nil, nil // of another home
	}
	return u, err
}

// ServiceUnit returns the text of the unit of an instance, as InstallService writes it.
func (e *Engine) ServiceUnit(name string) (string, error) {
	r, err := e.serviceable(name)
	if err != nil {
		return "", err
	}
	u, err := e.unit(r)
	return u.Text(), err
}

// InstallService puts an instance under systemd, which starts it now and at every boot. One that runs is restarted for
// that. It may be called again, for a unit that is out of date. When it fails, the instance is as it was.
func (e *Engine) InstallService(ctx context.Context, name string) (out ServiceInstalled, err error) {
	r, err := e.serviceable(name)
	if err != nil {
		return out, err
	}
	m, err := e.manager()
	if err != nil {
		return out, err
	}
	before, err := m.Find(name, e.Places.State)
	if err != nil {
		return out, fmt.Errorf("%w\nhint: rename the instance by ramaria branch, or remove that file", err)
	}
	if err := m.Check(ctx); err != nil {
		return out, fmt.Errorf("install service of instance %s: %w\nhint: ramaria service install %s --print shows the unit, for a machine where it does", name, err, name)
	}
	u, err := e.unit(r)
	if err != nil {
		return out, err
	}
	if u.Lingers, err = e.linger(ctx, before); err != nil {
		return out, err
	}
	state, err := r.State()
	if err != nil {
		return out, err
	}
	if state.Phase == instance.Gone { // what it is made from may need the terminal
		if _, err := e.Up(ctx, UpRequest{Name: name, Spec: r.Spec}); err != nil {
			return out, err
		}
	}
	if err := e.keepLogin(name); err != nil {
		return out, err
	}
	if err := m.Install(ctx, u); err != nil {
		return out, err
	}
	installed, err := m.Find(name, e.Places.State)
	if err != nil {
		return out, err
	}
	if err := e.takeOver(ctx, installed); err != nil {
		clean := context.WithoutCancel(ctx)
		if before == nil {
			err = errors.Join(err, e.uninstall(clean, installed))
		}
		if state.Phase.Alive() {
			_, back := e.Up(clean, UpRequest{Name: name, Spec: r.Spec})
			err = errors.Join(err, back)
		}
		return out, err
	}
	e.noteService(r)
	i, err := e.Registry.Open(name)
	if err != nil {
		return out, err
	}
	return ServiceInstalled{Unit: service.Name(name), File: m.Path(name), URL: i.Endpoint.URL()}, nil
}

// serviceable returns the record of an instance that can be a service.
func (e *Engine) serviceable(name string) (*instance.Record, error) {
	r, err := e.Registry.Get(name)
	if err == nil && r.Passing {
		err = fmt.Errorf("install service of instance %s: it belongs to a `ramaria run`", name)
	}
	if err == nil {
		err = e.refuseMember("install service of", r, "none yet: ramaria cluster up "+r.Spec.Cluster+" starts it after a boot")
	}
	return r, err
}

// takeOver has the service run the instance: what runs now is shut down before.
func (e *Engine) takeOver(ctx context.Context, u *service.Installed) error {
	if err := e.Down(ctx, DownRequest{Name: u.Instance}); err != nil {
		return err
	}
	return e.startService(ctx, u)
}

// refreshUnit writes the unit of an instance again if it is out of date, as after the archive was moved. The program
// stays, whichever this one is.
func (e *Engine) refreshUnit(ctx context.Context, u *service.Installed) error {
	r, err := e.Registry.Get(u.Instance)
	if err != nil {
		return err
	}
	now, err := e.unit(r)
	if err != nil {
		return err
	}
	now.Lingers = u.Lingers
	if _, err := os.Stat(u.Program); err == nil {
		now.Program = u.Program
	}
	if now.Text() == u.Text {
		return nil
	}
	return u.Manager.Install(ctx, now)
}

// startService starts an instance by its service, and explains what keeps it from that.
func (e *Engine) startService(ctx context.Context, u *service.Installed) error {
	if err := e.refreshUnit(ctx, u); err != nil {
		return err
	}
	told := e.tellStart(&instance.Record{Name: u.Instance})
	err := u.Start(ctx)
	told()
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	journal := "journalctl -u "
	if u.Manager.User {
		journal = "journalctl --user -u "
	}
	cause := err.Error()
	if said := u.Said(ctx); said != "" {
		cause = said
	}
	if r, err := e.Registry.Get(u.Instance); err == nil {
		if state, err := r.State(); err == nil && state.Reason != "" {
			cause = state.Reason
		}
	}
	return fmt.Errorf("start instance %s by its service: %s\nhint: %s%s -e has more", u.Instance, cause, journal, service.Name(u.Instance))
}

// RemoveService takes the service of an instance away, which stops it. It reports whether there was one. One that stands in
// for another is not removed: see Unadopt.
func (e *Engine) RemoveService(ctx context.Context, name string) (bool, error) {
	if err := instance.CheckName(name); err != nil {
		return false, RequestError{err}
	}
	if err := e.refuseAdopted("remove the service of", name); err != nil {
		return false, err
	}
	return e.dropService(ctx, name)
}

func (e *Engine) dropService(ctx context.Context, name string) (bool, error) {
	u, err := e.serviceOf(name)
	if err != nil || u == nil {
		return false, err
	}
	return true, e.uninstall(ctx, u)
}

// uninstall removes a unit, and what came with it.
func (e *Engine) uninstall(ctx context.Context, u *service.Installed) error {
	if err := errors.Join(u.Remove(ctx), e.forgetLogin(u.Instance)); err != nil {
		return err
	}
	if !u.Lingers {
		return nil
	}
	if others, err := u.Manager.List(e.Places.State); err != nil || len(others) > 0 {
		return err
	}
	name, err := e.userName()
	if err != nil {
		return err
	}
	return service.Linger(ctx, name, false)
}

// linger sees to it that services of an ordinary user run from boot on. It reports whether it had to switch that on,
// now or for the unit that was there before.
func (e *Engine) linger(ctx context.Context, before *service.Installed) (bool, error) {
	if e.UID == 0 {
		return false, nil
	}
	name, err := e.userName()
	if err != nil {
		return false, err
	}
	if service.Lingers(name) {
		return before != nil && before.Lingers, nil
	}
	if err := service.Linger(ctx, name, true); err != nil {
		e.note("note: %s: the service starts when you log in and stops when you log out\nhint: sudo loginctl enable-linger %s", err, name)
		return false, nil
	}
	return true, nil
}

func (e *Engine) userName() (string, error) {
	u, err := user.LookupId(strconv.Itoa(e.UID))
	if err != nil {
		return "", fmt.Errorf("find name of user: %w", err)
	}
	return u.Username, nil
}

// unit is the unit of an instance.
func (e *Engine) unit(r *instance.Record) (service.Unit, error) {
	u := service.Unit{
		Instance: r.Name, State: e.Places.State, User: e.UID != 0, Program: supervisor.Self(), Home: e.Home,
		Server: "a server", Volume: r.Volume,
		Needs:  []string{e.Places.State, e.Places.Cache},
		Writes: []string{e.Places.State, filepath.Dir(e.Places.Disk), "/dev/shm", "/run/ramaria", "/tmp", "/var/tmp"},
	}
	if i, err := e.Registry.Open(r.Name); err == nil { // else it is gone
		u.Server = i.Server.Name()
		u.Needs = append(u.Needs, i.Server.Dir)
	}
	if n, err := e.adoptionOf(r.Name); err == nil && n != nil {
		u.StandsInFor = n.Service
	}
	if volume.Kind(r.Volume).Mounted() {
		u.MountedAt = filepath.Dir(filepath.Dir(r.Dir))
	} else if r.Volume == string(volume.Disk) {
		u.Needs = append(u.Needs, r.Dir)
	}
	if dir := e.archiveDir(r.Name, r.Spec); dir != "" {
		u.Needs, u.Writes = append(u.Needs, dir), append(u.Writes, dir)
		u.Network = len(r.Spec.Buckets()) > 0
	} else {
		for _, s := range r.Spec.From { // it is made from them after a reboot
			if s.Kind == image.FromPath {
				u.Needs = append(u.Needs, s.Name)
			}
			u.Network = u.Network || s.Kind == image.FromURL
		}
	}
	if filepath.IsAbs(r.Spec.TmpDir) {
		u.Needs, u.Writes = append(u.Needs, r.Spec.TmpDir), append(u.Writes, r.Spec.TmpDir)
	}
	if r.Spec.Socket != "" {
		u.Writes = append(u.Writes, filepath.Dir(r.Spec.Socket))
	}
	for name, value := range r.Spec.Set {
		if filepath.IsAbs(value) && server.WrittenBySet(name) {
			u.Writes = append(u.Writes, filepath.Dir(value))
		}
	}
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		if value := os.Getenv(name); value != "" && e.Home == "" && e.UID != 0 {
			u.Environment = append(u.Environment, name+"="+value)
		}
	}
	return u, u.Check()
}

// noteService tells what of an instance does not outlive a reboot.
func (e *Engine) noteService(r *instance.Record) {
	if levelOf(r.Spec).Durable() {
		return
	}
	for _, s := range r.Spec.From {
		if s.Kind == image.FromStdin || s.Kind == image.FromInstance {
			e.note("warning: instance %s was made from %s, which is not there after a reboot: the service fails then\nhint: ramaria image build --from instance:%s, and ramaria image save of what that prints; or ramaria service remove %[1]s, and ramaria up %[1]s --durable", r.Name, s, r.Name)
			return
		}
	}
	e.note("note: instance %s is not durable: after a reboot the service makes it again from what it was made of\nhint: ramaria service remove %s && ramaria up %[1]s --durable keeps every commit", r.Name, r.Name)
}

// stopService ends the service of an instance, whose server was shut down: one that failed would start again.
func (e *Engine) stopService(ctx context.Context, name string) error {
	u, err := e.serviceOf(name)
	if err != nil || u == nil || u.Manager.Check(ctx) != nil {
		return err
	}
	return u.Stop(ctx)
}

// removeService takes the service of an instance away that was removed.
func (e *Engine) removeService(ctx context.Context, name string) error {
	u, err := e.serviceOf(name)
	if err != nil || u == nil {
		return err
	}
	e.note("removed its service, %s", service.Name(name))
	return e.uninstall(ctx, u)
}

// ServiceListing describes the service of an instance.
type ServiceListing struct {
	Instance string `json:"instance"`
	Unit     string `json:"unit"`
	// State is what systemd says of it: active, activating, failed, inactive, ...
	State string `json:"state"`
	File  string `json:"file"`
}

// Services returns the services of this home's instances.
func (e *Engine) Services(ctx context.Context) ([]ServiceListing, error) {
	m, err := e.manager()
	if err != nil {
		return nil, err
	}
	names, err := m.List(e.Places.State)
	list := []ServiceListing{}
	for _, name := range names {
		u := &service.Installed{Manager: m, Instance: name}
		list = append(list, ServiceListing{Instance: name, Unit: service.Name(name), State: u.State(ctx), File: m.Path(name)})
	}
	return list, err
}
