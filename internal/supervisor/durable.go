package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
)

// archiveConsumer is the archive as a consumer of the binary log.
const archiveConsumer = "archive"

// durable reports whether the instance has an archive.
func (s *Supervisor) durable() bool { return s.options.Archive != "" }

// openArchive makes sure that the archive has what the log has, before the server starts.
func (s *Supervisor) openArchive(ctx context.Context) error {
	if !s.durable() {
		return nil
	}
	a, err := durable.Open(ctx, s.options.Archive)
	if err != nil {
		return err
	}
	a.Beside = s.store.Registry.ExtentPath(s.inst.Name)
	boot, err := host.Host{}.BootID()
	if err != nil {
		return errors.Join(err, a.Close())
	}
	s.keeper, err = durable.Keep(ctx, a, s.inst, boot, durable.PolicyOf(s.inst.Spec, s.inst.Server.Family()), s.log, s.waitForArchive)
	if err != nil && s.state.Warnings != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w\nhint: make room in %s, and ramaria up %s goes on; with --durable=off it does without the archive", err, s.options.Archive, s.inst.Name)
	}
	s.state.Warnings = nil
	if err != nil {
		return errors.Join(err, a.Close())
	}
	if err := s.baseFirst(ctx); err != nil {
		return errors.Join(err, s.keeper.Close())
	}
	s.openBuckets()
	return nil
}

// waitForArchive says what a start waits for.
func (s *Supervisor) waitForArchive(err error) {
	s.state.Warnings = []string{fmt.Sprintf("it waits until its log can be archived in %s: %v", s.options.Archive, err)}
	if err := s.saveState(); err != nil {
		s.log.Error("cannot write state", "error", err)
	}
}

// serveArchive follows the log of the server that runs now.
func (s *Supervisor) serveArchive(ctx context.Context) error {
	if s.keeper == nil {
		return nil
	}
	if err := s.keeper.Archive.SaveMade(s.inst); err != nil {
		return err
	}
	if err := s.tellKeys(ctx); err != nil {
		return err
	}
	level, interval := s.inst.Spec.Durability()
	if err := s.keeper.Serve(level, interval, s.proc.Done()); err != nil {
		return err
	}
	s.logs.Set(archiveConsumer, s.keeper.Needs)
	if s.passwordPutBack { // or the account itself, which no log has: statements about it may follow
		s.keeper.WantBase()
	}
	return nil
}

// stopArchive archives what a server that has ended wrote last, and lets the archive go. Its buckets get what it
// has, within a time, until ctx ends.
func (s *Supervisor) stopArchive(ctx context.Context, patience time.Duration) error {
	if s.keeper == nil {
		return nil
	}
	s.logs.Remove(archiveConsumer)
	err := s.keeper.Stop(context.WithoutCancel(ctx))
	s.lacks = s.closeBuckets(ctx, patience)
	if err != nil {
		s.lacks = append(s.lacks, s.unarchived(err))
	}
	err = errors.Join(err, s.keeper.Close())
	s.keeper = nil
	return err
}

// unarchived says what is at stake where the end of the log could not be archived.
func (s *Supervisor) unarchived(err error) string {
	stake := "no commit of it was answered"
	if s.inst.Spec.Durable != instance.DurableCommit {
		stake = "the last of its commits were answered"
	}
	return fmt.Sprintf("the archive in %s lacks the end of the log: %v; what it lacks is in RAM, where a power cut takes it, and %s\n"+
		"hint: with a disk that answers and has room, ramaria up %s archives it; ramaria up %[4]s --durable=off starts it without the archive",
		s.options.Archive, cmp.Or(errors.Unwrap(err), err), stake, s.inst.Name)
}

const (
	// settlePatience is how long statements that write may hold up a stop: what they have done is
	// rolled back then.
	settlePatience = 2 * time.Second
	// settlePause is the pause between two looks whether the archive has the log.
	settlePause = 5 * time.Millisecond
)

// settleArchive keeps the server from committing, for as long as the supervisor's connection lives,
// and waits until the archive has what was committed: a server that shuts down lets commits
// go on that wait for it. It reports whether the archive works.
func (s *Supervisor) settleArchive(ctx context.Context) bool {
	limited, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	if _, err := s.db.ExecContext(limited, s.settleSQL()); err != nil {
		s.log.Warn("statements that run keep the server from settling before it stops", "error", err)
	}
	for !s.keeper.Settled() && limited.Err() == nil && s.keeper.Trouble() == nil {
		time.Sleep(settlePause)
	}
	return s.keeper.Answers() && !s.fenced()
}

// settleSQL is the statement that keeps the server from committing. In a member of a cluster a lock would keep what others
// commit, too, and so the server from leaving the cluster: it takes no writes of its own instead.
func (s *Supervisor) settleSQL() string {
	switch {
	case s.inGroup():
		return "SET GLOBAL super_read_only = ON"
	case s.isMember():
		return "SET GLOBAL read_only = ON"
	}
	return "FLUSH TABLES WITH READ LOCK"
}

// markPatience is how long a server that shuts down may take, from when its socket is gone, to tell every
// session that it ends. The server is not waited for longer than it needs: MySQL takes 10 s where a connection stays.
const markPatience = 300 * time.Millisecond

// sessionPatience is how long sessions may take to end, from when the socket of a server that shuts down is gone. Those
// that are told to end and do not, such as one that waits for an acknowledgement and missed the telling, it waits for
// forever. It is well below what a service may take to stop.
const sessionPatience = 20 * time.Second

// shutDown has the server shut down. The connection by which settleArchive keeps it from committing stays until
// no session can commit any more. A server whose sessions do not end is killed: all that it acknowledged
// is archived, or at the replica that it waits for, and a replica asks for the rest again.
func (s *Supervisor) shutDown(ctx context.Context) error {
	if !s.commitsWait() && !s.isReplica() {
		s.closeDB() // the clean shutdown waits for no connection, our own least of all
		return s.proc.Stop(ctx)
	}
	s.closeTraffic()
	if s.isMember() { // which leaves its cluster only then
		s.leaveGroup(ctx)
		s.closeDB()
	}
	released := make(chan struct{})
	go func() {
		defer close(released)
		for {
			if _, err := os.Lstat(s.inst.Socket()); errors.Is(err, fs.ErrNotExist) {
				break
			}
			if !s.runsFor(settlePause) {
				return
			}
		}
		if !s.runsFor(markPatience) {
			return
		}
		s.closeDB()
		if s.runsFor(sessionPatience) && s.proc.Serving() {
			s.killedFor = fmt.Sprintf("a session did not end within %s of a shutdown: its server was killed, and recovers at its next start", sessionPatience)
			s.log.Warn(s.killedFor)
			s.proc.Kill()
		}
	}()
	err := s.proc.Stop(ctx)
	<-released
	if s.killedFor != "" {
		return nil // it has been said
	}
	return err
}

// runsFor waits for some time, or until the server has ended, which it reports.
func (s *Supervisor) runsFor(d time.Duration) bool {
	select {
	case <-s.proc.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// archiveWarning is what there is to say of the archive, "" for nothing.
func (s *Supervisor) archiveWarning() string {
	if s.keeper == nil {
		return ""
	}
	err := s.keeper.Trouble()
	if err == nil {
		return ""
	}
	return fmt.Sprintf("the log cannot be archived in %s, and %s: %v", s.options.Archive, s.stuck(), err)
}

// slowedSince is since when commits wait for an archive that an interval lets them be ahead of, nil if they do not.
func (s *Supervisor) slowedSince() *time.Time {
	if s.keeper == nil {
		return nil
	}
	if since := s.keeper.Pace().Since; !since.IsZero() {
		return &since
	}
	return nil
}

// slowedText says that commits are slowed.
func (s *Supervisor) slowedText(since time.Time) string {
	return fmt.Sprintf("commits are slowed since %s: they come faster than the disk of the archive in %s takes them, and a power cut may take no more than %s of them\nhint: --archive DIR, on a faster disk; or a longer --durable=TIME",
		since.Local().Format(time.TimeOnly), s.options.Archive, instance.FormatTimeText(s.inst.Spec.Durable))
}

// refuseDurable refuses what a durable instance cannot do.
func (s *Supervisor) refuseDurable(what, why string) error {
	return api.As(api.ErrDurable, fmt.Errorf("%s of instance %s: it is durable, and %s", what, s.inst.Name, why))
}

// needsThrownAway refuses the pool: what its resets do is in no log.
func (s *Supervisor) needsThrownAway() error {
	return s.refuseDurable("use templates", fmt.Sprintf("resets are in no log, so that recovery could not repeat them\nhint: ramaria branch %s NAME takes milliseconds, and has templates", s.inst.Name))
}
