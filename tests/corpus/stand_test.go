package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/server/servertest"
	"github.com/ramaria-db/ramaria/tests/home"
	"github.com/ramaria-db/ramaria/tests/picture"
)

// stand is a running instance of one server, with the client programs of that server.
type stand struct {
	*home.Home
	want     string
	srv      *server.Server
	endpoint client.Endpoint
	db       *sql.DB
	options  string // the option file of the client programs
}

// newStand starts an instance, which ends with the test.
func newStand(t *testing.T, want string) *stand {
	t.Helper()
	s := &stand{want: want, srv: servertest.Find(t, want), Home: home.New(t, want, "RAMARIA_VOLUME=shm", "RAMARIA_INSTANCE=main")}
	t.Cleanup(func() {
		_, err := s.Ramaria("down", "--all", "--rm")
		_, images := s.Ramaria("image", "rm", "--all")
		if err := errors.Join(err, images, s.Remove()); err != nil {
			t.Errorf("clear away: %v", err)
		}
	})
	if _, err := s.Ramaria("up", "main"); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.endpoint, err = s.endpointOf(t.Context(), "main"); err != nil {
		t.Fatal(err)
	}
	if s.db, err = home.Open(s.endpoint, s.endpoint.User, s.endpoint.Password, "", "utf8mb4"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.db.Close() })
	s.options = filepath.Join(s.Dir, "client.cnf")
	config := dbconn.Endpoint{Socket: s.endpoint.Socket, Login: dbconn.Login{User: s.endpoint.User, Password: s.endpoint.Password}}.ClientConfig()
	if err := os.WriteFile(s.options, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// endpointOf is where an instance is, and its account.
func (s *stand) endpointOf(ctx context.Context, name string) (client.Endpoint, error) {
	socket, err := s.API(name)
	if err != nil {
		return client.Endpoint{}, err
	}
	c := client.New(socket)
	defer c.Close()
	status, err := c.Status(ctx)
	if err != nil {
		return client.Endpoint{}, err
	}
	return status.Endpoint, nil
}

// refusal is what a server said to a statement of a dump, and where that stands; 0 is unknown.
type refusal struct {
	number, line int
	text         string
}

func (r *refusal) Error() string { return r.text }

var (
	// clientSays is what the client programs say, and ramariaSays what `load` does.
	clientSays  = regexp.MustCompile(`ERROR (\d+) \(\w+\) at line (\d+)`)
	ramariaSays = regexp.MustCompile(`:(\d+): the server refused a statement: (\d+)`)
)

// client has the server's client load a dump into a database, or into those that it names.
func (s *stand) client(ctx context.Context, database string, text []byte) error {
	args := []string{"--default-character-set=utf8mb4"}
	if database != "" {
		args = append(args, database)
	}
	said, err := s.program(ctx, s.srv.Client, bytes.NewReader(text), nil, args...)
	if err == nil {
		return nil
	}
	r := &refusal{text: strings.TrimSpace(said)}
	if m := clientSays.FindStringSubmatch(said); m != nil {
		r.number, _ = strconv.Atoi(m[1]) // digits
		r.line, _ = strconv.Atoi(m[2])
	}
	return r
}

// ramaria runs a command that loads dumps. It returns a *refusal where a statement was refused.
func (s *stand) ramaria(args ...string) (string, error) {
	out, err := s.Ramaria(args...)
	if err == nil {
		return out, nil
	}
	r := &refusal{text: err.Error()}
	if m := ramariaSays.FindStringSubmatch(err.Error()); m != nil {
		r.line, _ = strconv.Atoi(m[1]) // digits
		r.number, _ = strconv.Atoi(m[2])
	}
	return "", r
}

// dump has the server's dumper write.
func (s *stand) dump(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	said, err := s.program(ctx, s.srv.Dumper, nil, &out, args...)
	if err != nil {
		return nil, fmt.Errorf("dump %v: %w: %s", args, err, said)
	}
	return out.Bytes(), nil
}

// program runs a client program of the server, and returns what it wrote to stderr.
func (s *stand) program(ctx context.Context, p server.Program, in *bytes.Reader, out *bytes.Buffer, args ...string) (string, error) {
	argv := slices.Concat(p.Argv, []string{"--defaults-file=" + s.options}, args)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append([]string{"LC_ALL=C"}, p.Env...)
	if in != nil {
		cmd.Stdin = in
	}
	if out != nil {
		cmd.Stdout = out
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	return said.String(), err
}

// fresh makes an empty database, in place of one that is there.
func (s *stand) fresh(ctx context.Context, name string) error {
	if err := s.drop(ctx, name); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, "CREATE DATABASE "+dbconn.QuoteName(name))
	return err
}

// drop removes a database, if it is there.
func (s *stand) drop(ctx context.Context, name string) error {
	return s.within(ctx, "", func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "SET foreign_key_checks=0")
		_, dropped := conn.ExecContext(ctx, "DROP DATABASE IF EXISTS "+dbconn.QuoteName(name))
		return errors.Join(err, dropped)
	})
}

// within gives a connection to a database that nobody has after it: SHOW CREATE VIEW tells another text to a
// session that has the database.
func (s *stand) within(ctx context.Context, database string, do func(*sql.Conn) error) error {
	db, err := home.Open(s.endpoint, s.endpoint.User, s.endpoint.Password, database, "utf8mb4")
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}

// look makes a picture of a database. The times of versions of rows are those of the load.
func look(ctx context.Context, db *sql.DB, database string) (picture.Picture, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return picture.Look(ctx, conn, database, picture.Blind{Times: true})
}
