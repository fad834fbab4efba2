package ramariatest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// EnvKeep is the environment variable that, set to 1, turns the option Keep on for all tests.
const EnvKeep = "RAMARIA_KEEP"

// DefaultTTL is how long a database outlives its test process. DebugTTL is the same for a
// process under a debugger, which may stop it for a long time.
const (
	DefaultTTL = time.Minute
	DebugTTL   = time.Hour
)

// minTTL is the least that can be renewed in time.
const minTTL = 3 * time.Second

// An Option sets what database New and NewDatabase return.
type Option func(*options)

type options struct {
	template string
	source   Source
	ttl      time.Duration
	keep     bool
	params   string
}

// Template sets the template of the database, by name (A-Z, a-z, 0-9 and _). If the template
// does not exist, it is made of source; without a source it must exist, as made by `ramaria
// template add`. Without this option the database is empty.
//
// A template is made once for all tests, processes and runs that use the instance, and again
// when its source changes. Tests that need it wait meanwhile.
func Template(name string, source ...Source) Option {
	return func(o *options) {
		o.template, o.source = name, Source{}
		if len(source) > 0 {
			o.source = source[0]
		}
	}
}

// TTL sets how long the instance keeps the database without a renewal. A running test process
// renews it, so the TTL matters if the process is killed, or stopped for longer. At least three
// seconds; 0 is DefaultTTL, or DebugTTL under a debugger.
func TTL(d time.Duration) Option {
	return func(o *options) { o.ttl = d }
}

// Keep keeps the database of a failed test until `ramaria db drop`, and logs how to reach it.
// RAMARIA_KEEP=1 in the environment does the same for all tests.
func Keep() Option {
	return func(o *options) { o.keep = true }
}

// Params sets parameters of the driver's DSN, such as "parseTime=true&loc=UTC"; see
// github.com/go-sql-driver/mysql. They also apply to the database that the function of Build
// fills.
func Params(params string) Option {
	return func(o *options) { o.params = params }
}

// A Source is what a template is made of: FromDump or Build.
type Source struct {
	dumps []string
	key   string
	fill  func(context.Context, *sql.DB) error
}

// FromDump makes a template of dumps: .sql, .sql.gz, .sql.zst, .sql.xz, .sql.bz2 and .zip files, and
// directories of them. When their content changes, the template is made again. FromDump runs
// the ramaria program, even if RAMARIA_API is set.
func FromDump(paths ...string) Source { return Source{dumps: paths} }

// Build makes a template with a function that fills an empty database. The key, of 1 to 1024
// bytes, must identify everything that the content depends on, for example by a hash of the
// migrations. The account of the database that fill gets may do anything on the server. An
// error of fill fails all tests of the process that use the template.
func Build(key string, fill func(ctx context.Context, db *sql.DB) error) Source {
	return Source{key: key, fill: fill}
}

// emptyName is the template of databases without one.
const emptyName = "empty"

func newOptions(list []Option) options {
	o := options{
		template: emptyName,
		source:   Build("1", func(context.Context, *sql.DB) error { return nil }),
		keep:     os.Getenv(EnvKeep) == "1",
	}
	for _, set := range list {
		set(&o)
	}
	switch {
	case o.ttl == 0 && debugged():
		o.ttl = DebugTTL
	case o.ttl == 0:
		o.ttl = DefaultTTL
	}
	o.ttl = max(o.ttl, minTTL)
	return o
}

// identity tells templates of one process apart.
func (o *options) identity() string {
	list := []string{o.template, o.source.key}
	for _, path := range o.source.dumps {
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		list = append(list, path)
	}
	return strings.Join(list, "\x00")
}

// debugged says whether a debugger runs this process (proc_pid_status(5), TracerPid).
func debugged() bool {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	_, rest, found := strings.Cut(string(status), "\nTracerPid:")
	pid, _, _ := strings.Cut(rest, "\n")
	return found && strings.TrimSpace(pid) != "0"
}
