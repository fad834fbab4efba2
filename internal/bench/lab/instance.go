package lab

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/fixture"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// From returns the flags for an instance with the fixture on a volume, made by the
// server that all rows use.
func (l *Lab) From(volume string) []string {
	return []string{"--server", l.ServerFlag(), "--from", l.Dump, "--volume", volume}
}

// ServerFlag is what --server has to say for the server that all rows use.
func (l *Lab) ServerFlag() string {
	if l.Server.Origin == "path" {
		return l.Server.Daemon.Argv[len(l.Server.Daemon.Argv)-1]
	}
	return string(l.Server.Flavour) + ":" + l.Server.Version.Series()
}

// Build builds the image of these flags, and returns its id.
func (l *Lab) Build(ctx context.Context, volume string) (string, error) {
	id, err := l.Run(ctx, append([]string{"image", "build"}, l.From(volume)...)...)
	return strings.TrimSpace(id), err
}

func indexOf(list []string, s string) int {
	for i, v := range list {
		if v == s {
			return i
		}
	}
	return -1
}

// Instance opens an instance of the lab.
func (l *Lab) Instance(name string) (*instance.Instance, error) {
	dirs, err := l.HomeDirs()
	if err != nil {
		return nil, err
	}
	return instance.Registry{Dir: filepath.Join(dirs.State, "instances")}.Open(name)
}

// open connects to an instance as its application does.
func (l *Lab) open(name string) (*sql.DB, error) {
	i, err := l.Instance(name)
	if err != nil {
		return nil, err
	}
	return dbconn.Open(i.Socket(), i.Endpoint.Login, i.Endpoint.Database)
}

// Exec runs a statement in an instance, as its application.
func (l *Lab) Exec(ctx context.Context, name, statement string) error {
	db, err := l.open(name)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s on instance %s: %w", statement, name, err)
	}
	return nil
}

// Ping asks an instance the least question.
func (l *Lab) Ping(ctx context.Context, name string) error { return l.Exec(ctx, name, "DO 1") }

// Query asks an instance one question, as its application.
func (l *Lab) Query(ctx context.Context, name string) error {
	db, err := l.open(name)
	if err != nil {
		return err
	}
	defer db.Close()
	var n int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM country").Scan(&n); err != nil {
		return fmt.Errorf("query instance %s: %w", name, err)
	}
	if n != fixture.Countries {
		return fmt.Errorf("query instance %s: %d countries, want %d", name, n, fixture.Countries)
	}
	return nil
}

// Verify checks every row of the fixture in an instance.
func (l *Lab) Verify(ctx context.Context, name string) error {
	db, err := l.open(name)
	if err != nil {
		return err
	}
	defer db.Close()
	return l.World.Verify(ctx, db)
}
