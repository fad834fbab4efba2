package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/fixture"
)

// inspect loads the user's dump twice into a server of its own, so that it is known what it
// holds, and which tables hold something else each time: those with the time of the load.
func (p *Data) inspect(ctx context.Context) (err error) {
	s := &PlainServer{Lab: p.Lab, Dir: filepath.Join(p.Lab.Dir, "inspect"), Set: p.Set()}
	defer func() { err = errors.Join(err, s.Remove()) }()
	for _, step := range []func(context.Context) error{s.Initialise, s.Start} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	e := dbconn.Endpoint{Socket: s.Socket(), Login: s.Login}
	client, err := p.Lab.ShellClient(e, s.ClientConfig())
	if err != nil {
		return err
	}
	db, err := dbconn.Open(e.Socket, e.Login, "")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := p.findMissing(ctx, client, db); err != nil {
		return err
	}
	first, err := p.readAll(ctx, db)
	if err != nil {
		return err
	}
	select { // the time has seconds
	case <-time.After(1100 * time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := p.Reload(ctx, client); err != nil {
		return err
	}
	if p.Want, err = p.readAll(ctx, db); err != nil {
		return err
	}
	p.changing = map[dump.TableName]bool{}
	for database, c := range p.Want {
		for _, table := range c.tables() {
			if c[table] != first[database][table] {
				p.changing[dump.TableName{Database: database, Name: table}] = true
			}
		}
	}
	if len(p.changing) > 0 {
		p.Want, err = p.readAll(ctx, db)
	}
	return err
}

// findMissing loads the dump, and finds out which of the databases that it names it does not
// make: those that are not there when a load fails.
func (p *Data) findMissing(ctx context.Context, client ShellClient, db *sql.DB) error {
	failed := p.Reload(ctx, client)
	for err := failed; err != nil; err = p.Reload(ctx, client) {
		next := ""
		for _, name := range p.names {
			var there int
			if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ?", name).Scan(&there); err != nil {
				return err
			}
			if there == 0 && !slices.Contains(p.Missing, name) {
				next = name // they are in the order of the dump
				break
			}
		}
		if next == "" || ctx.Err() != nil {
			return failed
		}
		p.Missing = append(p.Missing, next)
	}
	return nil
}

// Reload is a whole cycle, in three calls of the client.
func (p *Data) Reload(ctx context.Context, c ShellClient) error {
	path, err := p.File(fixture.OneRow)
	if err != nil {
		return err
	}
	return p.Cycle(ctx, c, path)
}

// Cycle drops the database, makes it and loads a file, each by its own call of the client, as
// in the shell script whose figures made people think of RAM.
func (p *Data) Cycle(ctx context.Context, c ShellClient, path string) error {
	for _, statement := range []string{p.Drop(p.Database), p.Create(p.Database)} {
		if statement == "" { // the dump makes it itself
			continue
		}
		if err := c.Execute(ctx, statement); err != nil {
			return err
		}
	}
	return c.File(ctx, p.Database, path)
}

func (p *Data) readAll(ctx context.Context, db *sql.DB) (map[string]Contents, error) {
	all := map[string]Contents{}
	for _, database := range p.Databases() {
		c, err := p.read(ctx, db, database, database)
		if err != nil {
			return nil, err
		}
		all[database] = c
	}
	return all, nil
}

// read is ReadContents of a database that is called name here; of moving tables it has the
// number of rows instead of their checksum.
func (p *Data) read(ctx context.Context, db *sql.DB, database, name string) (Contents, error) {
	c, err := ReadContents(ctx, db, name, nil)
	if err != nil {
		return nil, err
	}
	for _, table := range c.tables() {
		if !p.changing[dump.TableName{Database: database, Name: table}] {
			continue
		}
		var rows int64
		if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+dbconn.QuoteName(name)+"."+dbconn.QuoteName(table)).Scan(&rows); err != nil {
			return nil, err
		}
		definition := c[table][:strings.LastIndex(c[table], withChecksum)]
		c[table] = fmt.Sprintf("%s with %d rows", definition, rows)
	}
	return c, nil
}
