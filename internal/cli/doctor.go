package cli

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

	"github.com/spf13/cobra"

	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

func newDoctor(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell what this machine allows, and what to change",
		Long:  "Tell what this machine allows, and what to change. The exit status is 1 if something\nkeeps instances from running.",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDoctor(cmd.Context(), a, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// finding is one thing that doctor looked at.
type finding struct {
	Topic string `json:"topic"`
	// Level is ok, note or bad; bad keeps instances from running.
	Level string `json:"level"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}

func runDoctor(ctx context.Context, a *app, asJSON bool) error {
	var all []finding
	for _, look := range []func(context.Context) []finding{a.doctorPlaces, a.doctorServer, a.doctorVolumes, a.doctorLost, a.doctorMemory, a.doctorLimits, a.doctorConfinement, a.doctorInstances} {
		all = append(all, look(ctx)...)
	}
	bad := false
	for _, f := range all {
		bad = bad || f.Level == "bad"
	}
	if asJSON {
		if err := a.printJSON(all); err != nil {
			return err
		}
	} else {
		for _, f := range all {
			fmt.Fprintf(a.stdout, "%-5s %-10s %s\n", f.Level, f.Topic, progress.Plain(indent(f.Text, 17)))
			if f.Hint != "" {
				fmt.Fprintf(a.stdout, "%17s-> %s\n", "", f.Hint)
			}
		}
	}
	if bad {
		return statusError(exitError)
	}
	return nil
}

// doctorPlaces looks whether things can be written where they belong.
func (a *app) doctorPlaces(context.Context) []finding {
	var out []finding
	for name, dir := range map[string]string{"cache": a.places.Cache, "state": a.places.State} {
		there := dir
		for there != "/" {
			if _, err := os.Stat(there); !errors.Is(err, os.ErrNotExist) {
				break
			}
			there = filepath.Dir(there)
		}
		if err := sys.Writable(there); err != nil {
			out = append(out, finding{name, "bad", fmt.Sprintf("%s cannot be written: %v", there, err), "--home DIR (or RAMARIA_HOME), a directory of your own"})
		}
	}
	return out
}

func (a *app) doctorServer(ctx context.Context) []finding {
	f := a.finder()
	f.NoFetch = true
	list, err := f.List(ctx)
	if err != nil {
		return []finding{{"server", "bad", err.Error(), ""}}
	}
	var out []finding
	for _, p := range f.PassedOver {
		out = append(out, finding{"server", "note", fmt.Sprintf("%s is passed over: %s", p.Path, p.Reason), "a fetched copy is used instead: ramaria server fetch"})
	}
	first := firsts(list)
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
		out = append(out, finding{"server", "ok", text, ""})
		if len(srv.Client.Argv) == 0 {
			out = append(out, finding{"client", "note", srv.Name() + " has no client program beside it: dumps cannot be loaded",
				"install its client, or ramaria server fetch " + string(l.Flavour)})
		}
	}
	if slices.ContainsFunc(list, func(l server.Found) bool { return l.Chosen }) {
		return out
	}
	var offers []string
	for _, o := range server.Available() {
		offers = append(offers, o.String())
	}
	text := "none is installed or fetched; the first ramaria up fetches one. What can be fetched: "
	if len(first) > 0 {
		text = "what ramaria up takes unless --server says otherwise is neither installed nor fetched. What can be fetched: "
	}
	return append(out, finding{"server", "note", text + strings.Join(offers, "; "), "ramaria server fetch"})
}

func (a *app) doctorMemory(context.Context) []finding {
	m, err := a.host.Memory()
	if err != nil {
		return []finding{{"memory", "bad", err.Error(), ""}}
	}
	free, byCgroup := m.Room()
	text := fmt.Sprintf("%s of %s can still be used", volume.FormatBytes(free), volume.FormatBytes(m.Total))
	if byCgroup {
		text += fmt.Sprintf(", bound by the control group's limit of %s", volume.FormatBytes(m.Cgroup.Limit))
	}
	out := []finding{{"memory", "ok", text, ""}}
	if b, err := os.ReadFile("/proc/swaps"); err == nil && strings.Count(strings.TrimSpace(string(b)), "\n") > 0 {
		out = append(out, finding{"swap", "note", "the machine swaps, and what lies in shared memory can be swapped out: slower then, never lost", "swapoff -a as root, where nothing else needs it"})
	}
	return out
}

func (a *app) doctorLimits(context.Context) []finding {
	var out []finding
	var l syscall.Rlimit
	const fewFiles = 4096
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err == nil && l.Max < fewFiles {
		out = append(out, finding{"files", "note", fmt.Sprintf("a process may open %d files; servers with many tables want more", l.Max), "ulimit -Hn 65536 as root"})
	}
	if a.uid == 0 {
		if lacks := a.host.RootLacks(); len(lacks) > 0 {
			out = append(out, finding{"account", "bad", "this root cannot run servers under another account: it lacks " + strings.Join(lacks, ", "), "run ramaria as an ordinary user, or with what is missing"})
		} else {
			out = append(out, finding{"account", "ok", fmt.Sprintf("servers run as uid %d, not as root", a.account.UID), ""})
		}
		for dir := a.places.Cache; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			fi, err := os.Stat(dir)
			if err == nil && fi.Mode().Perm()&0o001 == 0 && int(fi.Sys().(*syscall.Stat_t).Uid) != a.account.UID {
				out = append(out, finding{"account", "bad", fmt.Sprintf("that account cannot pass through %s to the servers in the cache", dir), "chmod o+x " + dir + ", or another --home"})
			}
		}
	}
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			out = append(out, finding{"fetching", "note", "no " + program + ": only MariaDB can be fetched, from Maven Central", ""})
			break
		}
	}
	return out
}

func (a *app) doctorConfinement(context.Context) []finding {
	if why := server.Unconfinable(); why != "" {
		return []finding{{"confine", "note", "servers are not confined: " + why + ". A dump, or whoever may log in with every right, reaches what the servers' account may",
			"Linux 5.19 or later with landlock among those of /sys/kernel/security/lsm (lsm= at boot)"}}
	}
	return []finding{{"confine", "ok", "servers reach their own files only (Landlock)", ""}}
}

func (a *app) doctorInstances(context.Context) []finding {
	records, err := a.registry.List()
	if err != nil {
		return []finding{{"instances", "bad", err.Error(), ""}}
	}
	broken, err := a.registry.Broken()
	if err != nil {
		return []finding{{"instances", "bad", err.Error(), ""}}
	}
	count := map[string]int{"damaged": len(broken)}
	for _, r := range records {
		state, err := r.State()
		if err != nil {
			return []finding{{"instances", "bad", err.Error(), ""}}
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
	for _, kind := range a.kindsThere() {
		if u, err := a.opener().At(kind).Usage(); err == nil {
			size += u.Used
		}
	}
	return []finding{{"instances", "ok", strings.Join(parts, ", ") + "; images and instances take " + volume.FormatBytes(size), ""}}
}

// splitHint takes the hint off an error's text.
func splitHint(err error) (text, hint string) {
	text, hint, _ = strings.Cut(err.Error(), "\nhint: ")
	return text, hint
}
