package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/adopt"
	"github.com/ramaria-db/ramaria/internal/image"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/service"
)

// AdoptRequest asks to run the server of a service in RAM.
type AdoptRequest struct {
	// What is the name of a service of systemd, or a data directory.
	What string
	// Spec is what is asked for of the instance, whose name is Name, "" for that of the service. Its Server, Port, Socket
	// and Set are those of the service, but for settings that are given.
	Name string
	Spec instance.Spec
	// Login is an option file with the account of the server's administrator; "" is root over the socket.
	Login string
}

// AdoptPlan is what an adoption would do.
type AdoptPlan struct {
	Instance string `json:"instance"`
	// Service is the name of the service, "" for a data directory that no service uses.
	Service string `json:"service,omitempty"`
	DataDir string `json:"data_dir"`
	// From is the server that runs now, and To the one that the instance has.
	From string `json:"from"`
	To   string `json:"to"`
	// Volume is where the data will lie, and Archive the directory of its archive, "" for an instance that is not durable.
	Volume  string `json:"volume"`
	Archive string `json:"archive,omitempty"`
	Socket  string `json:"socket,omitempty"`
	Port    int    `json:"port,omitempty"`
	Bind    string `json:"bind,omitempty"`
	// DataBytes is what is copied, NeedBytes what it takes in RAM at first, and FreeBytes what is there.
	DataBytes int64 `json:"data_bytes"`
	NeedBytes int64 `json:"need_bytes"`
	FreeBytes int64 `json:"free_bytes"`
	// HotBytes is what was changed of the data in the last minutes, which is read again while nothing answers, for
	// DownSeconds.
	HotBytes    int64   `json:"hot_bytes"`
	DownSeconds float64 `json:"down_seconds"`
	// Kept and Left are the options of the service that the instance takes over, and those that it does not.
	Kept []adopt.Setting `json:"kept"`
	Left []adopt.Setting `json:"left"`
	// Notes are what else is to be known, and Against what keeps the adoption from being done.
	Notes   []string `json:"notes"`
	Against []string `json:"against"`

	spec     instance.Spec
	foreign  *service.Foreign // nil for a data directory
	server   *server.Server
	login    string
	live     *adopt.Live // nil if its server does not run
	database string
	user     string
}

const (
	// recentChange is how long ago a file was changed that is taken to change again before the service is stopped.
	recentChange = 5 * time.Minute
	// rereads is how many bytes a second of such files are read again, and restart how long a server takes to end and
	// another to start.
	rereads = 1 << 30
	restart = 2 * time.Second
)

// PlanAdopt finds out what an adoption would do, and changes nothing. What keeps it from being done is in the plan; an
// error says that there is no telling.
func (e *Engine) PlanAdopt(ctx context.Context, q AdoptRequest) (*AdoptPlan, error) {
	p := &AdoptPlan{spec: q.Spec, login: q.Login, Kept: []adopt.Setting{}, Left: []adopt.Setting{}, Notes: []string{}, Against: []string{}}
	process, err := p.find(ctx, q.What)
	if p.Instance = q.Name; p.Instance == "" {
		p.Instance = adoptedName(p)
	}
	if cut := e.cutOff(p); cut != nil {
		return nil, cut
	}
	if err != nil {
		return nil, err
	}
	if err := instance.CheckNew(p.Instance); err != nil {
		return nil, RequestError{err}
	}
	if _, err := e.Registry.Get(p.Instance); !errors.Is(err, instance.ErrNotFound) {
		if err == nil {
			err = fmt.Errorf("%w\nhint: --as NAME", instance.TakenError(p.Instance))
		}
		return nil, err
	}
	if process == nil {
		err = e.planStopped(ctx, p)
	} else {
		err = e.planLive(ctx, p, *process)
	}
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, *AdoptPlan) error{e.planDurability, e.planData, e.planRoom, e.planArchiveRoom} {
		if err := step(ctx, p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *AdoptPlan) against(format string, args ...any) {
	p.Against = append(p.Against, fmt.Sprintf(format, args...))
}

func (p *AdoptPlan) noteThat(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// find finds the service, and its server, nil for a data directory on which none runs.
func (p *AdoptPlan) find(ctx context.Context, what string) (*adopt.Process, error) {
	unit := what
	if strings.ContainsRune(what, '/') {
		dir, err := filepath.Abs(what)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return nil, RequestError{err}
		}
		if !server.LooksLikeDataDir(dir) {
			return nil, RequestError{fmt.Errorf("adopt %s: it is no data directory of MySQL or MariaDB", dir)}
		}
		p.DataDir = dir
		process, err := adopt.OnDir(dir)
		if errors.Is(err, adopt.ErrNoServer) || errors.Is(err, fs.ErrPermission) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if unit = process.Unit(); unit == "" || unit == service.Name(strings.TrimSuffix(strings.TrimPrefix(unit, "ramaria@"), ".service")) {
			return nil, RequestError{fmt.Errorf("adopt %s: process %d, which is of no service that can be adopted, runs a server on it\nhint: shut that server down first", dir, process.PID)}
		}
	}
	m := service.System
	if err := m.Check(ctx); err != nil {
		return nil, fmt.Errorf("adopt %s: %w\nhint: ramaria adopt DIRECTORY takes a data directory of which the server is shut down", unit, err)
	}
	f, err := m.Foreign(ctx, unit)
	if errors.Is(err, service.ErrNoUnit) {
		err = RequestError{fmt.Errorf("%w\nhint: systemctl list-units '*sql*' '*maria*' shows what there is; a data directory is adopted by its path", err)}
	}
	if err != nil {
		return nil, err
	}
	if name := f.StandsIn(); name != "" {
		return nil, RequestError{fmt.Errorf("adopt %s: instance %s stands in for it already\nhint: ramaria adopt --undo %[2]s gives it back", f.Name, name)}
	}
	if f.OfInstance() {
		return nil, RequestError{fmt.Errorf("adopt %s: it is the unit of an instance, which is in RAM already", f.Name)}
	}
	p.foreign, p.Service = f, f.Name
	for _, unit := range f.Triggers {
		p.against("%s starts it unasked, also while its data is copied: systemctl disable --now %[1]s", unit)
	}
	if !f.Active {
		return nil, RequestError{fmt.Errorf("adopt %s: it does not run, so that there is no telling what its server is\nhint: systemctl start %[1]s; or ramaria adopt DIRECTORY", f.Name)}
	}
	process, err := adopt.OfGroup(f.Group)
	if err != nil {
		return nil, RequestError{forRoot(f.Name, err)}
	}
	return &process, nil
}

// forRoot is an error of looking at a service's process, which is another user's as a rule.
func forRoot(name string, err error) error {
	err = fmt.Errorf("adopt %s: %w", name, err)
	if errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		err = fmt.Errorf("%w\nhint: sudo ramaria adopt %s", err, server.ShellWord(name))
	}
	return err
}

// adoptedName is the name of the instance that is not given one: mariadb of mariadb.service.
func adoptedName(p *AdoptPlan) string {
	name := strings.TrimSuffix(p.Service, ".service")
	if name == "" {
		name = filepath.Base(p.DataDir)
	}
	if instance.CheckNew(name) != nil {
		return instance.DefaultName
	}
	return name
}

// planLive plans for a service that runs.
func (e *Engine) planLive(ctx context.Context, p *AdoptPlan, process adopt.Process) error {
	options, err := process.Options(ctx)
	if err != nil {
		return forRoot(p.Service, err)
	}
	socket := lastOf(options, "socket")
	if socket == "" {
		socket = "/run/mysqld/mysqld.sock"
	}
	db, err := adopt.Open(ctx, absolute(socket, process.Dir), p.login)
	if err != nil {
		return fmt.Errorf("adopt %s: %w", p.Service, err)
	}
	defer db.Close()
	if p.live, err = adopt.Ask(ctx, db); err != nil {
		return err
	}
	p.DataDir, p.Socket, p.Port = filepath.Clean(absolute(p.live.DataDir, process.Dir)), absolute(p.live.Socket, process.Dir), p.live.Port
	if real, err := filepath.EvalSymlinks(p.DataDir); err == nil {
		p.DataDir = real
	}
	p.From = string(p.live.Flavour) + " " + p.live.Version
	if err := e.planServer(ctx, p, p.live.Flavour, p.live.Version); err != nil {
		return err
	}
	p.planSettings(e, append(options, p.live.Persisted...))
	p.noteSurroundings(process)
	p.planReplication()
	p.user = freeUser(p.live.Users)
	if len(p.live.Databases) > 0 {
		p.database = p.live.Databases[0].Name
	}
	return nil
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func lastOf(options []adopt.Option, name string) (value string) {
	for _, o := range options {
		if o.Name == name {
			value = o.Value
		}
	}
	return value
}

// adoptedUser is the account of the DSN of an adopted instance: its applications have their own.
const adoptedUser = "ramaria_app"

func freeUser(taken map[string]bool) string {
	name := adoptedUser
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s%d", adoptedUser, n)
	}
	return name
}

// planStopped plans for a data directory on which no server runs.
func (e *Engine) planStopped(ctx context.Context, p *AdoptPlan) error {
	if killed, err := image.KilledLog(p.DataDir); err != nil {
		return err
	} else if killed != "" {
		p.against("its server was killed, and its binary log (%s) may decide what it has committed: start it once, and shut it down; or ramaria up NAME --from %s", killed, server.ShellWord(p.DataDir))
	}
	maker := server.MakerOf(p.DataDir)
	if maker.Flavour == "" {
		return RequestError{fmt.Errorf("adopt %s: there is no telling which server wrote it\nhint: ramaria up NAME --from %s --server mariadb:10.11, say", p.DataDir, server.ShellWord(p.DataDir))}
	}
	p.From = maker.Text
	p.user = adoptedUser
	p.noteThat("no server runs on it: the instance gets a port and a socket of its own, and settings by --set")
	version := ""
	if maker.Version != (server.Version{}) {
		version = maker.Version.String()
	}
	if err := e.planServer(ctx, p, maker.Flavour, version); err != nil {
		return err
	}
	p.Port, p.Socket = p.spec.Port, p.spec.Socket
	return nil
}

// planServer finds the server for the instance: of the same series, and not older.
func (e *Engine) planServer(ctx context.Context, p *AdoptPlan, flavour server.Flavour, version string) error {
	want := p.spec.Server
	now, err := server.ParseVersion(version)
	if want == "" {
		want = string(flavour)
		if err == nil {
			want += ":" + now.Series()
		}
	}
	finder := e.Finder()
	if p.server, err = finder.Find(ctx, want); err != nil {
		return err
	}
	p.spec.Server, p.To = want, p.server.Name()
	if p.server.Version.Compare(now) > 0 && now != (server.Version{}) {
		p.noteThat("%s is newer than the service's own server. Where that starts on no data of a newer one, as MySQL 8.0, upgrade it before ramaria adopt --undo, or take --server %s:%s now", p.To, flavour, now)
	}
	for _, passed := range finder.PassedOver {
		p.noteThat("%s is not used: %s", passed.Path, passed.Reason)
	}
	if p.server.Flavour != flavour || p.server.Version.Compare(now) < 0 {
		p.against("the data was written by %s, and %s cannot go on with it: --server %s:%s", p.From, p.server.Name(), flavour, now.Series())
	}
	return nil
}

// planSettings takes the options of the service over.
func (p *AdoptPlan) planSettings(e *Engine, options []adopt.Option) {
	level := levelOf(p.spec)
	set, kept, left := adopt.Decide(options, adopt.Rules{
		Check:    func(name, value string) error { return p.server.CheckSet(map[string]string{name: value}, false, level) },
		Readable: func(path string) bool { return adopt.May(e.Account, path, 4) },
		Writable: func(path string) bool { return adopt.May(e.Account, path, 3) },
		DataDir:  p.DataDir,
	})
	for name, value := range p.spec.Set { // what is given wins
		set[name] = value
		kept = slices.DeleteFunc(kept, func(s adopt.Setting) bool { return s.Name == name })
		left = slices.DeleteFunc(left, func(s adopt.Setting) bool { return s.Name == name })
		kept = append(kept, adopt.Setting{Name: name, Value: value})
	}
	_, given := set["bind_address"]
	switch {
	case given:
	case p.live.NoNetwork: // instances have a port, and this one is not for others
		set["bind_address"], p.Port = "127.0.0.1", p.spec.Port
		p.noteThat("it takes no TCP connections (skip_networking); the instance takes them from this machine")
	case p.live.Bind == "": // without one, servers listen at all addresses, and ours does not
		set["bind_address"] = "*"
	default:
		set["bind_address"] = p.live.Bind
	}
	p.Bind = set["bind_address"]
	p.spec.Set, p.Kept, p.Left = set, kept, left
	p.spec.Socket, p.spec.Port = p.Socket, p.Port
	for _, s := range left {
		if strings.HasPrefix(s.Name, "file_key_management") {
			p.against("its tables are encrypted with keys that the server of the instance may not read: %s=%s", s.Name, s.Value)
		}
	}
}

// noteSurroundings tells what of the service is not in its options.
func (p *AdoptPlan) noteSurroundings(process adopt.Process) {
	if server.Unconfinable() == "" && !p.spec.Unconfined() {
		p.noteThat("the server of the instance reaches its own files only: LOAD DATA INFILE and INTO OUTFILE elsewhere fail; --confine off lets it")
	}
	if len(p.foreign.DropIns) > 0 {
		p.noteThat("what %s sets of limits is not the instance's: systemctl edit %s", strings.Join(p.foreign.DropIns, " and "), service.Name(p.Instance))
	}
	if files, err := process.Unread(); err == nil && len(files) > 0 && (p.foreign.User == "" || p.foreign.User == "root") {
		p.noteThat("its server is started by root, and may read options here that are not taken over, since its own account may not: %s; give them by --set, or let that account read them", strings.Join(files, ", "))
	}
	if p.live.XPort != "" {
		p.noteThat("clients of the X protocol (port %s) are not served: instances speak the classic one", p.live.XPort)
	}
	if names := process.Environment(); len(names) > 0 {
		p.noteThat("its environment has %s, and that of the instance has not", strings.Join(names, ", "))
	}
}

// planReplication refuses what is part of something larger.
func (p *AdoptPlan) planReplication() {
	if p.live.Galera {
		p.against("it is a node of a Galera cluster")
	}
	if p.live.Replica {
		p.against("it is a replica: RESET REPLICA ALL ends that")
	}
	if p.live.Replicas > 0 {
		p.against("%d replicas follow its binary log, which the instance does not go on with: stop them first", p.live.Replicas)
	} else if p.live.BinLog != "" {
		p.noteThat("its binary log (%s) ends here; the instance has one of its own", p.live.BinLog)
	}
	if p.live.Prepared > 0 {
		p.against("%d XA transactions are prepared: commit them or roll them back", p.live.Prepared)
	}
}
