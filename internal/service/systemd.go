package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// ErrNoSystemd says that systemd does not run here, or not for this user.
var ErrNoSystemd = errors.New("systemd does not run here")

// ErrForeign says that there is a unit of the name that another wrote, or that is for another home.
var ErrForeign = errors.New("it is not ours")

// Manager is a service manager: that of the system, or that of a user.
type Manager struct {
	User bool
	// Dir is where units are written.
	Dir string
}

// System is the service manager of the system.
var System = Manager{Dir: "/etc/systemd/system"}

// OfUser returns the service manager of the user whose configuration lies in dir: $XDG_CONFIG_HOME, or ~/.config.
func OfUser(dir string) Manager {
	return Manager{User: true, Dir: filepath.Join(dir, "systemd", "user")}
}

// ownSection is a section of our units that systemd passes over.
const ownSection = "X-Ramaria"

// Path is the file of the unit of an instance.
func (m Manager) Path(instance string) string { return filepath.Join(m.Dir, Name(instance)) }

// Installed is a unit that was written for an instance.
type Installed struct {
	Manager  Manager
	Instance string
	// Lingers says that lingering of the user was switched on for it.
	Lingers bool
	// Program is the path of ramaria that it runs, and Text all of the unit.
	Program, Text string
}

// Find returns the unit of an instance whose state directory is state, nil if there is none. One of a stranger is ErrForeign.
func (m Manager) Find(instance, state string) (*Installed, error) {
	text, err := os.ReadFile(m.Path(instance))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find service of instance %s: %w", instance, err)
	}
	own := ownSettings(string(text))
	if own["State"] != state || state == "" {
		return nil, fmt.Errorf("find service of instance %s: %s: %w", instance, m.Path(instance), ErrForeign)
	}
	return &Installed{Manager: m, Instance: instance, Lingers: own["Lingers"] == "yes", Program: own["Program"], Text: string(text)}, nil
}

// ownSettings are what our section of a unit says.
func ownSettings(text string) map[string]string {
	own := map[string]string{}
	_, section, _ := strings.Cut(text, "\n["+ownSection+"]\n")
	for line := range strings.Lines(section) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		own[name] = value
	}
	return own
}

// List returns the names of the instances that have units, of a state directory.
func (m Manager) List(state string) ([]string, error) {
	files, err := sys.Glob(m.Dir, Name("*"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list services: %w", err)
	}
	var names []string
	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "ramaria@"), ".service")
		if u, err := m.Find(name, state); err == nil && u != nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// Check says why the manager cannot be spoken to, as ErrNoSystemd.
func (m Manager) Check(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(sys.RunSystemd(), "system")); err != nil { // sd_booted(3)
		return ErrNoSystemd
	}
	if _, err := m.ctl(ctx, "show", "--property=Version"); err != nil {
		return fmt.Errorf("%w: %w", ErrNoSystemd, err)
	}
	return nil
}

// Install writes a unit, and has systemd load it and start it at every boot. It does not start it now.
func (m Manager) Install(ctx context.Context, u Unit) error {
	if err := os.MkdirAll(m.Dir, 0o755); err != nil {
		return fmt.Errorf("install service: %w", err)
	}
	if err := write(m.Path(u.Instance), u.Text()); err != nil {
		return fmt.Errorf("install service: %w", err)
	}
	return m.run(ctx, "enable", "--quiet", Name(u.Instance)) // which loads all units again
}

// write puts a file in place as a whole, and on the disk.
func write(path, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".ramaria-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.WriteString(text)
	const readable = 0o644 // by all, as units are; there is no secret in it
	err = errors.Join(err, f.Chmod(readable), f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return rename(f.Name(), path)
}

// rename gives a file its name, on the disk.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Start starts the service and waits until its server answers. What it stands in for starts with it, as it ends with it.
func (i *Installed) Start(ctx context.Context) error {
	units := []string{Name(i.Instance)}
	foreign := &Foreign{Manager: i.Manager, Name: ownSettings(i.Text)["StandsInFor"]}
	if foreign.Name != "" && foreign.StandsIn() == i.Instance { // without the drop-in its own server would start
		units = append(units, foreign.Name)
	}
	// One that has failed too often is refused otherwise.
	_, _ = i.Manager.ctl(ctx, append([]string{"reset-failed"}, units...)...)
	return i.Manager.run(ctx, append([]string{"start"}, units...)...)
}

// Stop stops the service, whatever it is at, and waits for that.
func (i *Installed) Stop(ctx context.Context) error {
	return i.Manager.run(ctx, "stop", Name(i.Instance))
}

// State is what systemd says of the service: active, activating, failed, inactive.
func (i *Installed) State(ctx context.Context) string {
	out, err := i.Manager.ctl(ctx, "show", "--property=ActiveState", "--value", Name(i.Instance))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(out)
}

// Said is the last that the program has said for itself in the journal of its service, "" for nothing: systemctl says no
// more than that it has failed.
func (i *Installed) Said(ctx context.Context) string {
	args := []string{"--no-pager", "--quiet", "--boot", "--lines=50", "--output=cat", "--unit", Name(i.Instance)}
	if i.Manager.User {
		args[len(args)-2] = "--user-unit"
	}
	out, err := exec.CommandContext(ctx, "journalctl", args...).Output()
	if err != nil {
		return "" // there is none, or not for this user
	}
	last := ""
	for line := range strings.Lines(string(out)) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), "ramaria: "); ok {
			last = said
		}
	}
	return last
}

// Remove stops the service and takes away all that Install wrote.
func (i *Installed) Remove(ctx context.Context) error {
	name := Name(i.Instance)
	if i.Manager.Check(ctx) == nil {
		if err := i.Manager.run(ctx, "disable", "--quiet", "--now", name); err != nil {
			return err
		}
	}
	if err := os.Remove(i.Manager.Path(i.Instance)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove service: %w", err)
	}
	if i.Manager.Check(ctx) != nil { // a system that is not booted
		return i.unlink()
	}
	_, _ = i.Manager.ctl(ctx, "reset-failed", name)
	return i.Manager.run(ctx, "daemon-reload")
}

// unlink does what systemctl disable does, where that cannot.
func (i *Installed) unlink() error {
	wants, err := sys.Glob(i.Manager.Dir, "*.wants")
	for _, dir := range wants {
		if rerr := os.Remove(filepath.Join(dir, Name(i.Instance))); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

func (m Manager) run(ctx context.Context, args ...string) error {
	if out, err := m.ctl(ctx, args...); err != nil {
		return fmt.Errorf("systemctl %s: %w", strings.Join(args, " "), explain(err, out))
	}
	return nil
}

// explain prefers what systemctl says to its exit status.
func explain(err error, said string) error {
	if said = strings.TrimSpace(said); said != "" {
		return errors.New(said)
	}
	return err
}

// ctl calls systemctl.
func (m Manager) ctl(ctx context.Context, args ...string) (string, error) {
	if m.User {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, "systemctl", append([]string{"--no-pager", "--no-ask-password"}, args...)...)
	// An interrupt of ours is not one of it: it would give up to wait for what systemd goes on with.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}
