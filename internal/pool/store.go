package pool

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/template"
)

// record is the file in which a Pool keeps what outlives it. It holds passwords.
type record struct {
	Limits    *Limits          `json:"limits,omitempty"`
	Templates []templateRecord `json:"templates"`
	Leases    []leaseRecord    `json:"leases"`
	// Builds are the databases that were to become templates.
	Builds []string `json:"builds,omitempty"`
	// Paused are events that are enabled but for the time in which their database is a template.
	Paused map[string][]string `json:"paused,omitempty"`
	// Ended are accounts of leases that have ended, which are in the data of a mark.
	Ended []dbconn.Login `json:"ended,omitempty"`
}

type templateRecord struct {
	Name   string    `json:"name"`
	Family string    `json:"family,omitempty"`
	Key    string    `json:"key,omitempty"`
	Made   time.Time `json:"made"`
	Used   time.Time `json:"used"`
}

type leaseRecord struct {
	Name       string       `json:"name"`
	Template   string       `json:"template"`
	Login      dbconn.Login `json:"login"`
	TTLSeconds float64      `json:"ttl_s"`
	// Expires is zero for one that is not handed out: the next run removes it.
	Expires time.Time `json:"expires"`
	Pooled  bool      `json:"pooled,omitempty"`
	Kept    bool      `json:"kept,omitempty"`
}

// save writes the file. The caller holds p.mu. When leases were last used is written with
// the next change only.
func (p *Pool) save() error {
	if p.closed {
		return ErrClosed
	}
	if p.config.Gone != nil && p.config.Gone() {
		return nil
	}
	r := record{Templates: []templateRecord{}, Leases: p.leases.records(), Paused: p.paused, Ended: p.ended}
	for name, b := range p.builds {
		if b.made {
			r.Builds = append(r.Builds, name)
		}
	}
	slices.Sort(r.Builds)
	if p.limits != p.config.Limits {
		r.Limits = &p.limits
	}
	for name, t := range p.templates {
		r.Templates = append(r.Templates, templateRecord{name, t.family, t.key, t.made, p.spares.view(t.supply).used})
	}
	slices.SortFunc(r.Templates, func(a, b templateRecord) int { return strings.Compare(a.Name, b.Name) })
	if err := instance.WriteJSON(p.config.File, r); err != nil {
		return fmt.Errorf("write down templates and leases: %w", err)
	}
	return nil
}

// saveNow is save for a caller that does not hold p.mu.
func (p *Pool) saveNow() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.save()
}

// load reads the file, if there is one.
func (p *Pool) load() error {
	var r record
	err := instance.ReadJSON(p.config.File, &r)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find templates and leases: %w\nhint: without that file the instance has none", err)
	}
	if r.Paused != nil {
		p.paused = r.Paused
	}
	p.ended = r.Ended
	if r.Limits != nil {
		p.limits = *r.Limits
		p.queue.setLimit(p.limits.MaxDatabases)
		p.spares.setLimits(p.limits)
	}
	for _, t := range r.Templates {
		p.templates[t.Name] = &tmpl{name: t.Name, family: t.Family, key: t.Key, made: t.Made, supply: &supply{name: t.Name, used: t.Used}}
		p.spares.add(p.templates[t.Name].supply)
	}
	for _, l := range r.Leases {
		if p.leases.load(l) {
			p.queue.occupy()
		}
	}
	for _, name := range r.Builds {
		p.builds[name] = &build{done: make(chan struct{}), made: true} // whose time has run out
	}
	return nil
}

// Left returns the databases that file records for leases, with their accounts: left has those
// to remove from a copy of the data, kept those that are part of it. Both are empty if the file
// does not exist. wake enables the events that had been paused in the templates of the copy.
func Left(file string) (left, kept map[string]dbconn.Login, wake func(context.Context, *sql.Conn) error, err error) {
	p := unopened(Config{File: file})
	if err := p.load(); err != nil {
		return nil, nil, nil, err
	}
	left, kept = p.leases.logins()
	wake = func(ctx context.Context, conn *sql.Conn) error {
		for name, events := range p.paused {
			if err := template.Resume(ctx, conn, name, events); err != nil && !errors.Is(err, template.ErrNoDatabase) {
				return err
			}
		}
		return nil
	}
	return left, kept, wake, nil
}

// Holds reports whether file records templates or leases, besides databases that are kept.
func Holds(file string) (bool, error) {
	p := unopened(Config{File: file})
	if err := p.load(); err != nil {
		return false, err
	}
	leased, _ := p.leases.logins()
	return len(p.templates)+len(p.builds)+len(leased) > 0, nil
}

// Inherit writes the file of an instance that starts with a copy of another's data. The new
// instance has no templates; once it runs, its pool removes the clones that the other had
// leased, except kept ones.
func Inherit(from, to string) error {
	p := unopened(Config{File: from})
	if err := p.load(); err != nil {
		return err
	}
	if !p.leases.inherit() && len(p.paused) == 0 {
		return nil
	}
	clear(p.templates)
	clear(p.builds) // what they left is a database like any other: there is no telling whose
	p.config.File = to
	return p.save()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Rewound adapts the file of an instance whose data directory, dataDir, now has the data of
// another moment: that of mark, or, if mark is nil, that of the instance before a rewind that
// failed. Templates lose their keys, since what a key stands for may have been half built at
// that moment. Builds are forgotten, and so are templates, with their clones, whose database is
// missing. Clones of the mark that have ended since end again, but one that was kept is there again.
// undo writes the file back as it was.
func Rewound(file, dataDir string, mark *instance.Mark) (undo func() error, err error) {
	var before record
	p := unopened(Config{File: file, DataDir: dataDir})
	undo = func() error { return nil }
	if err := p.load(); err != nil {
		return undo, err
	}
	was := len(p.paused)
	var clones []leaseRecord
	if mark != nil {
		p.paused = mark.Paused
		if len(mark.Leases) > 0 {
			if err := json.Unmarshal(mark.Leases, &clones); err != nil {
				return undo, fmt.Errorf("read the leases of mark %s: %w", mark.Label, err)
			}
		}
	}
	if len(p.templates)+len(p.builds)+was+len(p.paused)+len(clones) == 0 {
		return undo, nil
	}
	if err := instance.ReadJSON(file, &before); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return undo, err
	}
	undo = func() error { return instance.WriteJSON(file, before) }
	for name, t := range p.templates {
		if t.key = ""; !p.lost(name) {
			continue
		}
		delete(p.templates, name)
		p.leases.disown(name)
	}
	clear(p.builds)
	if mark != nil {
		p.ended = p.leases.again(clones)
	}
	return undo, p.save()
}

// lost reports whether the database of a template is not there, as far as files tell.
func (p *Pool) lost(name string) bool {
	if !dbconn.PlainName(name) { // its directory is called otherwise
		return false
	}
	dir, err := os.OpenRoot(p.config.DataDir)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	list, err := fs.ReadDir(dir.FS(), ".")
	// With lower_case_table_names its directory has another case.
	return err == nil && !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) })
}
