package durable

import (
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// PolicyOf is the policy that an instance was made with, of servers of a family; nil is that of one that is not known.
func PolicyOf(spec instance.Spec, family *server.Family) Policy {
	within, _ := time.ParseDuration(spec.RecoverWithin) // 0, the default, if there is none
	history, _ := time.ParseDuration(spec.History)
	p := Policy{RecoverWithin: within, History: history}
	if family != nil {
		p.Replays = family.ReplayRate()
	}
	return p
}

// Unusable says what an instance was made to promise, of whose archive nothing can be told but an error.
func Unusable(dir string, spec instance.Spec, err error) *client.Durable {
	p := PolicyOf(spec, nil)
	text, _, _ := strings.Cut(err.Error(), "\nhint: ")
	return &client.Durable{
		Level: spec.Durable, Archive: dir, RecoverWithinSeconds: p.within().Seconds(), HistorySeconds: p.history().Seconds(),
		Position: FormatPosition(0, archive.Position{}), Outside: []string{}, Error: strings.ReplaceAll(text, "\n", "; "),
	}
}

// Describe says what the archive of an instance promises, by its files alone: the instance may be gone.
func Describe(dir string, spec instance.Spec) (*client.Durable, error) {
	a, err := OpenReading(dir)
	if err != nil {
		return nil, err
	}
	m := a.Manifest
	fs, err := sys.Statfs(dir)
	if err != nil {
		return nil, err
	}
	flavour, _, _ := strings.Cut(m.Server, "-")
	family := server.FamilyOf(server.Flavour(flavour))
	if family == nil {
		return nil, explain(dir, fmt.Errorf("there are no servers called %q", m.Server))
	}
	p := PolicyOf(spec, family)
	d := &client.Durable{
		Level: spec.Durable, Archive: dir, RoomBytes: fs.Avail, Backups: len(m.Bases), RecoverWithinSeconds: p.within().Seconds(), HistorySeconds: p.history().Seconds(),
		Outside: []string{},
	}
	if v := m.Verified; v != nil {
		d.Verified = &v.Time
	}
	last := m.Last()
	if last == nil {
		return d, nil
	}
	end, total, err := archive.EndOf(a.Disk, m.LogID(last.Number))
	if err == nil {
		err = a.CheckExtent()
	}
	if err != nil {
		return nil, explain(dir, err)
	}
	d.Position = FormatPosition(last.Number, end)
	b, _, err := m.Newest()
	if err != nil {
		return nil, explain(dir, err)
	}
	d.LastBackup, d.SinceBytes = b.Time, m.Since(b, total)
	d.RecoverSeconds = p.Recovery(m, b, a.describedWork(p, last.Number, end, d.SinceBytes)).Seconds()
	d.Outside = append(d.Outside, b.Outside...)
	for _, br := range m.Breaches {
		d.Outside = append(d.Outside, fmt.Sprintf("from %s to %s: %s", br.From.Local().Format(time.DateTime), br.To.Local().Format(time.DateTime), br.What))
	}
	return d, nil
}

// describedWork is the work behind the newest base, of since bytes, by what the archive says of an epoch; the log ends at
// end.
func (a *Archive) describedWork(p Policy, epoch uint32, end archive.Position, since int64) time.Duration {
	work, known := a.carried(epoch)
	if !known {
		return p.unread(since)
	}
	for _, x := range a.extents {
		if x.Epoch == epoch && x.At.File == end.File {
			return work + p.unread(end.Offset-x.At.Offset)
		}
	}
	return work
}

// BackupOf describes a base.
func BackupOf(b archive.Base) client.Backup {
	return client.Backup{
		ID: b.ID, Time: b.Time, Position: FormatPosition(b.Epoch, b.At), DataBytes: b.Size, StoredBytes: b.Stored, Outside: b.Outside,
	}
}
