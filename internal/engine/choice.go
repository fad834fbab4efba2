package engine

import (
	"cmp"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Choice tells what asks for a field of a spec.
type Choice struct {
	// By is what the user knows it by: a flag, a variable of the environment.
	By string
	// Standing says that it was not given with this request: it is for all that are made.
	Standing bool
}

// Choices are the fields of a spec that are asked for, by their names; see Fields.
type Choices map[string]Choice

// Fields are the names of the fields of a spec.
func Fields() []string {
	var names []string
	for _, f := range fields(instance.Spec{}) {
		names = append(names, f.name)
	}
	return names
}

// Difference is a field of an instance that was made otherwise than is asked for.
type Difference struct {
	Choice   Choice
	Was, Now string
}

func (d Difference) String() string {
	return fmt.Sprintf("  %s: made with %q, now %q", d.Choice.By, d.Was, d.Now)
}

// field is one field of a spec: its value as people compare it, and how another
// spec takes it over.
type field struct {
	name, value string
	give        func(to *instance.Spec)
}

// fields are all fields of a spec.
func fields(s instance.Spec) []field {
	set := make([]string, 0, len(s.Set))
	for k, v := range s.Set {
		set = append(set, k+"="+v)
	}
	sort.Strings(set)
	var from []string
	for _, source := range s.From {
		from = append(from, source.String())
	}
	return []field{
		{"server", cmp.Or(s.Server, string(server.MariaDB)), func(to *instance.Spec) { to.Server = s.Server }},
		// A key belongs to its source.
		{"from", strings.Join(from, " "), func(to *instance.Spec) { to.From, to.Key = s.From, "" }},
		{"key", s.Key, func(to *instance.Spec) { to.Key = s.Key }},
		{"database", s.Database, func(to *instance.Spec) { to.Database = s.Database }},
		{"user", s.User, func(to *instance.Spec) { to.User = s.User }},
		{"password-file", s.PasswordFile, func(to *instance.Spec) { to.PasswordFile = s.PasswordFile }},
		{"port", strconv.Itoa(s.Port), func(to *instance.Spec) { to.Port = s.Port }},
		{"volume", s.Volume, func(to *instance.Spec) { to.Volume = s.Volume }},
		{"tmpdir", s.TmpDir, func(to *instance.Spec) { to.TmpDir = s.TmpDir }},
		{"confine", cmp.Or(s.Confine, instance.ConfineOn), func(to *instance.Spec) { to.Confine = s.Confine }},
		{"set", strings.Join(set, " "), func(to *instance.Spec) { to.Set = s.Set }},
		{"log", s.LogUse(), func(to *instance.Spec) { to.Log = s.Log }},
	}
}

// Differences returns what is asked for and differs from what an instance was made with. What is
// not asked for is as it was.
func (c Choices) Differences(was, now instance.Spec) []Difference {
	var diff []Difference
	before, after := fields(was), fields(now)
	for i, f := range after {
		if choice, asked := c[f.name]; asked && f.value != before[i].value {
			diff = append(diff, Difference{Choice: choice, Was: before[i].value, Now: f.value})
		}
	}
	return diff
}

// Merge returns was with what is asked for replaced.
func (c Choices) Merge(was, now instance.Spec) instance.Spec {
	for _, f := range fields(now) {
		if _, asked := c[f.name]; asked {
			f.give(&was)
		}
	}
	return was
}

// settled returns now, with what the instance fulfils already as it was asked for
// when it was made: RAMARIA_SERVER=mariadb has no quarrel with a MariaDB 11.8. asked is what asks for
// a volume.
func (e *Engine) settled(r *instance.Record, now instance.Spec, asked Choice) (instance.Spec, error) {
	fulfils := func() (bool, error) { return software.Narrower(r.Spec.Server, now.Server) }
	if i, err := e.Registry.Open(r.Name); err == nil { // else it is gone, and only its record tells
		fulfils = func() (bool, error) { return software.Fulfils(i.Server, now.Server) }
	}
	ok, err := fulfils()
	if err != nil {
		return now, RequestError{err}
	}
	if ok {
		now.Server = r.Spec.Server
	}
	want, err := volume.ParseSpec(now.Volume)
	if err != nil {
		return now, RequestError{err}
	}
	lies := want.Kind == volume.Auto || string(want.Kind) == r.Volume
	switch {
	case asked.Standing && !lies:
		// Where data lies changes nothing of what a test sees: the variable is for what is made.
		e.note("note: instance %s lies in volume %s; %s=%s is for new ones", r.Name, r.Volume, asked.By, now.Volume)
		fallthrough
	case asked.Standing, want.Size == 0 && lies:
		now.Volume = r.Spec.Volume
	}
	return now, nil
}
