package ramariatest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// EnvKeep names the variable that, set to 1, is the option Keep for all tests.
const EnvKeep = "RAMARIA_KEEP"

// DefaultTTL is for how long a database outlives its test process, and DebugTTL the same
// where the process is run by a debugger, which stops it for as long as its user thinks.
const (
	DefaultTTL = time.Minute
	DebugTTL   = time.Hour
)

// minTTL is the least that can be renewed in time.
const minTTL = 3 * time.Second

// An Option says what database New and NewDatabase are to give.
type Option func(*options)

type options struct {
	template string
	source   Source
	ttl      time.Duration
	keep     bool
	params   string
}

// Template says of what the database is a copy: of the template with that name (A-Z, a-z,
// 0-9 and _), which is made of source when it is not there. With no source it must be
// there: `ramaria template add` has made it. Without the option the database is empty.
//
// A template is made once for all tests, processes and runs that use the instance, and
// made again where its source changed. Others wait meanwhile.
func Template(name string, source ...Source) Option {
	return func(o *options) {
		o.template, o.source = name, Source{}
		if len(source) > 0 {
			o.source = source[0]
		}
	}
}

// TTL is for how long the database is kept once it is not renewed: a running test process
// does, so it matters when that is killed, or stopped for longer than this. The least is
// three seconds; 0 is DefaultTTL, or DebugTTL in a debugger.
func TTL(d time.Duration) Option {
	return func(o *options) { o.ttl = d }
}

// Keep keeps the database of a test that failed, and logs how to reach it. It stays until
// `ramaria db drop`. So does the environment: RAMARIA_KEEP=1 go test -run TestOrder
func Keep() Option {
	return func(o *options) { o.keep = true }
}

// Params are parameters of the driver's DSN, such as "parseTime=true&loc=UTC"; see
// github.com/go-sql-driver/mysql. They count for the function of Build too.
func Params(params string) Option {
	return func(o *options) { o.params = params }
}

// A Source is what a template is made of: FromDump or Build.
type Source struct {
	dumps []string
	key   string
	fill  func(context.Context, *sql.DB) error
}

// FromDump makes a template of dumps: .sql, .sql.gz, .sql.zst and .sql.xz files, and directories of
// them. It is made again when their content changes. It takes the ramaria program, also
// where RAMARIA_API is set.
func FromDump(paths ...string) Source { return Source{dumps: paths} }

// Build makes a template by a function that fills an empty database. The key must stand for
// everything that the content depends on, such as a hash of the migrations; it has 1
// to 1024 bytes. The account of the database that fill is given may do anything on the
// server. An error of fill fails all tests of the process that use the template.
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
