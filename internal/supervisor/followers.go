package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// followers are the instances of this machine that follow this one.
func (s *Supervisor) followers() ([]*instance.Record, error) {
	return s.store.Registry.Followers(s.inst.Name)
}

// isFollowed reports whether there are any that follow its log as it is now, or it is not known.
func (s *Supervisor) isFollowed() bool {
	list, err := s.followers()
	return err != nil || slices.ContainsFunc(list, func(r *instance.Record) bool {
		i, err := s.store.Registry.Open(r.Name)
		return err != nil || i.Source != nil && i.Source.Life == s.inst.LogLife()
	})
}

// refuseFollowed refuses what would have replicas differ from the instance.
func (s *Supervisor) refuseFollowed(what, why string) error {
	list, err := s.followers()
	if err != nil || len(list) == 0 {
		return errors.Join(err, s.refuseHandOver(what, why))
	}
	return api.As(api.ErrDurable, fmt.Errorf("%s of instance %s: instance %s follows it: %s\nhint: ramaria replica rm %[3]s", what, s.inst.Name, list[0].Name, why))
}

// AddReplica implements api.Instance: a branch that follows.
func (s *Supervisor) AddReplica(ctx context.Context, r client.ReplicaRequest) (_ client.Branch, err error) {
	began := time.Now()
	if err := errors.Join(s.checkSource(r.Sync), s.refuseMoving("make a replica of")); err != nil {
		return client.Branch{}, err
	}
	store := s.store
	if r.Volume != "" {
		spec, err := volume.ParseSpec(r.Volume)
		if err != nil {
			return client.Branch{}, api.As(api.ErrInvalid, err)
		}
		if store, err = s.options.Store(ctx, spec); err != nil {
			return client.Branch{}, err
		}
	}
	// From here on: what is logged after the copy has to be there when the replica asks for it.
	held, err := s.holdLog(r.Name)
	if err != nil {
		return client.Branch{}, err
	}
	defer held()
	if r.Sync {
		free, err := s.reserveSync(ctx, r.Name)
		if err != nil {
			return client.Branch{}, err
		}
		defer free()
	}
	start := s.spawn
	if r.Sync {
		start = s.startSync
	}
	var cost client.Snapshot
	i, err := Branching{
		Store: store, Parent: s.inst, Lock: s.lockName, Start: start, Settle: func(i *instance.Instance) error { return s.lead(ctx, i, r.Sync) },
		Copy: func(ctx context.Context, what string, take func(context.Context, volume.How) error) (err error) {
			cost, err = s.snapshot(ctx, what, store.Volume, take)
			return err
		},
	}.Branch(ctx, r.Name)
	if errors.Is(err, instance.ErrTaken) {
		return client.Branch{}, api.As(api.ErrExists, err)
	}
	if err != nil {
		clean := context.WithoutCancel(ctx)
		return client.Branch{}, errors.Join(err, s.do(clean, func(ctx, _ context.Context) error { return s.dropAccounts(ctx, instance.ReplicaUser(r.Name)) }))
	}
	return client.Branch{Name: i.Name, Endpoint: endpoint(i), API: i.APISocket(), Snapshot: cost, ReadyMicros: time.Since(began).Microseconds()}, nil
}

// checkSource refuses what a replica cannot be made of.
func (s *Supervisor) checkSource(sync bool) error {
	refuse := func(why, hint string) error {
		return api.As(api.ErrDurable, fmt.Errorf("make a replica of instance %s: %s\nhint: %s", s.inst.Name, why, hint))
	}
	p, of := s.pool.Load(), s.follows.Load()
	switch {
	case s.noLog():
		return refuse("it keeps no binary log", "ramaria up "+s.inst.Name+" --log on --fresh makes it again, and its data is lost")
	case s.isMember():
		return refuse("it is a member of cluster "+s.inst.Spec.Cluster, "ramaria branch "+s.inst.Name+" NAME makes an instance of its own")
	case of != nil:
		return refuse("it is one itself", "make one of "+of.Of)
	case sync && s.durable():
		return refuse("it is durable, and its commits wait for its archive", "leave out --sync")
	case p != nil && len(p.Templates()) > 0:
		return refuse("it has templates, and what resets of their clones do is in no log", "ramaria template ls -i "+s.inst.Name)
	}
	return nil
}

// followerPrefix begins the names of replicas as consumers of the log.
const followerPrefix = "replica "

// holdLog has the log kept from its present file on, for a replica that is being made, until held is called.
func (s *Supervisor) holdLog(name string) (held func(), err error) {
	files, err := binlog.Files(s.inst.DataDir(), server.BinlogName)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("make a replica of instance %s: its binary log has no files", s.inst.Name)
	}
	at := binlog.Position{File: files[len(files)-1]}
	s.logs.Set("new "+followerPrefix+name, func() binlog.Position { return at })
	return func() { s.logs.Remove("new " + followerPrefix + name) }, nil
}

// lead makes a copy of this instance, of which no server has run yet, one that follows it. It is for the goroutine of Run.
func (s *Supervisor) lead(ctx context.Context, i *instance.Instance, sync bool) error {
	files, err := binlog.Files(s.inst.DataDir(), server.BinlogName)
	if err == nil {
		err = errors.Join(s.checkSource(false), s.lookAtLog(files)) // which may have changed since, and of which life the log is now
	}
	if err != nil {
		return err
	}
	if files, err = binlog.Files(i.DataDir(), server.BinlogName); err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("the copy has no binary log")
	}
	last := files[len(files)-1]
	extent, err := binlog.Scan(filepath.Join(i.DataDir(), last), 4, nil)
	if err != nil {
		return err
	}
	at := &dbconn.Source{
		Host: server.Loopback, Port: s.inst.Endpoint.Port, Login: dbconn.Login{User: instance.ReplicaUser(i.Name), Password: dbconn.NewPassword()},
		File: last, Pos: max(extent.End, 4), Life: s.inst.LogLife(),
	}
	d := s.inst.Server.Dialect()
	if err := s.execUnlogged(ctx, d.ReplicaAccountSQL(at.Login, server.Loopback)...); err != nil {
		return err
	}
	if at.GTIDs, err = d.GTIDsAt(ctx, s.db, at.File, at.Pos); err != nil {
		return err
	}
	i.Source, i.Spec.Replica, i.Spec.Volume = at, &instance.Replica{Of: s.inst.Name, Sync: sync}, i.Volume
	i.Origin = "replica of " + s.inst.Name
	return nil
}

// mostLogKept is how many files of the log are kept for a replica that does not read them: a gigabyte.
const mostLogKept = 64

// keepForFollowers has the log kept that replicas have not read yet. A record that cannot be read may be that of one.
func (w *watch) keepForFollowers(files []string) {
	list, err := w.followers()
	broken, berr := w.store.Registry.Broken()
	if err = errors.Join(err, berr); err != nil {
		w.note("cannot keep the log for replicas", err) // what is kept stays
		return
	}
	needs := map[string]string{}
	for _, name := range broken {
		needs[name] = cmp.Or(w.following[name], files[0])
	}
	for _, r := range list {
		needs[r.Name] = w.needs(r)
	}
	for name, file := range needs {
		if at := slices.Index(files, file); at < 0 || len(files)-at > mostLogKept {
			delete(needs, name)
			continue
		}
		w.logs.Set(followerPrefix+name, func() binlog.Position { return binlog.Position{File: file} })
	}
	for name := range w.following {
		if _, ok := needs[name]; !ok {
			w.logs.Remove(followerPrefix + name)
		}
	}
	w.following = needs
}

// leaveBehind ends the connections of replicas that have not read for so long that the log is not kept for them any more: what
// a connection is at the server does not purge.
func (w *watch) leaveBehind(ctx context.Context) error {
	files, err := binlog.Files(w.inst.DataDir(), server.BinlogName)
	if err != nil || len(files) <= mostLogKept+keepBinlogs || w.logs.Needed(files) > mostLogKept {
		return err
	}
	sessions, err := dbconn.Sessions(ctx, w.db)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for name := range w.following {
		kept[instance.ReplicaUser(name)] = true
	}
	for _, at := range sessions {
		if kept[at.User] || !strings.HasPrefix(at.User, dbconn.ReplicaUserPrefix) || !strings.HasPrefix(at.Command, "Binlog Dump") {
			continue
		}
		w.log.Warn("the connection of a replica is ended, which keeps more of the log than is kept for one that is away", "account", at.User, "files", len(files))
		if err := w.exec(ctx, fmt.Sprintf("KILL %d", at.ID)); err != nil && !dbconn.NoSuchThread(err) {
			return err
		}
	}
	w.purged = "" // again, without them
	return nil
}

// logFile is a file of the binary log as it was in a look.
type logFile struct {
	name  string
	inode uint64
	size  int64
}

// lookAtLog notes that the log was begun again, as by RESET MASTER: files of the same names hold other transactions then,
// and replicas that go on by the names would lack some.
func (s *Supervisor) lookAtLog(files []string) error {
	if len(files) == 0 {
		return nil
	}
	stat := func(name string) (logFile, error) {
		var st syscall.Stat_t
		err := syscall.Lstat(filepath.Join(s.inst.DataDir(), name), &st)
		return logFile{name, st.Ino, st.Size}, err
	}
	was := s.newest
	is, err := stat(files[len(files)-1])
	if err != nil {
		return fmt.Errorf("look at the binary log: %w", err)
	}
	s.newest = is
	same := was.name == ""
	if now, err := stat(was.name); !same && slices.Contains(files, was.name) {
		same = err == nil && now.inode == was.inode && now.size >= was.size
	} else if !same { // it was purged, or the log began again with lower numbers
		same = cmp.Or(cmp.Compare(len(files[0]), len(was.name)), cmp.Compare(files[0], was.name)) > 0
	}
	if same {
		return nil
	}
	s.log.Warn("the binary log was begun again, as by RESET MASTER: no replica can follow it")
	s.inst.LogsBegun++
	return s.inst.Save()
}

// needs is the first file that a replica has not received whole: as it says, or, before it has said anything, the one that
// it begins with; "" where its volume is gone.
func (w *watch) needs(r *instance.Record) string {
	if f, err := r.Following(); err == nil && f != nil {
		return f.Needs
	}
	if i, err := w.store.Registry.Open(r.Name); err == nil && i.Source != nil {
		return i.Source.File
	}
	return ""
}

// staleReplicas are the statements, for an init file, that remove the accounts of replicas that follow a log of before:
// in this one a file of the same name has other transactions.
func (s *Supervisor) staleReplicas() string {
	text := ""
	list, _ := s.followers() // the watch sweeps
	for _, r := range list {
		if i, err := s.store.Registry.Open(r.Name); err == nil && i.Source != nil && i.Source.Life != s.inst.LogLife() {
			text += s.inst.Server.Dialect().EndReplicaAccountSQL(i.Source.Login.User, server.Loopback) + ";\n"
		}
	}
	return text
}

// sweepAccounts removes the accounts of replicas that are none any more, of which a branch has those of its parent, and makes
// those again that somebody has removed.
func (w *watch) sweepAccounts(ctx context.Context) error {
	if w.noLog() || w.isReplica() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	users, err := w.inst.Server.Dialect().ReplicaAccounts(ctx, w.db)
	if err != nil {
		return err
	}
	list, err := w.followers()
	if err != nil {
		return err
	}
	if broken, err := w.store.Registry.Broken(); err != nil || len(broken) > 0 {
		return err // one of these may be a replica
	}
	known := map[string]bool{}
	for _, r := range list {
		user := instance.ReplicaUser(r.Name)
		known[user] = true
		i, err := w.store.Registry.Open(r.Name)
		if err != nil || i.Source == nil || i.Source.Life != w.inst.LogLife() || slices.Contains(users, user) {
			continue
		}
		if err := w.execUnlogged(ctx, w.inst.Server.Dialect().ReplicaAccountSQL(i.Source.Login, server.Loopback)...); err != nil {
			return err
		}
	}
	return w.dropAccounts(ctx, slices.DeleteFunc(users, func(user string) bool { return known[user] })...)
}

// dropAccounts removes accounts of replicas.
func (s *Supervisor) dropAccounts(ctx context.Context, users ...string) error {
	var statements []string
	for _, user := range users {
		statements = append(statements, s.inst.Server.Dialect().EndReplicaAccountSQL(user, server.Loopback))
	}
	return s.execUnlogged(ctx, statements...)
}

// replicaNow is how a replica follows, as the watch last found it; nil for one that is none.
func replicaNow(r *instance.Record) *client.Replica {
	f, err := r.Following()
	if r.Spec.Replica == nil || err != nil || f == nil {
		return nil
	}
	return &f.Replica
}

func (s *Supervisor) followerNames() (names []string) {
	list, err := s.followers()
	if err != nil {
		s.log.Error("cannot tell which instances follow", "error", err)
	}
	for _, r := range list {
		names = append(names, r.Name)
	}
	return names
}
