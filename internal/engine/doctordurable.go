package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/progress"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// doctorTopic is the topic of what doctor says of durable instances.
const doctorTopic = "durable"

// verifiedWithin is how long ago an archive should have been compared last: a running instance does so once a day.
const verifiedWithin = 48 * time.Hour

// networked are file systems of other machines, and overlay is that of containers.
var networked = []string{"nfs", "cifs", "smb2", "9p", "ceph", "fuse"}

const overlay = "overlay"

// doctorDurable looks at what durable instances depend on, and at each of them.
func (e *Engine) doctorDurable(ctx context.Context) []Finding {
	out := e.doctorArchives()
	out = append(out, doctorUrgency()...)
	out = append(out, e.doctorPlugins(ctx)...)
	records, err := e.Registry.List()
	if err != nil {
		return out // doctorInstances says it
	}
	for _, r := range records {
		if levelOf(r.Spec).Durable() {
			out = append(out, e.doctorArchive(r)...)
		}
	}
	return out
}

// doctorArchives looks at where archives are unless --archive says otherwise.
func (e *Engine) doctorArchives() []Finding {
	dir := e.defaultArchive("")
	fs, err := statAbove(dir)
	switch {
	case err != nil:
		return []Finding{{doctorTopic, "note", err.Error(), ""}}
	case fs.RAM:
		return []Finding{{doctorTopic, "note", dir + " lies in memory: an archive there would go with the power", "ramaria up NAME --durable --archive DIR, on a disk"}}
	}
	out := []Finding{{doctorTopic, "ok", fmt.Sprintf("archives lie in %s, on %s with %s free, unless --archive says otherwise", dir, fs.Type, volume.FormatBytes(fs.Avail)), ""}}
	return append(out, doctorDisk("archives in "+dir, fs)...)
}

// doctorDisk says what there is to say of the file system below archives.
func doctorDisk(what string, fs sys.FS) []Finding {
	switch {
	case fs.Type == overlay:
		return []Finding{{doctorTopic, "note", what + " lie in a container's own layer, and go with the container", "--archive DIR, on a volume of the host"}}
	case slices.Contains(networked, fs.Type):
		return []Finding{{doctorTopic, "note", fmt.Sprintf("%s lie on %s: each commit waits for it, and it must keep what it says is written", what, fs.Type), "--archive DIR, on a disk of this machine"}}
	}
	return nil
}

func doctorUrgency() []Finding {
	switch {
	case os.Getenv(durable.EnvUrgent) == "off":
		return []Finding{{doctorTopic, "note", durable.EnvUrgent + "=off: where other work waits for processors, commits of durable instances wait for them too", "unset " + durable.EnvUrgent}}
	case !sys.MayBeUrgent():
		return []Finding{{doctorTopic, "note", "the thread that archives may not go before others (SCHED_RR, nice -20): where other work waits for processors, commits of durable instances wait for them too",
			"run as root, or with CAP_SYS_NICE, or with rtprio 1 in limits.conf(5)"}}
	}
	return []Finding{{doctorTopic, "ok", "the thread that archives goes before others (SCHED_RR where processors are busy): commits wait for the disk alone", ""}}
}

// doctorPlugins looks whether the servers that are there can wait for an archive.
func (e *Engine) doctorPlugins(ctx context.Context) (out []Finding) {
	f := e.Finder()
	f.NoFetch = true
	list, err := f.List(ctx)
	if err != nil {
		return nil // doctorServer says it
	}
	first := Firsts(list)
	for i, l := range list {
		if first[l.Flavour] != i || l.PassedOver != "" {
			continue
		}
		if srv, err := f.Find(ctx, string(l.Flavour)); err == nil {
			out = append(out, doctorPlugin(srv)...)
		}
	}
	return out
}

func doctorPlugin(srv *server.Server) []Finding {
	lacks := srv.LacksPlugin(server.Acknowledged)
	if lacks == "" {
		return nil
	}
	return []Finding{{doctorTopic, "note", fmt.Sprintf("%s has no plugin %s in %s: commits of a durable instance could not wait for its archive", srv.Name(), lacks, srv.Plugins),
		"ramaria server fetch " + string(srv.Flavour)}}
}

// doctorArchive looks at the archive of an instance.
func (e *Engine) doctorArchive(r *instance.Record) []Finding {
	dir, of := e.archiveDir(r.Name, r.Spec), "the archive of "+r.Name
	bad := func(err error) []Finding {
		text, hint := splitHint(err)
		return []Finding{{doctorTopic, "bad", of + " cannot be used: " + strings.TrimPrefix(text, "recover instance "+r.Name+": "), hint}}
	}
	if err := inRAM(dir); err != nil {
		return bad(err)
	}
	if err := e.checkArchive(r, false); err != nil {
		return bad(err)
	}
	if err := e.checkExtent(r); err != nil {
		return bad(err)
	}
	d, err := durable.Describe(dir, r.Spec)
	if err != nil {
		return bad(err)
	}
	fs, err := sys.Statfs(dir)
	if err != nil {
		return bad(err)
	}
	state, err := r.State()
	if err != nil {
		return bad(err)
	}
	recovery := time.Duration(d.RecoverSeconds * float64(time.Second)).Round(100 * time.Millisecond)
	out := []Finding{{doctorTopic, "ok", fmt.Sprintf("%s in %s, on %s with %s free: base backups: %d, the last one %s; a recovery takes about %s; verified %s",
		of, dir, fs.Type, volume.FormatBytes(fs.Avail), d.Backups, progress.Ago(d.LastBackup), recovery, agoOrNever(d.Verified)), ""}}
	if f, err := durable.FencesOf(r); err != nil {
		return bad(err)
	} else if f != nil {
		kinds := make([]string, 0, len(f.Kinds))
		for _, k := range f.Kinds {
			kinds = append(kinds, fmt.Sprintf("%s %d", k.Kind, k.Count))
		}
		out = append(out, Finding{doctorTopic, "ok", fmt.Sprintf("%s: statements that waited for a base backup since its start, since the log may not repeat them: %s; %d wait now", r.Name, strings.Join(kinds, ", "), len(f.Waiting)), ""})
	}
	note := func(text, hint string) { out = append(out, Finding{doctorTopic, "note", r.Name + ": " + text, hint}) }
	if state.Phase.Alive() { // its supervisor knows more than the files say
		for _, w := range state.Warnings {
			text, hint, _ := strings.Cut(w, "\nhint: ")
			note(text, hint)
		}
	} else {
		if durable.Low(fs.Avail, fs.Size, false) {
			note(fmt.Sprintf("there is less than %s of room for its archive: its history will be shortened, and commits wait when there is none", volume.FormatBytes(durable.LowRoom(fs.Size))), "make room in "+dir)
		}
		if d.RecoverSeconds > d.RecoverWithinSeconds {
			note(fmt.Sprintf("a recovery takes longer than --recover-within %s", instance.FormatTime(time.Duration(d.RecoverWithinSeconds*float64(time.Second)))), fmt.Sprintf("ramaria up %s makes a base backup in time; or --recover-within TIME", r.Name))
		}
	}
	if verified := d.Verified; time.Since(r.Created) > verifiedWithin && (verified == nil || time.Since(*verified) > verifiedWithin) {
		note("what its archive gives was compared with it "+agoOrNever(verified), fmt.Sprintf("ramaria backup verify %s, while it runs; it does so itself once a day", r.Name))
	}
	if len(d.Outside) > 0 {
		note("outside of the promise: "+strings.Join(d.Outside, ", "), "")
	}
	return append(out, doctorDisk("files of "+of, fs)...)
}

func agoOrNever(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return progress.Ago(*t)
}

// statAbove asks the file system that a directory lies in, or will once it is made.
func statAbove(dir string) (sys.FS, error) {
	for there := dir; ; there = filepath.Dir(there) {
		fs, err := sys.Statfs(there)
		if err == nil || there == filepath.Dir(there) {
			return fs, err
		}
	}
}
