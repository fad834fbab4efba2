package pool

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// record is the file in which a Pool keeps what outlives it. It holds passwords.
type record struct {
	Templates []templateRecord `json:"templates"`
	Leases    []leaseRecord    `json:"leases"`
}

type templateRecord struct {
	Name string    `json:"name"`
	Made time.Time `json:"made"`
}

type leaseRecord struct {
	Name       string       `json:"name"`
	Template   string       `json:"template"`
	Login      server.Login `json:"login"`
	TTLSeconds float64      `json:"ttl_s"`
	Expires    time.Time    `json:"expires"`
}

// save writes the file. The caller holds p.mu. When leases were last used is written with
// the next change only.
func (p *Pool) save() error {
	r := record{Templates: []templateRecord{}, Leases: []leaseRecord{}}
	for name, t := range p.templates {
		r.Templates = append(r.Templates, templateRecord{name, t.made})
	}
	for _, l := range p.leases {
		if l.ready {
			r.Leases = append(r.Leases, leaseRecord{l.Name, l.Template, l.Login, l.TTL.Seconds(), l.expires})
		}
	}
	slices.SortFunc(r.Templates, func(a, b templateRecord) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Leases, func(a, b leaseRecord) int { return strings.Compare(a.Name, b.Name) })
	if err := instance.WriteJSON(p.config.File, r); err != nil {
		return fmt.Errorf("write down templates and leases: %w", err)
	}
	return nil
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
	for _, t := range r.Templates {
		p.templates[t.Name] = &tmpl{made: t.Made}
	}
	for _, l := range r.Leases {
		p.leases[l.Name] = &lease{
			Name: l.Name, Template: l.Template, Login: l.Login, TTL: time.Duration(l.TTLSeconds * float64(time.Second)), expires: l.Expires, ready: true,
		}
	}
	return nil
}

// Left returns the databases, with their accounts, of the leases that a file names, none
// if there is no file.
func Left(file string) (map[string]server.Login, error) {
	p := &Pool{config: Config{File: file}, templates: map[string]*tmpl{}, leases: map[string]*lease{}}
	if err := p.load(); err != nil {
		return nil, err
	}
	left := map[string]server.Login{}
	for name, l := range p.leases {
		left[name] = l.Login
	}
	return left, nil
}

// Inherit writes the file of an instance that begins with the data of another: it has no
// templates, and what the other's leases left is removed once it runs.
func Inherit(from, to string) error {
	p := &Pool{config: Config{File: from}, templates: map[string]*tmpl{}, leases: map[string]*lease{}}
	if err := p.load(); err != nil {
		return err
	}
	if len(p.leases) == 0 {
		return nil
	}
	clear(p.templates)
	for _, l := range p.leases {
		l.expires = time.Time{}
	}
	p.config.File = to
	return p.save()
}
