package supervisor

import (
	"context"
	"time"
)

const (
	// archivistInterval is the time between two looks at whether a base is due.
	archivistInterval = time.Second
	// verifyEvery is how often what the archive gives is compared with the instance.
	verifyEvery = 24 * time.Hour
	// archivistPause is the pause after something that failed.
	archivistPause = time.Minute
)

// archivist makes bases and comparisons in time, and prunes, until ctx ends.
func (s *Supervisor) archivist(ctx context.Context) {
	timer := time.NewTimer(archivistInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		pause := archivistInterval
		if err := s.archive(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the archive cannot be kept", "error", err)
			pause = archivistPause
		}
		timer.Reset(pause)
	}
}

// archive does what is due.
func (s *Supervisor) archive(ctx context.Context) error {
	switch {
	case s.keeper.Due():
		if _, err := s.Backup(ctx); err != nil {
			return err
		}
		_, err := s.PruneBackups(ctx)
		return err
	case s.keeper.VerifyDue(verifyEvery):
		_, err := s.VerifyBackups(ctx)
		return err
	}
	return nil
}
