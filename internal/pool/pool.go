// Package pool keeps the templates of an instance, and the leases: clones of templates
// that one test has for itself, and that are put back when it is done.
//
// The invariant: a database that is handed out is as its template was, or is not handed
// out. Whatever cannot be known to be so is made again: after a restart of the server,
// after a reset that failed, after a log that cannot be read.
package pool

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/metrics"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

const (
	// sessions is how many databases can be worked on at the same time.
	sessions = 8
	// readInterval is how often the log is read while no reset asks: the server may then
	// remove it up to there.
	readInterval = 200 * time.Millisecond
	// expireInterval is how often leases are looked at.
	expireInterval = time.Second
)

// What errors match.
var (
	ErrNotFound = errors.New("not found")
	ErrTaken    = errors.New("the name is taken")
	ErrInvalid  = errors.New("invalid request")
	ErrInUse    = errors.New("it is in use")
	ErrKept     = errors.New("it is kept as it is")
	ErrFull     = errors.New("the pool is full")
	ErrClosed   = errors.New("the server is being stopped")
	// ErrUnclonable says that a database cannot be a template.
	ErrUnclonable = template.ErrUnclonable
)

// Config is the server that a Pool works on.
type Config struct {
	Server *server.Server
	// DataDir is the server's; Account owns what lies in it.
	DataDir string
	Account server.Account
	// File is where templates and leases are written down.
	File string
	// Gone, nil for never, reports that what lies under File's name is another pool's by now.
	Gone func() bool
	// Endpoint is that of the application's account; leases differ in login and database.
	Endpoint dbconn.Endpoint
	// Login is the supervisor's account.
	Login    dbconn.Login
	ServerID uint32
	Log      *slog.Logger
	// FoldsNames says that the server keeps names in lower case, however they are written.
	FoldsNames bool
	// Limits are those of an instance that has none of its own yet.
	Limits Limits
	// Idle is for how long at least spare clones stay that are not asked for, 0 for DefaultIdle.
	Idle time.Duration
	// Room is how many bytes can still be written, nil for any number.
	Room func() (int64, error)
}

// Pool has the templates and leases of one running server. It may be used by several
// goroutines.
type Pool struct {
	config Config
	// life ends with Close; behind is what goes on until then.
	life   context.Context
	end    context.CancelFunc
	behind sync.WaitGroup

	// reading is held while a request reads the shape of a template.
	reading sync.Mutex

	mu        sync.Mutex
	db        *sql.DB // nil until there is something to do
	journal   *reset.Journal
	engine    *reset.Engine
	templates map[string]*tmpl
	leases    map[string]*lease
	builds    map[string]*build
	// paused are the events that were enabled before their database became a template, by database.
	paused map[string][]string
	limits Limits
	// used is how many leases count for the limit, and queue those who wait for their turn.
	used  int
	queue []*ticket
	// closed says that the file is the next run's.
	closed bool
	// room is how many bytes may be written, as of the last time that it could be measured, and
	// unwanted has what is being removed.
	room     int64
	unwanted []*lease
	counters counters

	// free are the sessions that are not in use, the one that was used last behind the
	// others, and busy has a place for each that is.
	free []*reset.Session
	busy chan struct{}
}

// Open takes over the templates and leases of the last run; they are made again when they
// are reset. A Pool without them costs nothing.
func Open(config Config) (*Pool, error) {
	p := unopened(config)
	if err := p.load(); err != nil {
		p.end()
		return nil, err
	}
	if p.leftovers() { // to be removed, and put right, by and by
		p.behind.Go(func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if err := p.start(); err != nil {
				p.config.Log.Error("cannot remove databases that no lease owns", "error", err)
			}
			for _, name := range p.orphans() {
				p.resume(name)
			}
		})
	}
	return p, nil
}

// leftovers reports whether the last run left databases that no lease or build owns.
func (p *Pool) leftovers() bool {
	for _, l := range p.leases {
		if l.spare {
			return true
		}
	}
	return len(p.builds)+len(p.orphans()) > 0
}

// orphans are the databases with events that were enabled, and that are templates no more.
func (p *Pool) orphans() (list []string) {
	for name := range p.paused {
		if p.templates[name] == nil {
			list = append(list, name)
		}
	}
	return list
}

func unopened(config Config) *Pool {
	life, end := context.WithCancel(context.Background())
	config.Idle = cmp.Or(config.Idle, DefaultIdle)
	config.Limits.MaxDatabases = cmp.Or(config.Limits.MaxDatabases, DefaultLimits.MaxDatabases)
	return &Pool{
		config: config, counters: counters{resets: map[reset.Way]*metrics.Histogram{}}, life: life, end: end, limits: config.Limits,
		templates: map[string]*tmpl{}, leases: map[string]*lease{}, builds: map[string]*build{}, paused: map[string][]string{}, busy: make(chan struct{}, sessions),
	}
}

// Close lets the server go. Databases stay, with what is in them.
func (p *Pool) Close() {
	p.end()
	p.mu.Lock()
	for _, t := range p.templates {
		t.refuse(ErrClosed)
	}
	p.mu.Unlock()
	p.behind.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.db == nil {
		p.closed = true
		return
	}
	if err := p.save(); err != nil { // when leases were last used
		p.config.Log.Error("cannot write down templates and leases", "error", err)
	}
	p.closed = true
	p.journal.Close()
	for _, s := range p.free {
		s.Conn.Close()
	}
	p.free = nil
	p.db.Close()
	p.db = nil
}

// start begins to follow the log. The caller holds p.mu.
func (p *Pool) start() error {
	if p.life.Err() != nil {
		return ErrClosed
	}
	if p.db != nil {
		return nil
	}
	j, err := reset.OpenJournal(p.config.DataDir, server.BinlogName)
	if err != nil {
		return err
	}
	db, err := p.config.Server.Dialect().OpenUnlogged(p.config.Endpoint.Socket, p.config.Login)
	if err != nil {
		j.Close()
		return err
	}
	db.SetMaxOpenConns(2 * sessions) // each may have another look at what it waits for
	db.SetMaxIdleConns(sessions)
	j.Read() // what stands there is about nothing that is watched
	r := &reset.Engine{Server: p.config.Server, Journal: j, ServerID: p.config.ServerID, DB: db, Leased: leased}
	conn, err := db.Conn(p.life)
	if err == nil {
		err = errors.Join(r.Begin(p.life, conn), conn.Close())
	}
	if err != nil {
		db.Close()
		j.Close()
		return fmt.Errorf("begin to follow the server: %w", err)
	}
	p.db, p.journal, p.engine = db, j, r
	if room, known := p.measure(); known {
		p.room = room
	}
	p.every(readInterval, func() { j.Read() })
	// Apart from that, since databases are removed one after the other, which takes its time.
	p.every(expireInterval, p.maintain)
	return nil
}

// every calls f at that interval, until Close.
func (p *Pool) every(interval time.Duration, f func()) {
	p.behind.Go(func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case <-p.life.Done():
				return
			case <-ticks.C:
				f()
			}
		}
	})
}

// ReadLog takes in what the binary log has, and returns up to where: the server may remove what is
// before. The zero Position is that of a pool that reads no log yet.
func (p *Pool) ReadLog() binlog.Position {
	p.mu.Lock()
	j := p.journal
	p.mu.Unlock()
	if j == nil {
		return binlog.Position{}
	}
	return j.Read()
}

// session returns a session for the caller alone, and what gives it back: with an error
// it is not used again.
func (p *Pool) session(ctx context.Context) (*reset.Session, func(error), error) {
	p.mu.Lock()
	err := p.start()
	db := p.db
	p.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	select {
	case p.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	s := p.lastUsed()
	if s == nil {
		conn, err := db.Conn(ctx)
		if err != nil {
			<-p.busy
			return nil, nil, fmt.Errorf("connect to the server: %w", err)
		}
		s = reset.NewSession(p.config.Server, conn)
	}
	return s, func(err error) {
		defer func() { <-p.busy }()
		if err == nil && p.keep(s) {
			return
		}
		// It may be in the middle of something: the driver is to close it.
		_ = s.Conn.Raw(func(any) error { return driver.ErrBadConn })
		s.Conn.Close()
	}, nil
}

// lastUsed takes the free session that was used last, nil if there is none: what its thread in
// the server needs is in the processor's caches most likely.
func (p *Pool) lastUsed() *reset.Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	if last < 0 {
		return nil
	}
	s := p.free[last]
	p.free = p.free[:last]
	return s
}

// keep makes a session free for others, unless there will be none.
func (p *Pool) keep(s *reset.Session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.free = append(p.free, s)
	return true
}
