package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramaria-db/ramaria/internal/adopt"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/load"
	"github.com/ramaria-db/ramaria/internal/server"
)

// RemoteReplicaRequest asks for a new instance, New, that follows a server on another machine, or one that is none of
// ours.
type RemoteReplicaRequest struct {
	// Address is its HOST:PORT.
	Address, New string
	// Login is an option file with the user and the password of its administrator, which are used once.
	Login string
	TLS   dbconn.TLS
	// Spec says what to make the instance of: volume, server, settings.
	Spec instance.Spec
}

// remoteSource is a server that is to be followed, while it is copied.
type remoteSource struct {
	RemoteReplicaRequest

	login      dbconn.Login
	db         *sql.DB
	facts      dbconn.SourceFacts
	flavour    server.Flavour
	dialect    dbconn.Dialect
	host, port string
}

// AddRemoteReplica makes an instance of what a server holds, by a dump, which follows it from there.
func (e *Engine) AddRemoteReplica(ctx context.Context, q RemoteReplicaRequest) (_ *instance.Instance, err error) {
	if err := instance.CheckNew(q.New); err != nil {
		return nil, RequestError{err}
	}
	// Another command of the same name would load into this one's instance, and remove it after an error.
	lock, err := e.Registry.Lock(ctx, q.New+".copy", func() {})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.UnlockRemove()) }()
	if _, err := e.Registry.Get(q.New); !errors.Is(err, instance.ErrNotFound) {
		return nil, errors.Join(err, RequestError{fmt.Errorf("make a replica %s: an instance of that name exists\nhint: ramaria replica rm %[1]s, or another name", q.New)})
	}
	s := &remoteSource{RemoteReplicaRequest: q}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	defer s.db.Close()
	spec, err := s.spec()
	if err != nil {
		return nil, err
	}
	i, err := e.Up(ctx, UpRequest{Name: q.New, Spec: spec})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.Down(context.WithoutCancel(ctx), DownRequest{Name: q.New, Remove: true}))
		}
	}()
	at, err := e.copySource(ctx, s, i)
	if err != nil {
		return nil, err
	}
	if err := e.Down(ctx, DownRequest{Name: q.New}); err != nil {
		return nil, err
	}
	if err := s.account(ctx, i, &at); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_, derr := s.db.ExecContext(context.WithoutCancel(ctx), s.dialect.EndReplicaAccountSQL(at.Login.User, at.SeenFrom))
			err = errors.Join(err, derr)
		}
	}()
	if err := e.followRemote(i, at, q); err != nil {
		return nil, err
	}
	return e.Up(ctx, UpRequest{Name: q.New, Spec: i.Spec})
}

// open connects to the server, and refuses one that cannot be followed.
func (s *remoteSource) open(ctx context.Context) (err error) {
	fail := func(err error, hint string) error {
		if s.db != nil {
			_ = s.db.Close()
		}
		return fmt.Errorf("follow %s: %w\nhint: %s", s.Address, err, hint)
	}
	if s.host, s.port, err = net.SplitHostPort(s.Address); err != nil {
		return RequestError{fail(err, "ramaria replica add HOST:PORT NEW")}
	}
	if s.Login == "" {
		return RequestError{fail(errors.New("it is not known how to log in"), "--login FILE, an option file with [client], user and password of its administrator")}
	}
	if s.login, err = adopt.ReadLogin(s.Login); err != nil {
		return err
	}
	if s.db, err = dbconn.OpenTCP(s.Address, s.login, s.TLS); err != nil {
		return err
	}
	if s.facts, err = dbconn.AskSource(ctx, s.db); err != nil {
		hint := "is the server there, does it listen at that address, and may " + s.login.User + " log in from here?"
		if dbconn.IsNoTLS(err) {
			hint = "--no-tls, where the way between is safe: data and password cross it readable"
		}
		return fail(err, hint)
	}
	v, err := server.ParseVersion(s.facts.Version)
	if err != nil {
		return fail(err, "ramaria servers says which servers there are")
	}
	s.flavour = server.MySQL
	if strings.Contains(s.facts.Version, "MariaDB") {
		s.flavour = server.MariaDB
	}
	s.dialect = (&server.Server{Flavour: s.flavour, Version: v}).Dialect()
	if s.Spec.Server == "" {
		s.Spec.Server = fmt.Sprintf("%s:%s", s.flavour, v.Series())
	}
	if !s.facts.LogBin {
		return fail(errors.New("it keeps no binary log"), "log_bin in its option file, and a restart")
	}
	return nil
}

// spec is what the instance is made of.
func (s *remoteSource) spec() (instance.Spec, error) {
	spec := s.Spec
	set := map[string]string{}
	for name, value := range spec.Set {
		set[name] = value
	}
	if s.facts.LowerCase != "0" {
		set["lower_case_table_names"] = s.facts.LowerCase
	}
	spec.Set = set
	if spec.Database == "" && len(s.facts.Databases) > 0 {
		spec.Database = s.facts.Databases[0]
	}
	if spec.Log == instance.LogOff {
		return spec, RequestError{errors.New("make a replica with --log off: it has a log, to go on with when it is promoted\nhint: leave it out")}
	}
	return spec, nil
}

// copySource fills an instance with what the server holds, and returns where its log goes on.
func (e *Engine) copySource(ctx context.Context, s *remoteSource, i *instance.Instance) (at dbconn.Source, err error) {
	if i.Server.Flavour != s.flavour {
		return at, RequestError{fmt.Errorf("follow %s with %s: it is %s\nhint: leave out --server, or --server %s", s.Address, i.Server.Name(), s.facts.Version, s.flavour)}
	}
	create, grant, err := s.dialect.AccountStatements(ctx, s.db, i.Endpoint.User)
	if err != nil {
		return at, fmt.Errorf("copy the accounts of %s: %w", s.Address, err)
	}
	// Events are the source's to run.
	if err := e.asSupervisor(ctx, i, "SET GLOBAL event_scheduler = OFF"); err != nil {
		return at, err
	}
	if s.facts.Databases, err = dbconn.Databases(ctx, s.db); err != nil {
		return at, err
	}
	err = e.LockNewAccounts(ctx, i, func() error {
		if len(s.facts.Databases) == 0 {
			at, err = s.dialect.LogEnd(ctx, s.db)
		} else {
			at, err = e.dumpInto(ctx, s, i)
		}
		if err != nil {
			return err
		}
		if now, err := dbconn.Databases(ctx, s.db); err != nil || !slices.Equal(now, s.facts.Databases) {
			return errors.Join(err, fmt.Errorf("copy %s: databases were made or dropped there meanwhile\nhint: the same command again", s.Address))
		}
		return e.makeAccounts(ctx, i, create, grant)
	})
	return at, err
}

// asSupervisor runs a statement in an instance.
func (e *Engine) asSupervisor(ctx context.Context, i *instance.Instance, statement string) error {
	db, err := dbconn.Open(i.Endpoint.Socket, i.Supervisor, "")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// makeAccounts carries out what makes accounts. What the server does not take is said, and stops nothing.
func (e *Engine) makeAccounts(ctx context.Context, i *instance.Instance, create, grant []string) error {
	db, err := dbconn.Open(i.Endpoint.Socket, i.Supervisor, "")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "SET SESSION sql_log_bin = 0"); err != nil {
		return err
	}
	for _, text := range append(create, grant...) {
		if _, err := db.ExecContext(ctx, text); err != nil {
			what, _, _ := strings.Cut(text, " IDENTIFIED ") // without a password, which an error may quote
			e.note("warning: the server here refuses this with error %d, and it is left out: %s", dbconn.ErrorNumber(err), what)
		}
	}
	return nil
}

// logPosition is what dumpers write of the log, in a comment: MariaDB's and older ones of MySQL, and those since 8.0.26.
var logPosition = regexp.MustCompile(`CHANGE (?:MASTER|REPLICATION SOURCE) TO (?:MASTER|SOURCE)_LOG_FILE='([^']+)', (?:MASTER|SOURCE)_LOG_POS=(\d+)`)

// mostHead is how much of a dump is searched for it.
const mostHead = 1 << 20

// head looks for it in the beginning of what passes, and calls found with it, once.
type head struct {
	begins []byte
	found  func(file string, pos int64)
	done   bool
}

func (h *head) Write(p []byte) (int, error) {
	if h.done || len(h.begins) == mostHead {
		return len(p), nil
	}
	h.begins = append(h.begins, p[:min(mostHead-len(h.begins), len(p))]...)
	if m := logPosition.FindSubmatch(h.begins); m != nil {
		pos, err := strconv.ParseInt(string(m[2]), 10, 64)
		h.done, h.begins = err == nil, nil
		h.found(string(m[1]), pos)
	}
	return len(p), nil
}

// dumpInto has the dumper of the instance's server read the source, and loads what it writes.
func (e *Engine) dumpInto(ctx context.Context, s *remoteSource, i *instance.Instance) (at dbconn.Source, err error) {
	e.note("copying %s, %d databases, by %s", s.Address, len(s.facts.Databases), filepath.Base(i.Server.Dumper.Path()))
	var gerr error
	begins := head{found: func(file string, pos int64) { // at once: the log may be purged before the dump has ended
		at.File, at.Pos = file, pos
		at.GTIDs, gerr = s.dialect.GTIDsAt(ctx, s.db, file, pos)
	}}
	err = runDumper(ctx, i.Server, s.Address, s.login.ClientConfig(), s.dumperArgs(i.Server), func(out io.Reader) error {
		_, err := load.Target{Server: i.Server, Endpoint: dbconn.Endpoint{Socket: i.Endpoint.Socket, Login: i.Supervisor}}.Load(ctx, "the dump of "+s.Address, io.TeeReader(out, &begins))
		return err
	})
	if err == nil && !begins.done {
		err = fmt.Errorf("dump %s: it does not say where the binary log goes on", s.Address)
	}
	return at, errors.Join(err, gerr)
}

// dumperArgs are the arguments by which a dumper reads the source.
func (s *remoteSource) dumperArgs(of *server.Server) []string {
	args := append([]string{"--host=" + s.host, "--port=" + s.port, "--protocol=tcp"}, everything(of)...)
	switch {
	case s.flavour == server.MariaDB && s.TLS.Off:
		args = append(args, "--skip-ssl")
	case s.flavour == server.MariaDB && s.TLS.CA == "":
		args = append(args, "--ssl", "--skip-ssl-verify-server-cert")
	case s.flavour == server.MariaDB:
		args = append(args, "--ssl-ca="+s.TLS.CA, "--ssl-verify-server-cert")
	case s.TLS.Off:
		args = append(args, "--ssl-mode=DISABLED", "--get-server-public-key")
	case s.TLS.CA == "":
		args = append(args, "--ssl-mode=REQUIRED")
	default:
		args = append(args, "--ssl-mode=VERIFY_IDENTITY", "--ssl-ca="+s.TLS.CA)
	}
	return append(append(args, "--databases", "--"), s.facts.Databases...)
}

// account makes the account that the instance follows by.
func (s *remoteSource) account(ctx context.Context, i *instance.Instance, at *dbconn.Source) error {
	port, err := strconv.Atoi(s.port)
	if err != nil {
		return err
	}
	at.Host, at.Port, at.SeenFrom, at.TLS = s.host, port, s.facts.SeenFrom, !s.TLS.Off
	at.Login = dbconn.Login{User: instance.RemoteReplicaUser(i.ServerID), Password: dbconn.NewPassword()}
	for _, text := range s.dialect.ReplicaAccountSQL(at.Login, at.SeenFrom) {
		if _, err := s.db.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("make an account for replication at %s: %w\nhint: %s has to have CREATE USER, and REPLICATION SLAVE with the right to grant it", s.Address, err, s.login.User)
		}
	}
	return nil
}

// sourceCA is the file in a replica's data directory with the certificates that its source's is checked by.
const sourceCA = "ramaria-source-ca.pem"

// followRemote makes an instance that does not run one that follows.
func (e *Engine) followRemote(i *instance.Instance, at dbconn.Source, q RemoteReplicaRequest) error {
	next, err := e.Registry.Open(i.Name)
	if err != nil {
		return err
	}
	if q.TLS.CA != "" {
		text, err := os.ReadFile(q.TLS.CA)
		if err != nil {
			return err
		}
		if err := server.WritePrivate(filepath.Join(next.DataDir(), sourceCA), text, next.Account); err != nil {
			return err
		}
		at.CA = sourceCA
	}
	next.Source, next.Spec.Replica = &at, &instance.Replica{Of: q.Address}
	next.Origin = "replica of " + q.Address
	*i = *next
	return errors.Join(next.Save(), e.Registry.Put(&next.Record))
}
