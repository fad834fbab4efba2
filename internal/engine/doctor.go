package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Doctor checks what this machine allows, and says what to change.
func (e *Engine) Doctor(ctx context.Context) []Finding {
	var all []Finding
	for _, look := range []func(context.Context) []Finding{
		e.doctorPlaces, e.doctorServer, e.doctorVolumes, e.doctorUntorn, e.doctorWheat, e.doctorLost, e.doctorMemory, e.doctorLimits, e.doctorConfinement, e.doctorInstances, e.doctorDurable,
	} {
		all = append(all, look(ctx)...)
	}
	return all
}

// Finding is the result of one check of Doctor.
type Finding struct {
	Topic string `json:"topic"`
	// Level is ok, note or bad; bad keeps instances from running.
	Level string `json:"level"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}

// doctorPlaces looks whether things can be written where they belong.
func (e *Engine) doctorPlaces(context.Context) []Finding {
	var out []Finding
	for name, dir := range map[string]string{"cache": e.Places.Cache, "state": e.Places.State} {
		there := dir
		for there != "/" {
			if _, err := os.Stat(there); !errors.Is(err, os.ErrNotExist) {
				break
			}
			there = filepath.Dir(there)
		}
		if err := sys.Writable(there); err != nil {
			out = append(out, Finding{name, "bad", fmt.Sprintf("%s cannot be written: %v", there, err), "--home DIR (or RAMARIA_HOME), a directory of your own"})
		}
	}
	return out
}

func (e *Engine) doctorServer(ctx context.Context) []Finding {
	f := e.Finder()
	f.NoFetch = true
	list, err := f.List(ctx)
	if err != nil {
		return []Finding{{"server", "bad", err.Error(), ""}}
	}
	var out []Finding
	for _, p := range f.PassedOver {
		out = append(out, Finding{"server", "note", fmt.Sprintf("%s is passed over: %s", p.Path, p.Reason), "a fetched copy is used instead (ramaria server fetch); as root, ramaria server allow lets it in"})
	}
	first := Firsts(list)
	for i, l := range list {
		if first[l.Flavour] != i || l.PassedOver != "" {
			continue
		}
		srv, err := f.Find(ctx, string(l.Flavour))
		if err != nil {
			continue // it went just now
		}
		text := fmt.Sprintf("%s from %s, in %s", srv.Name(), srv.Origin, srv.Dir)
		if !l.Chosen {
			text += ", for --server " + string(l.Flavour)
		}
		out = append(out, Finding{"server", "ok", text, ""})
		if len(srv.Client.Argv) == 0 {
			out = append(out, Finding{"client", "note", srv.Name() + " has no client program beside it: dumps cannot be loaded",
				"install its client, or ramaria server fetch " + string(l.Flavour)})
		}
	}
	if slices.ContainsFunc(list, func(l software.Found) bool { return l.Chosen }) {
		return out
	}
	var offers []string
	for _, o := range software.Catalog() {
		offers = append(offers, o.String())
	}
	text := "none is installed or fetched; the first ramaria up fetches one. What can be fetched: "
	if len(first) > 0 {
		text = "what ramaria up takes unless --server says otherwise is neither installed nor fetched. What can be fetched: "
	}
	return append(out, Finding{"server", "note", text + strings.Join(offers, "; "), "ramaria server fetch"})
}

func (e *Engine) doctorMemory(context.Context) []Finding {
	m, err := e.Host.Memory()
	if err != nil {
		return []Finding{{"memory", "bad", err.Error(), ""}}
	}
	free, byCgroup := m.Room()
	text := fmt.Sprintf("%s of %s can still be used", volume.FormatBytes(free), volume.FormatBytes(m.Total))
	if byCgroup {
		text += ", bound by " + volume.LimitOf(m.Cgroup.Path, m.Cgroup.Limit)
	}
	out := []Finding{{"memory", "ok", text, ""}}
	if b, err := os.ReadFile("/proc/swaps"); err == nil && strings.Count(strings.TrimSpace(string(b)), "\n") > 0 {
		out = append(out, Finding{"swap", "note", "the machine swaps, and what lies in shared memory can be swapped out: slower then, never lost; ramaria status says how much is", "as root --volume xfs, which is never swapped, or swapoff -a where nothing else needs it"})
	}
	return out
}

func (e *Engine) doctorLimits(context.Context) []Finding {
	var out []Finding
	var l syscall.Rlimit
	const fewFiles = 4096
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err == nil && l.Max < fewFiles {
		out = append(out, Finding{"files", "note", fmt.Sprintf("a process may open %d files; servers with many tables want more", l.Max), "ulimit -Hn 65536 as root"})
	}
	if e.UID == 0 {
		if lacks := e.Host.RootLacks(); len(lacks) > 0 {
			out = append(out, Finding{"account", "bad", "this root cannot run servers under another account: it lacks " + strings.Join(lacks, ", "), "run ramaria as an ordinary user, or with what is missing"})
		} else {
			out = append(out, Finding{"account", "ok", fmt.Sprintf("servers run as uid %d, not as root", e.Account.UID), ""})
		}
		for dir := e.Places.Cache; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			fi, err := os.Stat(dir)
			if err == nil && fi.Mode().Perm()&0o001 == 0 && int(fi.Sys().(*syscall.Stat_t).Uid) != e.Account.UID {
				out = append(out, Finding{"account", "bad", fmt.Sprintf("that account cannot pass through %s to the servers in the cache", dir), "chmod o+x " + dir + ", or another --home"})
			}
		}
	}
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			out = append(out, Finding{"fetching", "note", "no " + program + ": only MariaDB can be fetched, from Maven Central", ""})
			break
		}
	}
	return out
}

func (e *Engine) doctorConfinement(ctx context.Context) []Finding {
	denials := e.doctorDenials(ctx)
	if why := server.Unconfinable(); why != "" {
		return append(denials, Finding{"confine", "note", "servers are not confined: " + why + ". A dump, or an account with every right, reaches what the servers' account may",
			"Linux 5.19 or later with landlock among those of /sys/kernel/security/lsm (lsm= at boot)"})
	}
	return append(denials, Finding{"confine", "ok", "servers reach their own files only (Landlock)", ""})
}

// doctorDenials looks whether AppArmor or SELinux has kept a server from anything.
func (e *Engine) doctorDenials(ctx context.Context) []Finding {
	denials := e.Host.Denials(ctx, software.DaemonNames())
	if len(denials) == 0 {
		return nil
	}
	last := denials[len(denials)-1]
	hint := "ramaria server allow, for servers that ramaria runs; others have rules of their own in /etc/apparmor.d/local"
	if !strings.Contains(last, "apparmor=") {
		hint = "ramaria server allow, for servers that services of ramaria run; for others audit2why -a says what was missing"
	}
	return []Finding{{"denials", "note", fmt.Sprintf("a security profile has kept servers from %d things, at last: %s", len(denials), last), hint}}
}

func (e *Engine) doctorInstances(context.Context) []Finding {
	records, err := e.Registry.List()
	if err != nil {
		return []Finding{{"instances", "bad", err.Error(), ""}}
	}
	broken, err := e.Registry.Broken()
	if err != nil {
		return []Finding{{"instances", "bad", err.Error(), ""}}
	}
	count := map[string]int{"damaged": len(broken)}
	for _, r := range records {
		state, err := r.State()
		if err != nil {
			return []Finding{{"instances", "bad", err.Error(), ""}}
		}
		count[string(state.Phase)]++
	}
	parts := []string{}
	for _, phase := range []string{"running", "starting", "stopping", "stopped", "crashed", "gone", "damaged"} {
		if count[phase] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[phase], phase))
		}
	}
	if len(parts) == 0 {
		parts = []string{"none"}
	}
	size := int64(0)
	for _, kind := range e.KindsThere() {
		if u, err := e.Opener().At(kind).Usage(); err == nil {
			size += u.Used
		}
	}
	return []Finding{{"instances", "ok", strings.Join(parts, ", ") + "; images and instances take " + volume.FormatBytes(size), ""}}
}

// splitHint takes the hint off an error's text.
func splitHint(err error) (text, hint string) {
	text, hint, _ = strings.Cut(err.Error(), "\nhint: ")
	return text, hint
}
