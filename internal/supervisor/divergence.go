package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/divergence"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
)

// keysWithin bounds the question which primary keys there are.
const keysWithin = 5 * time.Second

// finderFrom returns what follows a log from a position on, and knows the keys that there are now.
func (s *Supervisor) finderFrom(ctx context.Context, at binlog.Position) (*divergence.Finder, error) {
	ctx, cancel := context.WithTimeout(ctx, keysWithin)
	defer cancel()
	mysql := s.inst.Server.Flavour == server.MySQL
	f := divergence.New(mysql, at)
	err := dbconn.PrimaryKeys(ctx, s.db, mysql, func(dir, file, column string) {
		f.Known(datafiles.Decode(dir), datafiles.Decode(file), column)
	})
	return f, err
}

// sourceLog is the log that a replica is judged by: that of its source, where that is an instance whose log is there, and
// else its own, which has the same statements but for those that its source has logged as text and that change rows.
func (s *Supervisor) sourceLog() (l divergence.Log, own bool) {
	if !s.inst.Spec.Replica.IsRemote() {
		if i, err := s.store.Registry.Open(s.inst.Spec.Replica.Of); err == nil && i.LogLife() == s.inst.Source.Life {
			l = divergence.Own(i.DataDir(), server.BinlogName, server.FoldsNames(i.Spec.Set))
			if files, err := binlog.Files(l.Dir, l.Base); err == nil && len(files) > 0 { // its volume is there
				return l, false
			}
		}
	}
	return divergence.Log{Dir: s.inst.DataDir(), Base: server.BinlogName, Files: repeatable.Files{Lenient: true}}, true
}

// lookForDivergence looks for a statement that need not have done the same in a replica as in its source. It is for the
// goroutine of Run.
func (s *Supervisor) lookForDivergence(ctx context.Context) (err error) {
	if s.inst.Diverged != nil {
		return nil
	}
	log, own := s.sourceLog()
	if s.finder == nil || own != s.ownLog {
		at := binlog.Position{File: s.inst.Source.File, Offset: s.inst.Source.Pos}
		if s.inst.Spec.Replica.IsRemote() {
			at = binlog.Position{} // its own log has nothing from before
		}
		if told, err := s.inst.Following(); err == nil && told != nil && told.Judged.File != "" && told.Own == own {
			at = told.Judged
		}
		if s.finder, err = s.finderFrom(ctx, at); err != nil {
			s.finder = nil
			return err
		}
		s.ownLog = own
	}
	found, err := s.finder.Look(log)
	if err != nil || found == nil {
		return err
	}
	s.inst.Diverged, s.finder = found, nil
	return s.inst.Save()
}

// agrees refuses a replica that may differ from its source.
func (s *Supervisor) agrees(ctx context.Context, acceptDivergence bool) error {
	if acceptDivergence {
		return nil
	}
	err := s.lookForDivergence(ctx)
	d := s.inst.Diverged
	if err != nil || d == nil {
		return err
	}
	of, name := s.inst.Spec.Replica.Of, s.inst.Name
	return api.As(api.ErrDurable, fmt.Errorf("it may differ from %s %s\nhint: ramaria replica rm %s and ramaria replica add %[1]s %[3]s make it again; ramaria replica promote %[3]s --accept-divergence takes it as it is",
		of, divergence.Since(d), name))
}

// divergenceWarning is what there is to say of a replica, or the target of a hand-over, that may differ; "" for nothing.
func (w *watch) divergenceWarning() string {
	switch d := w.inst.Diverged; {
	case d != nil && w.isReplica():
		of := w.inst.Spec.Replica.Of
		return fmt.Sprintf("it may differ from %s %s; ramaria replica rm %s and ramaria replica add %[1]s %[3]s make it again", of, divergence.Since(d), w.inst.Name)
	case w.target.Diverged != nil:
		return fmt.Sprintf("the target of the hand-over may differ %s; ramaria hand-over %s --end, and --to again", divergence.Since(w.target.Diverged), w.inst.Name)
	}
	return ""
}
