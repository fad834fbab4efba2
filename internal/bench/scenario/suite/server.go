package suite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/bench/runner"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/supervisor"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// suiteServer is a server that the user's command is run on, and then made as it was.
type suiteServer struct {
	*lab.PlacedServer
	data *lab.Data

	// instance is ramaria's, nil of a stock server.
	instance *instance.Instance
	// counted is the device of the lab's directory, which may be none.
	counted runner.Device
	// db and client have the rights of endpoint.
	db     *sql.DB
	client lab.ShellClient
	// databases and accounts are those that there were before the first run, the latter as DROP
	// takes them.
	databases, accounts []string
	// admin may set global variables, and globals are those that there were.
	admin   *sql.DB
	globals globals
}

func (s *suiteServer) logPath() string { return filepath.Join(s.Lab.Dir, s.Name+".log") }

// prepare starts the server and remembers what it has.
func (s *suiteServer) prepare(ctx context.Context) error {
	err := s.Start(ctx)
	if err != nil {
		return err
	}
	if s.Ramaria {
		if s.instance, err = s.Lab.Instance(s.Name); err != nil {
			return err
		}
	}
	s.counted = runner.DeviceOf(s.Lab.Host, s.Lab.Dir)
	if s.db, err = s.Connect(""); err != nil {
		return err
	}
	if s.client, err = s.Lab.ShellClient(s.Endpoint, filepath.Join(s.Lab.Dir, s.Name+".cnf")); err != nil {
		return err
	}
	if s.databases, err = lab.TextsOf(ctx, s.db, listDatabases); err != nil {
		return err
	}
	if s.accounts, err = lab.TextsOf(ctx, s.db, listAccounts); err != nil {
		return err
	}
	if s.admin, err = dbconn.Open(s.Endpoint.Socket, s.Admin, ""); err != nil {
		return err
	}
	if s.globals, err = readGlobals(ctx, s.admin); err != nil {
		return err
	}
	return server.WriteClientHome(s.clientHome(), s.told())
}

// environ is the caller's environment with what `ramaria run` adds, and the home of that instance,
// which other commands of ramaria's find it by; a stock server has no API.
func (s *suiteServer) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, client.EnvVar+"=") })
	if s.instance != nil {
		env = append(append(env, supervisor.Env(s.instance)...), "RAMARIA_HOME="+s.Lab.Home)
	}
	return append(env, s.told().Env(s.clientHome())...)
}

// told is the endpoint that the command is told of.
func (s *suiteServer) told() dbconn.Endpoint {
	if s.instance == nil {
		return dbconn.Endpoint{Host: "127.0.0.1", Port: s.Plain.Port, Socket: s.Plain.Socket(), Login: s.Plain.App, Database: s.data.Databases()[0]}
	}
	e := s.instance.Endpoint
	e.Database = s.data.Databases()[0]
	return e
}

func (s *suiteServer) clientHome() string { return filepath.Join(s.Lab.Dir, s.Name+".client") }

const (
	listDatabases = "SELECT schema_name FROM information_schema.schemata"
	listAccounts  = "SELECT CONCAT('USER IF EXISTS ', QUOTE(user), '@', QUOTE(host)) FROM mysql.user WHERE host <> '' " +
		"UNION ALL SELECT CONCAT('ROLE IF EXISTS ', QUOTE(user)) FROM mysql.user WHERE host = ''" // MariaDB's roles
)

// fresh drops what the last run left behind, and makes its database again: with the user's
// dump, if there is one. Branches stay as they are.
func (s *suiteServer) fresh(ctx context.Context) error {
	// First: a server may be read-only.
	if err := s.globals.restore(ctx, s.admin); err != nil {
		return err
	}
	if err := s.returnLeases(ctx); err != nil {
		return err
	}
	if err := s.dropAccounts(ctx); err != nil {
		return err
	}
	if err := s.dropDatabases(ctx); err != nil {
		return err
	}
	if s.data.Path != "" {
		return s.data.Reload(ctx, s.client)
	}
	_, err := s.db.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+dbconn.QuoteName(s.data.Database))
	return err
}

// returnLeases drops what the command had made by ramaria's API.
func (s *suiteServer) returnLeases(ctx context.Context) error {
	if s.instance == nil {
		return nil
	}
	api := client.New(s.instance.APISocket())
	defer api.Close()
	clones, err := api.Databases(ctx)
	if err != nil {
		return err
	}
	for _, d := range clones {
		if err := api.DropDatabase(ctx, d.Name); err != nil {
			return err
		}
	}
	templates, err := api.Templates(ctx)
	if err != nil {
		return err
	}
	for _, t := range templates {
		if err := api.DeleteTemplate(ctx, t.Name); err != nil {
			return err
		}
	}
	return nil
}

func (s *suiteServer) dropAccounts(ctx context.Context) error {
	accounts, err := lab.TextsOf(ctx, s.db, listAccounts)
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if slices.Contains(s.accounts, account) {
			continue
		}
		if _, err := s.db.ExecContext(ctx, "DROP "+account); err != nil {
			return fmt.Errorf("drop what the command left behind: %s: %w", account, err)
		}
	}
	return nil
}

// dropDatabases makes all databases again that the server had, and drops the others.
func (s *suiteServer) dropDatabases(ctx context.Context) error {
	databases, err := lab.TextsOf(ctx, s.db, listDatabases)
	if err != nil {
		return err
	}
	for _, name := range databases {
		if dbconn.SystemSchema(name) {
			continue
		}
		if _, err := s.db.ExecContext(ctx, "DROP DATABASE IF EXISTS "+dbconn.QuoteName(name)); err != nil {
			return fmt.Errorf("drop what the command left behind: database %s: %w", name, err)
		}
	}
	for _, name := range s.databases {
		if dbconn.SystemSchema(name) {
			continue
		}
		if _, err := s.db.ExecContext(ctx, "CREATE DATABASE "+dbconn.QuoteName(name)); err != nil {
			return err
		}
	}
	return nil
}

// errUntouched says that a command has not connected to its server.
var errUntouched = errors.New("it did not connect to the server that it was given, so its time says nothing about it\n" +
	"hint: the server is in DATABASE_URL, MYSQL_HOST, MYSQL_TCP_PORT, MYSQL_UNIX_PORT, MYSQL_USER, MYSQL_PWD and MYSQL_DATABASE")

// measure runs the command, and counts what the server did meanwhile.
func (s *suiteServer) measure(ctx context.Context, run func() (took, cpu time.Duration, err error)) (runner.Sample, error) {
	connections, err := s.connections(ctx)
	if err != nil {
		return runner.Sample{}, err
	}
	before, err := s.serverTime()
	if err != nil {
		return runner.Sample{}, err
	}
	var took, cpu, after time.Duration
	written, err := s.written(func() (err error) {
		if took, cpu, err = run(); err != nil {
			return err
		}
		after, err = s.serverTime()
		return err
	})
	if err != nil {
		return runner.Sample{}, err
	}
	if now, err := s.connections(ctx); err != nil || now == connections {
		return runner.Sample{}, cmp.Or(err, errUntouched)
	}
	server := after - before
	sample := runner.Sample{Value: took.Seconds(), Beside: map[string]float64{
		besideCommand: cpu.Seconds(), besideServer: server.Seconds(), besideShare: (cpu + server).Seconds() / (took.Seconds() * cores()),
	}}
	lab.AddWritten(sample.Beside, runner.Written, written, false, s.counted)
	lab.AddFsync(sample.Beside, s.Fsyncs)
	return sample, nil
}

// written runs work and returns how many bytes it made the lab's device write, by the server
// or by itself: of all rows the same device, whatever the server's is.
func (s *suiteServer) written(work func() error) (int64, error) {
	if err := sys.SyncFS(s.Lab.Dir); err != nil {
		return 0, err
	}
	return s.counted.Count(func() error { return errors.Join(work(), sys.SyncFS(s.Lab.Dir)) })
}

// connections is how many connections to the server there have been so far. It asks by one
// that is there already, since fresh has used it.
func (s *suiteServer) connections(ctx context.Context) (n int64, err error) {
	var name string
	if err := s.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Connections'").Scan(&name, &n); err != nil {
		return 0, fmt.Errorf("count connections: %w", err)
	}
	return n, nil
}

// serverTime is the processor time of the server so far, with that of its supervisor.
func (s *suiteServer) serverTime() (sum time.Duration, err error) {
	var pids []int
	if s.instance == nil {
		pids = []int{s.Plain.Proc.PID()}
	} else {
		state, err := s.instance.State()
		if err != nil {
			return 0, err
		}
		pids = []int{state.ServerPID, state.SupervisorPID}
	}
	for _, pid := range pids {
		t, err := lab.CPUTime(pid)
		if err != nil {
			return 0, err
		}
		sum += t
	}
	return sum, nil
}

func (s *suiteServer) end(ctx context.Context) error {
	for _, db := range []*sql.DB{s.db, s.admin} {
		if db != nil {
			db.Close()
		}
	}
	return s.Close(ctx)
}
