// Package pool keeps the templates of an instance, and the leases: clones of templates
// that one test has for itself, and that are put back when it is done.
//
// The invariant: a database that is handed out is as its template was, or is not handed
// out. Whatever cannot be known to be so is made again: after a restart of the server,
// after a reset that failed, after a log that cannot be read.
package pool

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/rewind"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/template"
)

const (
	// sessions is how many databases can be worked on at the same time.
	sessions = 8
	// readInterval is how often the log is read while nobody asks: the server may then
	// remove it up to there.
	readInterval = 200 * time.Millisecond
	// expireInterval is how often leases are looked at.
	expireInterval = time.Second
)

// What errors match.
var (
	ErrNotFound = errors.New("there is none")
	ErrTaken    = errors.New("the name is taken")
	ErrInvalid  = errors.New("it makes no sense")
	ErrInUse    = errors.New("it is in use")
	ErrClosed   = errors.New("the server is being stopped")
)

// Config is the server that a Pool works on.
type Config struct {
	Server *server.Server
	// DataDir is the server's; Account owns what lies in it.
	DataDir string
	Account server.Account
	// File is where templates and leases are written down.
	File string
	// Endpoint is that of the application's account; leases differ in login and database.
	Endpoint server.Endpoint
	// Login is the supervisor's account.
	Login    server.Login
	ServerID uint32
	Log      *slog.Logger
}

// Pool has the templates and leases of one running server. It may be used by several
// goroutines.
type Pool struct {
	config Config
	// life ends with Close; behind is what goes on until then.
	life   context.Context
	end    context.CancelFunc
	behind sync.WaitGroup

	// reading is held by whoever reads the shape of a template.
	reading sync.Mutex

	mu        sync.Mutex
	db        *sql.DB // nil until there is something to do
	journal   *rewind.Journal
	rewinder  *rewind.Rewinder
	templates map[string]*tmpl
	leases    map[string]*lease

	free chan *rewind.Session
}

// tmpl is a template.
type tmpl struct {
	// shape is nil until it is asked for after a restart.
	shape *template.Shape
	made  time.Time
}

// Open takes over the templates and leases of the last run; they are made again when they
// are reset. A Pool without them costs nothing.
func Open(config Config) (*Pool, error) {
	life, end := context.WithCancel(context.Background())
	p := &Pool{
		config: config, life: life, end: end, templates: map[string]*tmpl{}, leases: map[string]*lease{},
		free: make(chan *rewind.Session, sessions),
	}
	if err := p.load(); err != nil {
		end()
		return nil, err
	}
	return p, nil
}

// Close lets the server go. Databases stay, with what is in them.
func (p *Pool) Close() {
	p.end()
	p.behind.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.db == nil {
		return
	}
	p.journal.Close()
	for {
		select {
		case s := <-p.free:
			s.Conn.Close()
			continue
		default:
		}
		break
	}
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
	j, err := rewind.OpenJournal(p.config.DataDir, server.BinlogName)
	if err != nil {
		return err
	}
	db, err := p.config.Server.OpenUnlogged(p.config.Endpoint.Socket, p.config.Login)
	if err != nil {
		j.Close()
		return err
	}
	db.SetMaxOpenConns(sessions)
	db.SetMaxIdleConns(sessions)
	j.Read() // what stands there is about nothing that is watched
	p.db, p.journal = db, j
	p.rewinder = &rewind.Rewinder{Server: p.config.Server, Journal: j, ServerID: p.config.ServerID}
	p.behind.Go(p.look)
	return nil
}

// look reads the log and ends leases whose time has run out, until Close.
func (p *Pool) look() {
	read, expire := time.NewTicker(readInterval), time.NewTicker(expireInterval)
	defer read.Stop()
	defer expire.Stop()
	for {
		select {
		case <-p.life.Done():
			return
		case <-read.C:
			p.journal.Read()
		case now := <-expire.C:
			p.expire(now)
		}
	}
}

// ReadLog takes in what the binary log has, so that the server may remove it.
func (p *Pool) ReadLog() {
	p.mu.Lock()
	j := p.journal
	p.mu.Unlock()
	if j != nil {
		j.Read()
	}
}

// session returns a session for the caller alone, and what gives it back: with an error
// it is not used again.
func (p *Pool) session(ctx context.Context) (*rewind.Session, func(error), error) {
	p.mu.Lock()
	err := p.start()
	db := p.db
	p.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	var s *rewind.Session
	select {
	case s = <-p.free:
	default:
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("connect to the server: %w", err)
		}
		s = rewind.NewSession(p.config.Server, conn)
	}
	return s, func(err error) {
		if err == nil {
			select {
			case p.free <- s:
				return
			default:
			}
		}
		// It may be in the middle of something: the driver is to close it.
		_ = s.Conn.Raw(func(any) error { return driver.ErrBadConn })
		s.Conn.Close()
	}, nil
}
