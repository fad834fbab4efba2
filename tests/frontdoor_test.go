package tests

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// frontDoor is a `ramaria front` that runs.
type frontDoor struct {
	h   *testHome
	url *url.URL
	end func()
	die func()
}

func (h *testHome) startFront(args ...string) *frontDoor {
	h.t.Helper()
	return h.startFrontBy(h.command(append([]string{"front"}, args...)...))
}

// startFrontBy is startFront for a command with an environment of its own.
func (h *testHome) startFrontBy(cmd *exec.Cmd) *frontDoor {
	h.t.Helper()
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		h.t.Fatalf("ramaria front printed no URL: %v: %s", cmd.Wait(), talk.String())
	}
	u, err := url.Parse(lines.Text())
	if err != nil {
		h.t.Fatal(err)
	}
	var once sync.Once
	d := &frontDoor{h: h, url: u}
	d.end = func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil {
				h.t.Errorf("ramaria front: %v: %s", err, talk.String())
			}
		})
	}
	d.die = func() {
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	h.t.Cleanup(d.end)
	return d
}

// config is how a client reaches a database through the door.
func (d *frontDoor) config(database string) *mysql.Config {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.DBName = "tcp", d.url.Host, d.url.User.Username(), database
	c.Passwd, _ = d.url.User.Password()
	return c
}

func (d *frontDoor) open(c *mysql.Config) *sql.DB {
	d.h.t.Helper()
	connector, err := mysql.NewConnector(c)
	if err != nil {
		d.h.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	d.h.t.Cleanup(func() { _ = db.Close() })
	return db
}

func (d *frontDoor) to(database string) *sql.DB {
	d.h.t.Helper()
	return d.open(d.config(database))
}

// refused is the server's number of the error that a login or a statement meets.
func (d *frontDoor) refused(err error, want uint16, text string) {
	d.h.t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != want || !strings.Contains(e.Message, text) {
		d.h.t.Errorf("got %v, want error %d with %q", err, want, text)
	}
}

func (h *testHome) one(db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, query string, args ...any) (s string) {
	h.t.Helper()
	if err := db.QueryRowContext(h.t.Context(), query, args...).Scan(&s); err != nil {
		h.t.Fatalf("%s: %v", query, err)
	}
	return s
}
