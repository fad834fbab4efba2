package engine

import (
	"cmp"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/fit"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/software"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Option is a flag, or an environment variable, that sets a field of a spec.
type Option struct {
	// Name is the name of the flag or variable.
	Name string
	// Default says that it is a variable, which only sets the default for new instances and was
	// not given with this request.
	Default bool
}

// Options are the given options, by the fields that they set; see Fields.
type Options map[string]Option

// Fields returns the names of the fields of a spec.
func Fields() []string {
	var names []string
	for _, f := range fields(instance.Spec{}) {
		names = append(names, f.name)
	}
	return names
}

// Difference is a field of a spec that an option sets to another value than the one that the
// instance was made with.
type Difference struct {
	// Field is the field's name.
	Field    string
	Option   Option
	Was, Now string
}

func (d Difference) String() string {
	return fmt.Sprintf("  %s: made with %q, now %q", d.Option.Name, d.Was, d.Now)
}

// field is one field of a spec: its value as people compare it, and how another
// spec takes it over.
type field struct {
	name, value string
	copyTo      func(to *instance.Spec)
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
		{"from", strings.Join(from, " "), func(to *instance.Spec) { to.From, to.Key, to.Restored = s.From, "", nil }},
		{"key", s.Key, func(to *instance.Spec) { to.Key = s.Key }},
		{"allow-empty", strconv.FormatBool(s.AllowEmpty), func(to *instance.Spec) { to.AllowEmpty = s.AllowEmpty }},
		{"collations", s.Fit.Collations, func(to *instance.Spec) { to.Fit.Collations = s.Fit.Collations }},
		{"definers", cmp.Or(s.Fit.Definers, fit.Keep), func(to *instance.Spec) { to.Fit.Definers = s.Fit.Definers }},
		{"accounts", cmp.Or(s.Fit.Accounts, fit.Keep), func(to *instance.Spec) { to.Fit.Accounts = s.Fit.Accounts }},
		{"fix", strconv.FormatBool(s.Fit.Fix), func(to *instance.Spec) { to.Fit.Fix = s.Fit.Fix }},
		{"database", s.Database, func(to *instance.Spec) { to.Database = s.Database }},
		{"user", s.User, func(to *instance.Spec) { to.User = s.User }},
		{"password-file", s.PasswordFile, func(to *instance.Spec) { to.PasswordFile = s.PasswordFile }},
		{"port", strconv.Itoa(s.Port), func(to *instance.Spec) { to.Port = s.Port }},
		{"socket", s.Socket, func(to *instance.Spec) { to.Socket = s.Socket }},
		{"front", strconv.Itoa(s.Front), func(to *instance.Spec) { to.Front = s.Front }},
		{"api-listen", cmp.Or(s.APIListen, instance.APIListenOff), func(to *instance.Spec) { to.APIListen = s.APIListen }},
		{"volume", s.Volume, func(to *instance.Spec) { to.Volume = s.Volume }},
		{"tmpdir", s.TmpDir, func(to *instance.Spec) { to.TmpDir = s.TmpDir }},
		{"confine", cmp.Or(s.Confine, instance.ConfineOn), func(to *instance.Spec) { to.Confine = s.Confine }},
		{"set", strings.Join(set, " "), func(to *instance.Spec) { to.Set = s.Set }},
		{"log", s.LogUse(), func(to *instance.Spec) { to.Log = s.Log }},
		{"device-atomic", cmp.Or(s.DeviceAtomic, server.AtomicOff), func(to *instance.Spec) { to.DeviceAtomic = s.DeviceAtomic }},
		{"when-full", cmp.Or(s.WhenFull, instance.WhenFullReadOnly), func(to *instance.Spec) { to.WhenFull = s.WhenFull }},
		{"durable", instance.FormatTimeText(cmp.Or(s.Durable, instance.DurableOff)), func(to *instance.Spec) { to.Durable = s.Durable }},
		{"archive", strings.Join(s.Archive, " "), func(to *instance.Spec) { to.Archive = s.Archive }},
		{"recover-within", instance.FormatTimeText(s.RecoverWithin), func(to *instance.Spec) { to.RecoverWithin = s.RecoverWithin }},
		{"history", instance.FormatTimeText(s.History), func(to *instance.Spec) { to.History = s.History }},
	}
}

// Differences returns the fields that options set and whose value in now differs from that in
// was.
func (o Options) Differences(was, now instance.Spec) []Difference {
	var diff []Difference
	before, after := fields(was), fields(now)
	for i, f := range after {
		if option, given := o[f.name]; given && f.value != before[i].value {
			diff = append(diff, Difference{Field: f.name, Option: option, Was: before[i].value, Now: f.value})
		}
	}
	return diff
}

// Merge returns was, with the fields that options set taken from now.
func (o Options) Merge(was, now instance.Spec) instance.Spec {
	for _, f := range fields(now) {
		if _, given := o[f.name]; given {
			f.copyTo(&was)
		}
	}
	return was
}

// keepSatisfied returns now, with the server and the volume as the instance was made with where
// that satisfies now: a MariaDB 11.8 satisfies RAMARIA_SERVER=mariadb. option sets the volume.
func (e *Engine) keepSatisfied(r *instance.Record, now instance.Spec, option Option) (instance.Spec, error) {
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
	there := want.Kind == volume.Auto || string(want.Kind) == r.Volume
	switch {
	case option.Default && !there:
		// Where data lies changes nothing of what a test sees: the variable is for what is made.
		e.note("note: instance %s lies in volume %s; %s=%s is for new ones", r.Name, r.Volume, option.Name, now.Volume)
		fallthrough
	case option.Default, want.Size == 0 && there:
		now.Volume = r.Spec.Volume
	}
	return now, nil
}
