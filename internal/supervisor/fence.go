package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/datafiles"
	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/server"
)

// fencedLong is how long a statement may wait for its base backup before a warning says so.
const fencedLong = 5 * time.Second

// fenced reports whether a commit waits for a base backup: its statement is one that the log may not repeat.
func (s *Supervisor) fenced() bool {
	return s.keeper.Fenced() && s.inst.Spec.Durable == instance.DurableCommit
}

// baseFirst makes a base backup before the server starts where the log has statements that it may not repeat, and
// nobody has an answer to yet: what they did must not be seen before.
func (s *Supervisor) baseFirst(ctx context.Context) error {
	if !s.fenced() {
		return nil
	}
	s.log.Info("a base backup is made first: the log has statements that it may not repeat")
	if err := s.keeper.BaseFirst(ctx, s.options.Keys); err != nil {
		return fmt.Errorf("make the base backup that a statement waits for: %w\nhint: ramaria up %s tries again; with --durable=off it does without the archive", err, s.inst.Name)
	}
	return nil
}

// errFenced says that a statement waits for a base backup.
var errFenced = errors.New("a statement waits for a base backup")

// fencedPoll is the pause between two looks whether a statement waits.
const fencedPoll = 50 * time.Millisecond

// untilFenced returns a context that ends when a commit waits for a base backup: what takes long is not to be in its way.
func (s *Supervisor) untilFenced(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	k := s.keeper
	if k == nil || s.inst.Spec.Durable != instance.DurableCommit {
		return ctx, func() { cancel(nil) }
	}
	go func() {
		for !k.Fenced() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(fencedPoll):
			}
		}
		cancel(errFenced)
	}()
	return ctx, func() { cancel(nil) }
}

// tellKeys tells the keeper which primary keys there are, by which it knows whether a statement numbers rows in one order
// only.
func (s *Supervisor) tellKeys(ctx context.Context) error {
	return dbconn.PrimaryKeys(ctx, s.db, s.inst.Server.Flavour == server.MySQL, func(dir, file, column string) {
		s.keeper.Known(datafiles.Decode(dir), datafiles.Decode(file), []string{column})
	})
}

// tellKeyless tells the keeper of tables whose rows the log changes whether they lack a key: then replaying it takes longer.
// It is in no commit's way: a question that a waiting statement held up would keep the base backup from it that it waits
// for. What could not be asked is asked again.
func (s *Supervisor) tellKeyless(ctx context.Context) {
	unknown := s.keeper.Unknown()
	if len(unknown) == 0 {
		return
	}
	ctx, cancel := s.untilFenced(ctx)
	defer cancel()
	keyless := map[repeatable.Table]bool{}
	err := dbconn.TablesWithoutKey(ctx, s.db, s.inst.Server.Flavour == server.MySQL, func(dir, file string) {
		stem, _, _ := strings.Cut(file, "#") // a partition
		keyless[repeatable.Table{Schema: datafiles.Decode(dir), Name: datafiles.Decode(stem)}] = true
	})
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("cannot look which tables have a key", "error", err)
		}
		return
	}
	for _, t := range unknown {
		s.keeper.Keyless(t, keyless[t])
	}
}

// fenceWarning is what there is to say of statements that wait for a base backup, "" for nothing.
func (a *archivist) fenceWarning() string {
	if a.keeper == nil {
		return ""
	}
	open, _ := a.keeper.Fences()
	if len(open) == 0 {
		return ""
	}
	first := open[0]
	if a.inst.Spec.Durable != instance.DurableCommit {
		return fmt.Sprintf("a power cut before the next base backup takes what was committed since %s: the log may not repeat a statement (%s)", first.Seen.Local().Format(time.TimeOnly), first.Why)
	}
	if time.Since(first.Seen) < fencedLong {
		return ""
	}
	return fmt.Sprintf("commits wait for a base backup since %s: the log may not repeat a statement (%s)", first.Seen.Local().Format(time.TimeOnly), first.Why)
}
