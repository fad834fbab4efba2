package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/durable"
)

// archiveConsumer is the archive as a consumer of the binary log.
const archiveConsumer = "archive"

// durable reports whether the instance has an archive.
func (s *Supervisor) durable() bool { return s.archiveDir != "" }

// openArchive makes sure that the archive has what the log has, before the server starts.
func (s *Supervisor) openArchive(ctx context.Context) error {
	if !s.durable() {
		return nil
	}
	a, err := durable.Open(ctx, s.archiveDir)
	if err != nil {
		return err
	}
	if s.keeper, err = durable.Keep(ctx, a, s.inst, durable.PolicyOf(s.inst.Spec, s.inst.Server.Family()), s.log); err != nil {
		return errors.Join(err, a.Close())
	}
	return nil
}

// serveArchive follows the log of the server that runs now.
func (s *Supervisor) serveArchive() error {
	if s.keeper == nil {
		return nil
	}
	if err := s.keeper.Archive.SaveMade(s.inst); err != nil {
		return err
	}
	level, interval := s.inst.Spec.Durability()
	if err := s.keeper.Serve(level, interval, s.proc.Done()); err != nil {
		return err
	}
	s.logs.Set(archiveConsumer, s.keeper.Needs)
	return nil
}

// stopArchive archives what a server that has ended wrote last, and lets the archive go.
func (s *Supervisor) stopArchive(ctx context.Context) error {
	if s.keeper == nil {
		return nil
	}
	s.logs.Remove(archiveConsumer)
	err := errors.Join(s.keeper.Stop(ctx), s.keeper.Close())
	s.keeper = nil
	return err
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
	return fmt.Sprintf("the log cannot be archived in %s, and %s: %v", s.archiveDir, s.stuck(), err)
}

// refuseDurable refuses what a durable instance cannot do.
func (s *Supervisor) refuseDurable(what, why string) error {
	return api.As(api.ErrDurable, fmt.Errorf("%s of instance %s: it is durable, and %s", what, s.inst.Name, why))
}

// needsThrownAway refuses the pool: what its resets do is in no log.
func (s *Supervisor) needsThrownAway() error {
	return s.refuseDurable("use templates", fmt.Sprintf("resets are in no log, so that recovery could not repeat them\nhint: ramaria branch %s NAME takes milliseconds, and has templates", s.inst.Name))
}

// hangUpInterval is the time between two looks at whether a server has begun to shut down.
const hangUpInterval = 50 * time.Millisecond

// hangUpInTime ends the connection by which commits go on when the server has begun to shut down, and no
// sooner, until the function that it returns is called.
func (s *Supervisor) hangUpInTime() (stop func()) {
	if s.keeper == nil {
		return func() {}
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(hangUpInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				s.hangUpIfShutting()
			}
		}
	})
	return func() { close(done); group.Wait() }
}

// hangUpIfShutting ends that connection if the server takes no new ones any more: its socket is removed
// first of all.
func (s *Supervisor) hangUpIfShutting() {
	if _, err := os.Lstat(s.inst.Socket()); errors.Is(err, fs.ErrNotExist) {
		s.keeper.HangUp()
	}
}
