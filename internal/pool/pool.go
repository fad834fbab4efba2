// Package pool keeps the templates of an instance, and its leases: clones of templates,
// each of which one test holds exclusively until it is done.
//
// The invariant: a database is leased only if it equals its template. Where that is
// uncertain (after a restart of the server, a failed reset, a log that cannot be read) the
// pool clones the database again.
package pool

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/reset"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

const (
	// readInterval is how often the log is read while no reset asks: the server may then
	// remove it up to there.
	readInterval = 200 * time.Millisecond
	// expireInterval is how often leases are looked at.
	expireInterval = time.Second
)

// Errors of a Pool's methods match one of these, or one of package reset.
var (
	ErrNotFound = errors.New("not found")                   // no such template, lease or database
	ErrTaken    = errors.New("the name is taken")           // by another database
	ErrInvalid  = errors.New("invalid request")             // whatever the state of the pool
	ErrInUse    = errors.New("it is in use")                // a template with clones, or one that is being built or changed
	ErrKept     = errors.New("it is kept as it is")         // a kept lease has no savepoint
	ErrFull     = errors.New("the pool is full")            // Limits.MaxDatabases leases are in use
	ErrClosed   = errors.New("the server is being stopped") // Close was called

	// ErrUnclonable says that a database cannot be a template.
	ErrUnclonable = template.ErrUnclonable
)

// Config describes the server that a Pool works on.
type Config struct {
	Server *server.Server
	// DataDir is the server's data directory. Account owns the files in it.
	DataDir string
	Account server.Account
	// File is where the pool records templates and leases.
	File string
	// Gone reports that the path File now belongs to another pool; nil for never.
	Gone func() bool
	// Endpoint is that of the application's account. Leases have another login and database. The account
	// is the definer of what clones must not have of others; see template.Definers.
	Endpoint dbconn.Endpoint
	// Login is the supervisor's account.
	Login    dbconn.Login
	ServerID uint32
	Log      *slog.Logger
	// FoldsNames says that the server stores database names in lower case, however they are
	// written.
	FoldsNames bool
	// Limits are those of an instance whose File has none yet.
	Limits Limits
	// Idle is the least time that unused spare clones stay; 0 is DefaultIdle.
	Idle time.Duration
	// Room returns how many bytes can still be written; nil means no limit.
	Room func() (int64, error)
}

// Pool has the templates and leases of one running server. It may be used by several
// goroutines.
//
// It is made of parts that each have an invariant and a lock: queue says whose turn it is, spares has
// what is made ahead, leases says who has what, sessions has the connections. Locks are taken in the
// order lease.mu, Pool.mu, queue.mu, spares.mu, leases.mu, where more than one is.
type Pool struct {
	config Config
	// life ends with Close; behind is what goes on until then.
	life   context.Context
	end    context.CancelFunc
	behind sync.WaitGroup

	queue    *queue
	spares   *spares
	leases   *leases
	sessions *sessions
	counters *counters

	// reading is held while the shape of a template is read.
	reading sync.Mutex

	// mu guards the templates, and the file: what is in it is saved in the order of the changes.
	mu        sync.Mutex
	db        *sql.DB // nil until there is something to do
	journal   *reset.Journal
	engine    *reset.Engine
	templates map[string]*tmpl
	builds    map[string]*build
	// paused are the events that were enabled before their database became a template, by database.
	paused map[string][]string
	// ended are the accounts of leases that have ended, and that came back with the data of a mark.
	ended  []dbconn.Login
	limits Limits
	// closed says that the file is the next run's.
	closed bool
}

// Limits bound a Pool.
type Limits struct {
	// MaxDatabases is how many leases may be in use at a time. Kept leases and spare clones do
	// not count.
	MaxDatabases int `json:"max_databases"`
	// Spare is how many clones of each template are made ahead of requests, if there is room.
	Spare int `json:"spare"`
}

// DefaultLimits are those of a new instance.
var DefaultLimits = Limits{MaxDatabases: 64, Spare: 2}

// Limits returns the limits.
func (p *Pool) Limits() Limits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits
}

// SetLimits changes the limits. Leases above a lowered limit stay. The error matches ErrInvalid
// if a limit is out of range.
func (p *Pool) SetLimits(l Limits) error {
	if l.MaxDatabases < 1 || l.Spare < 0 {
		return fmt.Errorf("change the limits of the pool: %w: max_databases must be at least 1, and spare at least 0", ErrInvalid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.limits
	p.limits = l
	if err := p.save(); err != nil {
		p.limits = before
		return err
	}
	old := p.spares.setLimits(l)
	p.queue.setLimit(l.MaxDatabases)
	p.spares.adjust(old)
	return nil
}

// Open takes over the templates and leases that the last run recorded; each lease is cloned
// again at its next reset. A Pool without templates costs nothing.
func Open(config Config) (*Pool, error) {
	p := unopened(config)
	if err := p.load(); err != nil {
		p.end()
		return nil, err
	}
	if p.leftovers() { // to be removed, and put right, by and by
		p.behind.Go(func() {
			p.resumeOrphans()
			p.revokeEnded()
		})
	}
	return p, nil
}

// leftovers reports whether the last run left databases that no lease or build owns.
func (p *Pool) leftovers() bool {
	return p.leases.spares() || len(p.builds)+len(p.orphans())+len(p.ended) > 0
}

// resumeOrphans starts the pool, which removes the databases that no lease owns, and enables the events of
// orphans.
func (p *Pool) resumeOrphans() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.start(); err != nil {
		p.config.Log.Error("cannot remove databases that no lease owns", "error", err)
	}
	for _, name := range p.orphans() {
		p.resume(name)
	}
}

// revokeEnded removes the accounts of leases that have ended, and that came back with the data of a mark.
// What fails is left to the next run.
func (p *Pool) revokeEnded() {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if len(ended) == 0 {
		return
	}
	s, done, err := p.session(p.life)
	if err == nil {
		for _, l := range ended {
			if _, err = s.Conn.ExecContext(p.life, p.config.Server.Dialect().EndLeaseSQL(l)); err != nil {
				break
			}
			if err = s.End(p.life, l.User); err != nil {
				break
			}
		}
		done(err)
	}
	if err == nil {
		p.mu.Lock()
		p.ended = nil
		err = p.save()
		p.mu.Unlock()
	}
	if err != nil && p.life.Err() == nil {
		p.config.Log.Error("cannot remove the accounts of leases that have ended", "error", err)
	}
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
	p := &Pool{
		config: config, life: life, end: end, limits: config.Limits,
		queue: newQueue(life, config.Limits.MaxDatabases), leases: newLeases(config.Endpoint), sessions: newSessions(), counters: newCounters(),
		templates: map[string]*tmpl{}, builds: map[string]*build{}, paused: map[string][]string{},
	}
	p.spares = &spares{
		maker: p, leases: p.leases, life: life, run: p.behind.Go, log: config.Log, idle: config.Idle,
		limits: config.Limits, of: map[string]*supply{},
	}
	return p
}

// Close ends the pool's goroutines and connections; requests that wait fail with ErrClosed. The
// databases stay as they are.
func (p *Pool) Close() {
	p.end()
	// Callers that start background work hold one of these locks, and start none afterwards.
	p.mu.Lock()
	p.spares.refuse(ErrClosed)
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
	p.sessions.close()
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
	db.SetMaxOpenConns(2 * maxSessions) // each may have another look at what it waits for
	db.SetMaxIdleConns(maxSessions)
	j.Read() // what stands there is about nothing that is watched
	r := &reset.Engine{Server: p.config.Server, Journal: j, ServerID: p.config.ServerID, DB: db, Leased: leased, StandIn: p.config.Endpoint.User}
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
	p.sessions.open = func(ctx context.Context) (*reset.Session, error) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		return reset.NewSession(p.config.Server, conn), nil
	}
	if room, known := p.measure(); known {
		p.spares.setRoom(room)
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

// maintain compares templates that may have changed, ends leases whose time has run out, and keeps
// as many spare clones as there is room for.
func (p *Pool) maintain() {
	p.verify()
	room, known := p.measure()
	p.spares.maintain(time.Now(), room, known)
	p.expire(time.Now())
}

// measure returns how much room there is, in bytes, if that can be known.
func (p *Pool) measure() (room int64, known bool) {
	if p.config.Room == nil {
		return math.MaxInt64, true
	}
	room, err := p.config.Room()
	return max(0, room), err == nil
}

// ReadLog reads the binary log to its end and returns the position reached: the server may
// purge the log up to there. A pool that reads no log yet returns the zero Position.
func (p *Pool) ReadLog() binlog.Position {
	p.mu.Lock()
	j := p.journal
	p.mu.Unlock()
	if j == nil {
		return binlog.Position{}
	}
	return j.Read()
}

// session returns a session for the caller alone, and the function that gives it back: with an
// error it is not used again.
func (p *Pool) session(ctx context.Context) (*reset.Session, func(error), error) {
	p.mu.Lock()
	err := p.start()
	p.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	return p.sessions.take(ctx)
}
