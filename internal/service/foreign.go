package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrNoUnit says that systemd knows no unit of a name.
var ErrNoUnit = errors.New("systemd knows no such unit")

// Foreign is a service that others wrote, such as mariadb.service.
type Foreign struct {
	Manager Manager
	// Name is its own name, whatever alias it was asked for by.
	Name   string
	Active bool
	// PID is its main process, and Group its control group; 0 and "" if it does not run.
	PID   int
	Group string
	// User is the account that it is started as, "" for root.
	User string
	// Triggers are the active units that start it unasked, such as a socket that a client connects to.
	Triggers []string
	// DropIns are the files by which the system's administrator has changed it.
	DropIns []string
}

// Foreign looks a service up, by any of its names.
func (m Manager) Foreign(ctx context.Context, name string) (*Foreign, error) {
	if strings.HasPrefix(name, "-") || strings.ContainsAny(name, "*?[") { // a pattern has no one unit
		return nil, fmt.Errorf("look at service %s: %w", name, ErrNoUnit)
	}
	if !strings.HasSuffix(name, ".service") {
		name += ".service"
	}
	out, err := m.ctl(ctx, "show", "--property=Id,LoadState,ActiveState,MainPID,ControlGroup,DropInPaths,TriggeredBy,User", "--", name)
	if err != nil {
		return nil, fmt.Errorf("look at service %s: %w", name, explain(err, out))
	}
	found := map[string]string{}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[key] = value
	}
	if state := found["LoadState"]; state != "loaded" {
		return nil, fmt.Errorf("look at service %s: %w: its state is %s", name, ErrNoUnit, state)
	}
	pid, _ := strconv.Atoi(found["MainPID"])
	f := &Foreign{Manager: m, Name: found["Id"], Active: found["ActiveState"] == "active", PID: pid, Group: found["ControlGroup"], User: found["User"], DropIns: strings.Fields(found["DropInPaths"])}
	for _, unit := range strings.Fields(found["TriggeredBy"]) {
		out, err := m.ctl(ctx, "show", "--property=ActiveState", "--value", "--", unit)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", unit, explain(err, out))
		}
		if strings.TrimSpace(out) == "active" {
			f.Triggers = append(f.Triggers, unit)
		}
	}
	return f, nil
}

// OfInstance reports whether it is the unit of an instance, or of a branch of one.
func (f *Foreign) OfInstance() bool {
	return strings.HasPrefix(f.Name, "ramaria@") || strings.HasPrefix(f.Name, "ramaria-")
}

// Halt stops it, whatever it is at.
func (f *Foreign) Halt(ctx context.Context) error { return f.Manager.run(ctx, "stop", f.Name) }

// Stop stops it, and reports an error if it did not end well: its data may not be whole then.
func (f *Foreign) Stop(ctx context.Context) error {
	if err := f.Halt(ctx); err != nil {
		return err
	}
	out, err := f.Manager.ctl(ctx, "show", "--property=Result", "--value", f.Name)
	if result := strings.TrimSpace(out); err != nil || result != "success" {
		return errors.Join(fmt.Errorf("stop %s: it ended with result %q\nhint: journalctl -u %[1]s", f.Name, result), err)
	}
	return nil
}

// Start starts it.
func (f *Foreign) Start(ctx context.Context) error {
	_, _ = f.Manager.ctl(ctx, "reset-failed", f.Name)
	return f.Manager.run(ctx, "start", f.Name)
}

// standInPath is a drop-in of the unit, which comes after all that others wrote.
func (f *Foreign) standInPath() string {
	return filepath.Join(f.Manager.Dir, f.Name+".d", "zz-ramaria-adopted.conf")
}

// StandsIn is the instance that stands in for the service, "" if none does.
func (f *Foreign) StandsIn() string {
	text, err := os.ReadFile(f.standInPath())
	if err != nil {
		return ""
	}
	return ownSettings(string(text))["Instance"]
}

// StandIn has the service of an instance stand in for it: the unit, which keeps its name, its aliases and what is
// ordered after it, starts and stops that one instead of its own server, which cannot start by mistake then. One file
// does it, and nothing of the unit itself is touched. The Install of that instance must follow.
func (f *Foreign) StandIn(ctx context.Context, instance string) error {
	path := f.standInPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("stand in for %s: %w", f.Name, err)
	}
	if err := write(f.failedPath(instance), failed(instance, f.Name)); err != nil {
		return fmt.Errorf("stand in for %s: %w", f.Name, err)
	}
	if err := write(path, standIn(instance)); err != nil {
		return fmt.Errorf("stand in for %s: %w", f.Name, err)
	}
	return f.Manager.run(ctx, "daemon-reload")
}

// failedTarget is the unit that is started when that of an instance has failed for good.
func failedTarget(instance string) string { return "ramaria-failed@" + instance + ".target" }

func (f *Foreign) failedPath(instance string) string {
	return filepath.Join(f.Manager.Dir, failedTarget(instance))
}

// failed is the text of that unit. The service would count as active for as long as nobody stops it.
func failed(instance, name string) string {
	return fmt.Sprintf(`# Written by ramaria adopt, and taken away by ramaria adopt --undo %[1]s.
[Unit]
Description=Ramaria: instance %[1]s has failed, and %[2]s, for which it stands in, ends
Conflicts=%[2]s
`, instance, specifiers(name))
}

// standIn is the text of the drop-in. An empty value takes away all that the unit and other drop-ins have set.
func standIn(instance string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by ramaria adopt: instance %[1]s stands in for this service.
# ramaria adopt --undo %[1]s takes it away.
[Unit]
Requires=%[2]s
After=%[2]s
# The instance's own unit counts failed starts; that of /bin/true is none.
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
Restart=no
`, instance, Name(instance))
	for _, name := range []string{
		"ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost",
		"PIDFile", "RuntimeDirectory", "StateDirectory", "LogsDirectory", "EnvironmentFile",
	} {
		fmt.Fprintf(&b, "%s=\n", name)
	}
	fmt.Fprintf(&b, "ExecStart=/bin/true\n\n[%s]\nInstance=%s\n", ownSection, instance)
	return b.String()
}

// EndStandIn takes that away.
func (f *Foreign) EndStandIn(ctx context.Context) error {
	path, paths := f.standInPath(), []string{f.standInPath()}
	if instance := f.StandsIn(); instance != "" {
		paths = append(paths, f.failedPath(instance))
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("give %s back: %w", f.Name, err)
		}
	}
	_ = os.Remove(filepath.Dir(path)) // if it was the only one
	if f.Manager.Check(ctx) != nil {
		return nil //nolint:nilerr // it loads units when it starts
	}
	return f.Manager.run(ctx, "daemon-reload")
}
