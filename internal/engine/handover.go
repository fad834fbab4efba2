package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/handover"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"

	"github.com/ramaria-db/ramaria/internal/dumper"
)

// HandOverRequest asks for what another server wants to take over an instance.
type HandOverRequest struct {
	// Name is the instance's, and To the name of a handover.Target.
	Name, To string
	// Dir is where to, "" for NAME-hand-over in the current directory. It must not exist, or be empty.
	Dir string
	// Host is where the target finds this machine, "" for what the server listens at.
	Host string
	// Network is the host of the account, as in CREATE USER; "" is any.
	Network string
}

// HandOverMade describes it.
type HandOverMade struct {
	Dir, Address string
	Bytes        int64
	Took         time.Duration
	Notes        []string
}

// handingOver is a hand-over that is being begun.
type handingOver struct {
	HandOverRequest

	i      *instance.Instance
	db     *sql.DB
	target handover.Target
	plan   handover.Plan
	state  *instance.HandOver
}

// HandOver makes a directory with all that another server wants to take over an instance, which must run, and an account by
// which it follows. Errors match instance.ErrNotFound, NotRunningError and RequestError.
func (e *Engine) HandOver(ctx context.Context, q HandOverRequest) (out HandOverMade, err error) {
	began := time.Now()
	h := &handingOver{HandOverRequest: q}
	if h.target, err = handover.Find(q.To); err != nil {
		return out, RequestError{err}
	}
	if err := e.refuseMemberNamed("hand over", q.Name); err != nil {
		return out, err
	}
	if h.i, err = e.Running(q.Name); err != nil {
		return out, err
	}
	lock, err := e.Registry.Lock(ctx, instance.HandOverLock(q.Name), func() {})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, lock.UnlockRemove()) }()
	if err := e.checkHandOver(ctx, h); err != nil {
		return out, RequestError{err}
	}
	if err := h.reach(); err != nil {
		return out, RequestError{err}
	}
	if h.db, err = dbconn.Open(h.i.Endpoint.Socket, h.i.Supervisor, ""); err != nil {
		return out, err
	}
	defer h.db.Close()
	h.db.SetMaxOpenConns(1)
	if err := h.look(ctx); err != nil {
		return out, err
	}
	if err := h.makeDir(); err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.giveUp(context.WithoutCancel(ctx), e))
		}
	}()
	if err := h.begin(ctx, e); err != nil {
		return out, err
	}
	if err := e.writeBase(ctx, h); err != nil {
		return out, fmt.Errorf("hand over instance %s: %w", q.Name, err)
	}
	if err := h.write(); err != nil {
		return out, fmt.Errorf("hand over instance %s: %w", q.Name, err)
	}
	size, err := sys.DiskUsage(h.Dir)
	return HandOverMade{Dir: h.Dir, Address: net.JoinHostPort(h.plan.Host, strconv.Itoa(h.plan.Port)), Bytes: size, Took: time.Since(began), Notes: h.plan.Notes}, err
}

// checkHandOver refuses what cannot be handed over.
func (e *Engine) checkHandOver(ctx context.Context, h *handingOver) error {
	refuse := func(why, hint string) error {
		return fmt.Errorf("hand over instance %s: %s\nhint: %s", h.Name, why, hint)
	}
	mariadb := h.i.Server.Flavour == server.MariaDB
	if mariadb && !h.target.MariaDB || !mariadb && !h.target.MySQL {
		var fit []string
		for _, t := range handover.Targets {
			if mariadb && t.MariaDB || !mariadb && t.MySQL {
				fit = append(fit, t.Name)
			}
		}
		return refuse(fmt.Sprintf("it is %s, and %s is not: neither follows the log of the other", h.i.Server.Family().Name, h.target.Words), "--to "+strings.Join(fit, ", --to ")+"; a dump of it may load into the other")
	}
	was, err := e.Registry.HandOver(h.Name)
	switch {
	case err != nil:
		return err
	case was.HandedOver():
		return refuse("it was handed over to "+was.Cut.To+" already, and is read-only since", "ramaria rm "+h.Name)
	case was != nil:
		return refuse("a hand-over is under way, with "+was.Dir, "ramaria hand-over "+h.Name+" --end ends that")
	case h.i.Spec.Log == instance.LogOff:
		return refuse("it keeps no binary log, by which a target would follow", "ramaria export "+h.Name+" DIR writes its data")
	case h.i.Spec.Replica != nil:
		return refuse("it is a replica of "+h.i.Spec.Replica.Of, "hand that over, or ramaria replica promote "+h.Name)
	}
	if h.i.Durable != nil { // it has no templates
		return nil
	}
	c := client.New(h.i.APISocket())
	defer c.Close()
	list, err := c.Templates(ctx)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		return refuse("it has templates, and what resets of their clones do is in no log", "ramaria template ls -i "+h.Name)
	}
	return nil
}

// reach finds where the target reaches the instance.
func (h *handingOver) reach() error {
	bind, _ := server.Setting(h.i.Spec.Set, "bind_address")
	bind, _, _ = strings.Cut(bind, ",")
	bind = strings.TrimSpace(bind)
	ip := net.ParseIP(bind)
	host := h.Host
	switch {
	case host != "":
	case bind == "" || bind == "localhost" || ip != nil && ip.IsLoopback():
		return fmt.Errorf("hand over instance %s: its server listens on this machine only, where no other reaches it\nhint: ramaria up NEW --from instance:%s --set bind_address=0.0.0.0 --port PORT makes one of its data that listens to the network; --host 127.0.0.1 is for a target on this machine, or at the end of a tunnel", h.Name, h.Name)
	case bind == "*" || ip != nil && ip.IsUnspecified():
		if host = machineAddress(); host == "" {
			return fmt.Errorf("hand over instance %s: it is not known by which address others reach this machine\nhint: --host ADDRESS", h.Name)
		}
	default:
		host = bind
	}
	if strings.ContainsAny(host+h.Network, "'\"\\\n\r ") {
		return fmt.Errorf("hand over instance %s: an address has no quotes, blanks or backslashes\nhint: --host db1.example.com, --network '10.0.0.%%'", h.Name)
	}
	if h.i.Spec.Port == 0 && (ip == nil || !ip.IsLoopback()) && bind != "" {
		h.plan.Notes = append(h.plan.Notes, fmt.Sprintf("Its port, %d, was not asked for (`--port`): a start that finds it taken chooses another, and the target is to be told.", h.i.Endpoint.Port))
	}
	h.plan.Host, h.plan.Port = host, h.i.Endpoint.Port
	return nil
}

// machineAddress is the first address of the machine that is none of its own.
func machineAddress() string {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	return ""
}

// makeDir makes the directory.
func (h *handingOver) makeDir() (err error) {
	if h.Dir == "" {
		h.Dir = h.Name + "-hand-over"
	}
	if h.Dir, err = filepath.Abs(h.Dir); err != nil {
		return err
	}
	if err := checkNew(h.Dir); err != nil {
		return RequestError{err}
	}
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return err
	}
	d, err := os.Open(h.Dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Chmod(0o700), d.Close()) // of one that was there, and empty
}

// begin makes the account, and writes down that there is a hand-over: from then on the log is kept.
func (h *handingOver) begin(ctx context.Context, e *Engine) error {
	d := h.i.Server.Dialect()
	at, err := d.LogEnd(ctx, h.db)
	if err != nil {
		return err
	}
	h.plan.User, h.plan.Password = fmt.Sprintf("%s%04x%08x", dbconn.HandOverUserPrefix, rand.N(1<<16), h.i.ServerID), dbconn.NewPassword() // #nosec G404 -- the name
	h.plan.AtHost = h.Network
	if h.plan.AtHost == "" {
		h.plan.AtHost = "%"
	}
	h.state = &instance.HandOver{To: h.To, Dir: h.Dir, User: h.plan.User, Host: h.plan.AtHost, File: at.File, Pos: at.Pos, Life: h.i.LogLife(), Begun: time.Now()}
	if err := e.Registry.PutHandOver(h.Name, h.state); err != nil {
		return err
	}
	return dbconn.ExecUnlogged(ctx, h.db, d.TargetAccountSQL(dbconn.Login{User: h.plan.User, Password: h.plan.Password}, h.plan.AtHost, h.plan.Encrypted)...)
}

// giveUp removes what begin and makeDir made.
func (h *handingOver) giveUp(ctx context.Context, e *Engine) error {
	err := os.RemoveAll(h.Dir)
	if h.state == nil {
		return err
	}
	return errors.Join(err, dbconn.ExecUnlogged(ctx, h.db, h.i.Server.Dialect().EndReplicaAccountSQL(h.plan.User, h.plan.AtHost)), e.Registry.DeleteHandOver(h.Name))
}

// writeBase has the instance's dumper write all that it holds.
func (e *Engine) writeBase(ctx context.Context, h *handingOver) error {
	d := h.i.Server.Dialect()
	databases, err := dbconn.Databases(ctx, h.db)
	if err != nil {
		return err
	}
	if err := dumper.CheckWhole(ctx, h.db, h.i.Server, "instance "+h.Name); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(h.Dir, handover.BaseFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	var at dbconn.Source
	if len(databases) == 0 {
		at, err = d.LogEnd(ctx, h.db)
	} else {
		e.note("writing the base of %s, %s, by %s", h.Name, databasesWords(len(databases)), filepath.Base(h.i.Server.Dumper.Path()))
		begins := head{found: func(file string, pos int64) { at.File, at.Pos = file, pos }}
		config := dbconn.Endpoint{Socket: h.i.Endpoint.Socket, Login: h.i.Supervisor}.ClientConfig()
		err = dumper.Run{
			Of: h.i.Server, What: h.Name, Config: config, Args: append(append(dumper.Everything(h.i.Server), "--databases", "--"), databases...),
		}.Do(ctx, func(out io.Reader) error {
			_, err := io.Copy(f, io.TeeReader(out, &begins))
			return err
		})
		if err == nil && !begins.done {
			err = errors.New("the dump does not say where the binary log goes on")
		}
		if err == nil {
			at.GTIDs, err = d.GTIDsAt(ctx, h.db, at.File, at.Pos)
		}
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if now, err := dbconn.Databases(ctx, h.db); err != nil || strings.Join(now, "\n") != strings.Join(databases, "\n") {
		return errors.Join(err, errors.New("databases were made or dropped meanwhile\nhint: the same command again"))
	}
	h.state.File, h.state.Pos = at.File, at.Pos
	if err := e.Registry.PutHandOver(h.Name, h.state); err != nil {
		return err
	}
	at.Host, at.Port, at.TLS = h.plan.Host, h.plan.Port, h.plan.Encrypted
	at.Login = dbconn.Login{User: h.plan.User, Password: h.plan.Password}
	h.plan.File, h.plan.Pos, h.plan.GTIDs, h.plan.Follow = at.File, at.Pos, at.GTIDs, d.TargetFollowSQL(at)
	if h.plan.Accounts, h.plan.Grants, err = d.AccountStatements(ctx, h.db); err != nil {
		return err
	}
	for i, text := range h.plan.Accounts {
		if what, is := strings.CutPrefix(text, "CREATE USER "); is {
			h.plan.Accounts[i] = "CREATE USER IF NOT EXISTS " + strings.TrimPrefix(what, "IF NOT EXISTS ")
		}
	}
	return nil
}

// mostCert bounds what is read of a server's certificate, in bytes.
const mostCert = 64 << 10

// certOf is the certificate of an instance's server, which may have put anything in its place.
func certOf(i *instance.Instance) (string, error) {
	path := server.CertPath(i.RunDir)
	f, err := sys.OpenIn(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostCert))
	return string(text), err
}

// write writes the rest.
func (h *handingOver) write() error {
	files, err := h.plan.Files()
	if err != nil {
		return err
	}
	if h.plan.Cert {
		text, err := certOf(h.i)
		if err != nil {
			return err
		}
		files = append(files, handover.File{Name: handover.CertFile, Text: text})
	}
	for _, f := range files {
		if err := server.WritePrivate(filepath.Join(h.Dir, f.Name), []byte(f.Text), server.Account{UID: os.Geteuid(), GID: os.Getegid()}); err != nil {
			return err
		}
	}
	return nil
}
