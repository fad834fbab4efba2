// Package service puts instances under systemd: it renders units, and has systemd load, start and
// remove them. A unit is written for one instance, as a file of its own, and not as an instance of a
// template, so that it names exactly the paths that this instance needs.
//
// The invariant: a file is only replaced or removed if this package wrote it for the same instance of
// the same home.
package service

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// EnvVar is set in processes of a unit, to the unit's name.
const EnvVar = "RAMARIA_SERVICE"

// Unit is what the service of an instance is rendered from.
type Unit struct {
	// Instance is the name of the instance, and State the state directory of its home, by which that is known: the id of
	// a registry changes with each boot.
	Instance, State string
	// User says that it is a unit of a user's manager. Those cannot confine services without a
	// namespace of users, so that less of the unit is about that.
	User bool
	// Program is the path of ramaria, and Home the value of --home, "" for the usual places.
	Program, Home string
	// Server is what people call the server, and Volume the kind of the volume.
	Server, Volume string
	// Needs are paths that must be mounted before the service starts, and Writes those that it writes to;
	// what does not exist there is passed over.
	Needs, Writes []string
	// MountedAt is where the volume is mounted, "" for one that is a directory.
	MountedAt string
	// StandsInFor is the unit of another service that stops and restarts this one, "" for none. See Foreign.StandIn.
	StandsInFor string
	// Network says that the service needs the network, for buckets.
	Network bool
	// Environment are variables that its places depend on: NAME=VALUE.
	Environment []string
	// Lingers says that lingering of the user was switched on for this service.
	Lingers bool
}

// Name returns the name of the unit of an instance.
func Name(instance string) string { return "ramaria@" + instance + ".service" }

const (
	// startPatience is how long a start may go without a sign of life. A recovery gives one every few seconds.
	startPatience = 90 * time.Second
	// stopPatience is how long a server may take to shut down; then it is killed, which loses nothing that
	// was acknowledged.
	stopPatience = 90 * time.Second
	// restartPause is the pause before a service that failed starts again; after restartMost of them within
	// restartWithin it stays down.
	restartPause, restartWithin = 2 * time.Second, 10 * time.Minute
	restartMost                 = 5
	// StaysDown is the exit status after an end that another start would only repeat: systemd leaves it at that.
	StaysDown = 64
	// openFiles is how many files the server may have open.
	openFiles = 65536
)

// Check refuses what no unit can have.
func (u Unit) Check() error {
	if strings.ContainsAny(u.Program, "\\\"'$\n") || strings.HasPrefix(u.Program, "/proc/") {
		return fmt.Errorf("install service of instance %s: systemd takes no program at %q\nhint: sudo install -m 755 ramaria /usr/local/bin/, and /usr/local/bin/ramaria service install %s", u.Instance, u.Program, u.Instance)
	}
	return nil
}

// setting is a line of a unit, or a comment before some.
type setting struct{ name, value string }

// Text renders the unit.
func (u Unit) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by ramaria service install %[1]s. To take it away: ramaria service remove %[1]s\n", u.Instance)
	section := func(name string, lines []setting) {
		fmt.Fprintf(&b, "\n[%s]\n", name)
		for _, l := range lines {
			if l.name == "#" {
				fmt.Fprintf(&b, "# %s\n", l.value)
				continue
			}
			fmt.Fprintf(&b, "%s=%s\n", l.name, l.value)
		}
	}
	section("Unit", u.unit())
	section("Service", slices.Concat(u.service(), u.confinement()))
	wanted := "multi-user.target"
	if u.User {
		wanted = "default.target"
	}
	section("Install", []setting{{"WantedBy", wanted}})
	own := []setting{{"State", u.State}, {"Program", u.Program}, {"Lingers", yesNo(u.Lingers)}}
	if u.StandsInFor != "" {
		own = append(own, setting{"StandsInFor", u.StandsInFor})
	}
	section(ownSection, own)
	return b.String()
}

func (u Unit) unit() []setting {
	s := []setting{
		{"Description", specifiers(fmt.Sprintf("Ramaria: %s in RAM, instance %s", u.Server, u.Instance))},
	}
	if !u.User {
		s = append(s, setting{"#", "Not before the disks of archive, state and programs are there: never onto an empty directory."})
		for _, path := range sorted(append(slices.Clone(u.Needs), u.Program)) {
			s = append(s, setting{"RequiresMountsFor", quote(path)})
		}
		s = append(s, setting{"After", "local-fs.target network.target"})
		s = append(s, setting{"#", "DeviceAllow passes over devices whose module is not loaded yet."})
		for _, m := range u.modules() {
			s = append(s, setting{"Wants", "modprobe@" + m + ".service"}, setting{"After", "modprobe@" + m + ".service"})
		}
	}
	if u.Network {
		s = append(s, setting{"Wants", "network-online.target"}, setting{"After", "network-online.target"})
	}
	if u.StandsInFor != "" {
		s = append(s, setting{"#", "It stands in for that, and stops and restarts with it."}, setting{"PartOf", u.StandsInFor},
			setting{"#", "When it has failed for good, that ends."}, setting{"OnFailure", failedTarget(u.Instance)})
	}
	if u.MountedAt != "" {
		s = append(s, setting{"#", "At shutdown the volume goes after the server."}, setting{"After", mountUnit(u.MountedAt)})
	}
	return append(s,
		setting{"StartLimitIntervalSec", seconds(restartWithin)},
		setting{"StartLimitBurst", fmt.Sprint(restartMost)})
}

// modules are those of the kernel whose devices the service makes. systemd resolves block-loop to a number when it starts the
// unit, by /proc/devices; systemd.resource-control(5) has the remedy, in DeviceAllow=.
func (u Unit) modules() []string {
	if u.Volume == "zram" {
		return []string{"loop", "zram"}
	}
	return []string{"loop"} // whatever the volume is: it may be made as xfs at the next boot
}

func (u Unit) service() []setting {
	command := func(words ...string) string {
		argv := []string{quoteArgument(u.Program)}
		argv = append(argv, words...)
		argv = append(argv, u.Instance)
		if u.Home != "" {
			argv = append(argv, "--home", quoteArgument(u.Home))
		}
		return strings.Join(argv, " ")
	}
	// A mount is to be seen by all: in the namespace of the first process, and with all privileges.
	privileged := "+/usr/bin/nsenter --mount=/proc/1/ns/mnt -- "
	if u.User {
		privileged = ""
	}
	s := []setting{
		{"Type", "notify"},
		{"NotifyAccess", "exec"},
		{"Environment", EnvVar + "=" + Name(u.Instance)},
	}
	if !u.User {
		s = append(s, setting{"Environment", "HOME=%h"})
	}
	for _, v := range u.Environment {
		s = append(s, setting{"Environment", quote(v)})
	}
	if !u.User {
		s = append(s, setting{"EnvironmentFile", "-/etc/default/ramaria"})
	}
	s = append(s,
		setting{"#", "Mounts the volume, and recovers the data, or makes it again. It tells how far that is."},
		setting{"ExecStartPre", privileged + command("service", "prepare")},
		setting{"ExecStart", command("supervise")},
		setting{"#", "The supervisor shuts its server down itself. What is left after that is killed."},
		setting{"KillMode", "mixed"},
		setting{"TimeoutStartSec", seconds(startPatience)},
		setting{"TimeoutStopSec", seconds(stopPatience)},
		setting{"Restart", "on-failure"},
		setting{"RestartSec", seconds(restartPause)},
		setting{"RestartPreventExitStatus", fmt.Sprint(StaysDown)},
		setting{"#", u.afterwardsWords()},
		setting{"ExecStopPost", u.afterwards()},
		setting{"#", "The supervisor says what the kernel killed, and why."},
		setting{"OOMPolicy", "continue"},
		setting{"LimitNOFILE", fmt.Sprint(openFiles)},
	)
	return s
}

// afterwards is what systemd runs when the service has ended. An end that was asked for takes none of the starts that
// are granted, so that those are for failures. If the service was not told by systemd, but its server by a client
// (SHUTDOWN), what it stands in for ends too, or it would be called active; while that is being restarted, the mode
// leaves it alone.
func (u Unit) afterwards() string {
	prefix, ctl := "-+", "systemctl"
	if u.User {
		prefix, ctl = "-", "systemctl --user"
	}
	script, args := `[ "$SERVICE_RESULT" = success ] || exit 0; `+ctl+` reset-failed "$0"`, Name(u.Instance)
	if u.StandsInFor != "" {
		script += `; ` + ctl + ` --no-block --quiet --job-mode=fail stop "$1" 2>/dev/null`
		args += " " + quoteArgument(u.StandsInFor)
	}
	return prefix + "/bin/sh -c '" + strings.ReplaceAll(script, "$", "$$") + "' " + args
}

func (u Unit) afterwardsWords() string {
	if u.StandsInFor != "" {
		return "An end that was asked for counts as no failure, and is one of what it stands in for."
	}
	return "An end that was asked for counts as no failure."
}

// confinement is what the service may not do. It runs as root, since it mounts what its server alone sees and
// watches block devices; the server has an account of its own, and Landlock besides.
func (u Unit) confinement() []setting {
	s := []setting{{"NoNewPrivileges", "yes"}, {"RestrictSUIDSGID", "yes"}, {"LockPersonality", "yes"}, {"SystemCallArchitectures", "native"}}
	if u.User {
		return s
	}
	var writes []string
	for _, path := range u.Writes {
		writes = append(writes, "-"+path)
	}
	writes = sorted(writes)
	for i, path := range writes {
		writes[i] = quote(path)
	}
	s = append(s,
		setting{"ProtectSystem", "strict"},
		setting{"ReadWritePaths", strings.Join(writes, " ")},
		setting{"ProtectHome", "read-only"},
		setting{"ProtectKernelModules", "yes"},
		setting{"ProtectKernelLogs", "yes"},
		setting{"ProtectControlGroups", "yes"},
		setting{"ProtectClock", "yes"},
		setting{"ProtectHostname", "yes"},
		setting{"RestrictNamespaces", "mnt"},
		setting{"RestrictAddressFamilies", "AF_UNIX AF_INET AF_INET6 AF_NETLINK"},
		setting{"CapabilityBoundingSet", strings.Join(capabilities, " ")},
		setting{"DevicePolicy", "closed"},
		setting{"DeviceAllow", "/dev/loop-control rw"},
		setting{"DeviceAllow", "block-loop rw"},
		setting{"DeviceAllow", "block-zram rw"},
		setting{"DeviceAllow", "/dev/fuse rw"},
		setting{"SystemCallFilter", "@system-service @mount landlock_create_ruleset landlock_add_rule landlock_restrict_self"},
		setting{"SystemCallErrorNumber", "EPERM"},
		setting{"UMask", "0077"},
	)
	if u.Volume != "zram" { // which is watched, and grown, below /sys
		s = append(s, setting{"ProtectKernelTunables", "yes"})
	}
	return s
}

// capabilities are what root needs of its rights here: to mount, to start the server under another account and to
// look after its files and its process, to lend the thread that archives a place before others.
var capabilities = []string{
	"CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_FOWNER", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FSETID",
	"CAP_KILL", "CAP_SYS_PTRACE", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_IPC_LOCK", "CAP_NET_BIND_SERVICE",
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// sorted returns the paths in order, each once: a unit whose content did not change has the same text.
func sorted(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}
