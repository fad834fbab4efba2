package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/cluster"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
)

// keepMemberBinlogs is how many files of a member's log stay for members that were away: 256 MB.
const keepMemberBinlogs = 16

// joinPatience is how long a member may take to become a whole one: it gets what it lacks meanwhile.
const joinPatience = 10 * time.Minute

// membership is what the supervisor of a member of a cluster knows of it.
type membership struct {
	cluster *cluster.Cluster
	member  *server.Member
	// viewed is what the server said of its cluster when the watch last asked.
	viewed dbconn.ClusterView
	// door is open to the other machines of a cluster on several, opened says that applications may write, and excluded that the
	// others went on without it.
	door     *memberDoor
	opened   bool
	excluded bool
	// logFrom is where in the server's log this start begins, and deaf when its server was started once more, since it
	// answered nothing; zero for never.
	logFrom int64
	deaf    time.Time
}

// isMember reports whether the instance belongs to a cluster.
func (s *Supervisor) isMember() bool { return s.inst.Spec.Cluster != "" }

// inGroup reports whether it belongs to a group of MySQL.
func (s *Supervisor) inGroup() bool { return s.isMember() && s.inst.Server.Flavour == server.MySQL }

// openMembership finds out what the start of a member needs to know.
func (s *Supervisor) openMembership() error {
	if !s.isMember() {
		return nil
	}
	store := s.options.Clusters
	c, err := store.Get(s.inst.Spec.Cluster)
	if err != nil {
		return err
	}
	m, err := c.Member(s.inst.Name)
	if err != nil {
		return err
	}
	m.Begins = s.inst.Joins == instance.JoinsBegin
	if s.inst.Server.Flavour == server.MariaDB {
		m.Meet = store.Meet(c.Name)
		if err := server.MakeDirs(s.inst.Account, m.Meet); err != nil {
			return err
		}
		if m.Script, err = store.WriteScript(c.Name); err != nil {
			return err
		}
	}
	m.Apart = s.inst.Server.Flavour == server.MariaDB && s.inst.Joins == instance.JoinsApart
	s.membership = membership{cluster: c, member: m}
	return s.openDoor()
}

// writeMember writes the keys of a member, and has Galera know where its data is in the cluster's sequence: a server that was
// killed does not, and would ask for a copy of everything.
func (s *Supervisor) writeMember(ctx context.Context) error {
	if !s.isMember() {
		return nil
	}
	i := s.inst
	err := errors.Join(
		server.WritePrivate(server.ClusterKeyPath(i.RunDir), []byte(s.cluster.Key), i.Account),
		server.WritePrivate(server.ClusterCertPath(i.RunDir), []byte(s.cluster.Cert), i.Account),
	)
	if err != nil || i.Server.Flavour != server.MariaDB || s.member.Apart {
		return err
	}
	if err := s.noteJoined(false); err != nil {
		return err
	}
	if s.member.Begins {
		// Another history begins each time: numbers of the old one, which others may have used since, would be used twice.
		return removeIn(i.DataDir(), cluster.HistoryFiles...)
	}
	at := cluster.ReadState(i.DataDir())
	if !at.Known() {
		text, err := i.Server.RecoverPosition(ctx, i.ConfigPath(), s.config(), i.Account, i.Dir)
		if err != nil {
			return fmt.Errorf("find where the data is in the cluster's sequence: %w", err)
		}
		if at, err = cluster.ParseRecovered(text); err != nil {
			return err
		}
	}
	if !at.Known() {
		return nil // it never was in the cluster, and is refused
	}
	return cluster.WriteState(i.DataDir(), at, i.Account)
}

// joinCluster has a server that has answered be a member, and waits until it is one.
func (s *Supervisor) joinCluster(ctx context.Context) (err error) {
	switch {
	case !s.isMember():
		return nil
	case s.inst.Joins == instance.JoinsApart:
		return s.keepPromises(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	begins := s.member.Begins
	s.opened = false
	if s.inGroup() {
		if err := dbconn.JoinGroup(ctx, s.db, s.cluster.Group, s.cluster.Login, begins); err != nil {
			return err
		}
	}
	if err := s.awaitMember(ctx); err != nil {
		return err
	}
	if begins && !s.inGroup() {
		if err := dbconn.BeginNumbers(ctx, s.db, s.cluster.Numbered); err != nil {
			return err
		}
	}
	if begins && !s.durable() && s.inst.Endpoint.Database != "" { // that of a durable one is in its base
		if err := s.exec(ctx, "CREATE DATABASE IF NOT EXISTS "+dbconn.QuoteName(s.inst.Endpoint.Database)); err != nil {
			return err
		}
	}
	if err := s.noteJoined(begins); err != nil {
		return err
	}
	if err := s.keepPromises(ctx); err != nil {
		return err
	}
	if s.viewed, err = s.inst.Server.Dialect().ClusterView(ctx, s.db); err != nil {
		return err
	}
	if err := s.openMember(ctx, false); err != nil { // last: from now on applications write
		return err
	}
	s.inst.Joins = ""
	s.member.Begins = false
	return s.inst.Save()
}

// noteJoined writes down that the member of Galera of a cluster on several machines joins, before others can send it anything,
// or has begun the cluster.
func (s *Supervisor) noteJoined(begins bool) error {
	if !s.cluster.Far() || s.inGroup() || begins != s.member.Begins {
		return nil
	}
	return s.options.Clusters.SetJoined(s.cluster.Name)
}

// keepPromises has the commits of a member of Galera wait for its archive, if it has one. When it joined it got from others
// what their archives have, which the archive of a server that still starts does not acknowledge.
func (s *Supervisor) keepPromises(ctx context.Context) error {
	if s.inGroup() {
		return nil
	}
	var statements []string
	for _, p := range s.inst.Server.Promises(s.level(), s.inst.Volume) {
		statements = append(statements, p.SQL())
	}
	return s.exec(ctx, statements...)
}

// openMember lets applications write to a whole member of Galera; a group has its own way. In a cluster on several machines a
// member is open for as long as it reaches most of the others, and the primary of a group only: one that is alone may be so
// beside others, and what it answered would be lost with it.
func (s *Supervisor) openMember(ctx context.Context, brakes bool) error {
	if !s.cluster.Far() {
		if s.opened || s.inGroup() {
			return nil
		}
		err := s.exec(ctx, "SET GLOBAL read_only = OFF")
		s.opened = err == nil
		return err
	}
	open := s.viewed.Online && s.viewed.Size >= s.cluster.Quorum() && s.viewed.Role != dbconn.RoleSecondary && !s.excluded
	var err error
	switch {
	case open == s.opened || open && brakes:
		return nil
	case open && s.inGroup():
		err = s.exec(ctx, "SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF")
	case open:
		err = s.exec(ctx, "SET GLOBAL read_only = OFF")
	case s.inGroup():
		err = s.exec(ctx, "SET GLOBAL super_read_only = ON")
	default:
		err = s.exec(ctx, "SET GLOBAL read_only = ON")
	}
	if err == nil {
		s.opened = open
	}
	return err
}

// awaitMember waits until the server is a whole member.
func (s *Supervisor) awaitMember(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.proc.Done():
			cancel(fmt.Errorf("the server ended: %s", server.Cause(s.proc.Exit())))
		case <-ctx.Done():
		}
	}()
	if err := dbconn.AwaitMember(ctx, s.inst.Server.Dialect(), s.db); err != nil {
		return fmt.Errorf("%w\n%s", err, server.LogTail(s.inst.LogPath()))
	}
	return nil
}

// leavePatience is how long a member may take to leave its group before its server is shut down all the same.
const leavePatience = 30 * time.Second

// leaveGroup has a server leave its group of MySQL before it is shut down: then it would wait 10 s for the group's connections.
func (s *Supervisor) leaveGroup(ctx context.Context) {
	if !s.inGroup() || s.inst.Joins == instance.JoinsApart {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leavePatience)
	defer cancel()
	if _, err := s.db.ExecContext(ctx, "STOP GROUP_REPLICATION"); err != nil {
		s.log.Warn("it did not leave its group before it stopped", "error", err)
	}
}

// refuseMember refuses what would part a member from its cluster.
func (s *Supervisor) refuseMember(what string) error {
	if !s.isMember() {
		return nil
	}
	return api.As(api.ErrDurable, fmt.Errorf("%s of instance %s: it is a member of cluster %s\nhint: ramaria branch %[2]s NAME makes an instance of its own", what, s.inst.Name, s.inst.Spec.Cluster))
}

// memberSQL is what the init file of a member begins and ends with.
func (s *Supervisor) memberSQL() (before, after string) {
	switch {
	case !s.isMember():
	case s.inGroup():
		after = dbconn.GroupAccountSQL(s.cluster.Login, s.cluster.LoginHost())
		if s.cluster.Far() { // see openMember
			after += dbconn.HoldPrimarySQL()
		}
		after += "SET GLOBAL super_read_only = ON;\n" // until the group has it otherwise
	default:
		before = "SET SESSION wsrep_on = OFF;\n" // accounts are each member's own
	}
	return before, after
}

// lookAtCluster notes what the server says of its cluster.
func (w *watch) lookAtCluster(ctx context.Context) error {
	if !w.isMember() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, watchInterval)
	defer cancel()
	v, err := w.inst.Server.Dialect().ClusterView(ctx, w.db)
	if err != nil {
		v = dbconn.ClusterView{State: "does not answer"}
	}
	w.viewed = v
	if w.cluster.Far() {
		if c, err := w.options.Clusters.Get(w.cluster.Name); err == nil { // others may have joined
			w.cluster = c
		}
		w.excluded = w.door.hasLeft.Load()
	}
	m := &client.Membership{Cluster: w.cluster.Name, State: v.State, Online: v.Online, Role: v.Role, Sees: v.Size, Of: w.cluster.Counted()}
	if w.state.Cluster == nil || *w.state.Cluster != *m {
		w.state.Cluster = m
		if err := w.saveState(); err != nil {
			return err
		}
	}
	if v.Online && w.inst.Joins == instance.JoinsApart { // a command had it join
		w.inst.Joins = ""
		err = errors.Join(err, w.inst.Save())
	}
	if w.inst.Joins == instance.JoinsApart {
		return err
	}
	if v.Headless && v.Quorum { // nothing is written meanwhile; of another member that is lost nobody is in a hurry
		err = errors.Join(err, dbconn.HastenExpulsion(ctx, w.db))
	}
	return errors.Join(err, w.openMember(ctx, w.brake != ""))
}

// reachesMost reports whether a member of a cluster on several machines reaches most of the others.
func (s *Supervisor) reachesMost() bool {
	return !s.cluster.Far() || s.viewed.Size >= s.cluster.Quorum()
}

// clusterWarning is what there is to say of a member, "" for nothing.
func (s *Supervisor) clusterWarning() string {
	if !s.isMember() || s.inst.Joins == instance.JoinsApart || s.viewed.Online && !s.excluded && s.reachesMost() || s.viewed.State == "" {
		return ""
	}
	c := s.cluster
	switch {
	case s.excluded:
		return fmt.Sprintf("cluster %s went on without this machine's member, which takes no writes any more; ramaria cluster rm %[1]s --with-archive loses what it alone has, and ramaria cluster join makes a new one", c.Name)
	case s.viewed.Online:
		return fmt.Sprintf("this member of cluster %s reaches %d of %d, and takes no writes until it reaches most; ramaria cluster up %[1]s at the other machines", c.Name, s.viewed.Size, c.Counted())
	case !s.viewed.Quorum && s.viewed.Size > 0:
		return fmt.Sprintf("cluster %s has lost its quorum: this member reaches %d of %d, and takes no writes; ramaria cluster up %[1]s starts those that do not run", c.Name, s.viewed.Size, len(c.Nodes))
	default:
		return fmt.Sprintf("it is no whole member of cluster %s: its server is %s; ramaria down %s && ramaria cluster up %[1]s has it join again", c.Name, s.viewed.State, s.inst.Name)
	}
}
