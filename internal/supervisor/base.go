package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/client"
	"github.com/ramaria-db/ramaria/internal/api"
	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// BaseOrder is what the process that makes a base backup is told, on its standard input.
type BaseOrder struct {
	// Name is the instance's, Dir the directory with the snapshot, taken at Time, and RunDir is for the
	// socket of the server that proves it.
	Name, Dir, RunDir string
	Time              time.Time
	// Volume is the kind of volume that Dir lies in.
	Volume string
	// Archive is the archive's directory, and Base what the base is to be called.
	Archive string
	Base    durable.BaseOrder
	// Fence is the first statement that waits for the base, nil for none.
	Fence *archive.Position
	// Verify says to compare the snapshot with what the archive gives, instead.
	Verify bool
}

// baseGrace is how long that process may take to end when it is told to.
const baseGrace = 10 * time.Second

// BaseDone is what that process answers.
type BaseDone struct {
	Base         archive.Base
	Verification durable.Verification
	// Damaged is what a comparison found damaged in the archive, "" for nothing.
	Damaged string
}

// notDurable refuses what only durable instances have.
func (s *Supervisor) notDurable(what string) error {
	return api.As(api.ErrDurable, fmt.Errorf("%s of instance %s: it is not durable, and has no archive\nhint: ramaria up NAME --durable makes one that is; ramaria mark keeps data in RAM", what, s.inst.Name))
}

// snapshotOf takes a snapshot for a base backup, log included, and has another process work on it: that
// is long, and must not be in the way of commits. Its caller has locked basing, until the manifest knows of the
// base: pruning removes what that does not name, and the next base would have the same number.
func (s *Supervisor) snapshotOf(ctx context.Context, what string, verify bool) (done BaseDone, cost client.Snapshot, err error) {
	if s.keeper == nil {
		return done, cost, s.notDurable("make " + what)
	}
	if _, err := durable.Read(s.options.Archive); errors.Is(err, archive.ErrNoArchive) {
		return done, cost, fmt.Errorf("%w\nhint: put it back there; ramaria status %s says how to go on without", err, s.inst.Name)
	}
	to, dir, err := s.snapshotPlace(ctx, what)
	if err != nil {
		return done, cost, err
	}
	if err := to.Remove(ctx, dir); err != nil { // of one that was cut off
		return done, cost, err
	}
	if err := os.Mkdir(dir, 0o711); err != nil {
		return done, cost, err
	}
	order := BaseOrder{Name: s.inst.Name, Dir: dir, Volume: string(to.Kind()), RunDir: s.inst.RunDir + "-base", Archive: s.options.Archive, Base: s.keeper.NextBase(), Verify: verify}
	if s.distrusted.Load() {
		order.Base.Prev = 0
	}
	defer func() {
		_ = sys.DrainTree(ctx, dir) // Remove removes what is left, at once
		err = errors.Join(err, to.Remove(context.WithoutCancel(ctx), dir), sys.RemoveTree(order.RunDir), sys.RemoveTree(order.RunDir+"-verify"))
	}()
	if cost, err = s.SnapshotTo(ctx, to, filepath.Join(dir, "data")); err != nil {
		return done, cost, err
	}
	order.Time = time.Now()
	if err := s.keeper.Await(ctx); err != nil { // the snapshot has commits that the archive may lack
		return done, cost, err
	}
	// Now all that the snapshot's log has was judged. What waits does so until the base is there.
	if open, _ := s.keeper.Fences(); len(open) > 0 && s.fenced() {
		order.Fence = &open[0].At
	}
	done, err = s.runBase(ctx, order)
	return done, cost, err
}

// snapshotPlace is where a snapshot for a base backup goes: into the volume, or, if that has no room for a
// copy, onto the disk.
func (s *Supervisor) snapshotPlace(ctx context.Context, what string) (to volume.Target, dir string, err error) {
	size, err := sys.DiskUsage(s.inst.DataDir())
	if err != nil {
		return nil, "", err
	}
	inside := filepath.Join(s.inst.Dir, "base")
	if err := s.volume.Remove(ctx, inside); err != nil { // of one that was cut off
		return nil, "", err
	}
	if volume.CheckCopy(s.volume, s.inst.DataDir(), size, snapshotRoom, what) == nil {
		return s.volume, inside, nil
	}
	if to, err = s.options.Outside(); err != nil {
		return nil, "", err
	}
	return to, filepath.Join(to.Dir(), s.inst.Name), nil
}

// runBase runs the process that an order is for.
func (s *Supervisor) runBase(ctx context.Context, o BaseOrder) (done BaseDone, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return done, err
	}
	argv := s.options.Argv(s.inst.Name)
	argv[1] = "make-base"                                 // instead of supervise
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // #nosec G204 -- this program
	cmd.Dir = "/"
	cmd.Stdin = bytes.NewReader(text)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	// It ends with this process, and its server with it: the next supervisor makes a base of the same number. The
	// parent-death signal comes when the thread that forked ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = baseGrace
	err = cmd.Start()
	if err == nil {
		sys.Background(cmd.Process.Pid)
		err = cmd.Wait()
	}
	if err != nil {
		if ctx.Err() != nil {
			return done, ctx.Err()
		}
		return done, errors.New(strings.TrimPrefix(strings.TrimSpace(said.String()), "ramaria: "))
	}
	err = json.Unmarshal(out.Bytes(), &done)
	return done, err
}

// basingPoll is the pause between two looks whether no other base backup is made.
const basingPoll = 20 * time.Millisecond

// lockBasing locks basing, which a move holds until its end.
func (s *Supervisor) lockBasing(ctx context.Context, what string) error {
	for !s.basing.TryLock() {
		if err := s.refuseMoving(what); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(basingPoll):
		}
	}
	return nil
}

// Backup implements api.Instance.
func (s *Supervisor) Backup(ctx context.Context) (client.Backup, error) {
	if err := s.lockBasing(ctx, "back up"); err != nil {
		return client.Backup{}, err
	}
	defer s.basing.Unlock()
	return s.makeBase(ctx)
}

// makeBase makes a base; its caller has locked basing.
func (s *Supervisor) makeBase(ctx context.Context) (client.Backup, error) {
	done, cost, err := s.snapshotOf(ctx, "a base backup", false)
	if err != nil {
		return client.Backup{}, fmt.Errorf("back up instance %s: %w", s.inst.Name, err)
	}
	b, err := s.keeper.AddBase(done.Base)
	if err != nil {
		return client.Backup{}, fmt.Errorf("back up instance %s: %w", s.inst.Name, err)
	}
	s.distrusted.Store(false)
	s.counters.bases.Add(1)
	out := durable.BackupOf(b)
	out.Snapshot = &cost
	return out, nil
}

// VerifyBackups implements api.Instance.
func (s *Supervisor) VerifyBackups(ctx context.Context) (client.Verification, error) {
	v, err := s.verifyBackups(ctx)
	if ctx.Err() == nil && s.keeper != nil {
		var done attempt
		_ = done.did(err)
		s.verified.Store(&done)
	}
	return v, err
}

func (s *Supervisor) verifyBackups(ctx context.Context) (client.Verification, error) {
	if err := s.lockBasing(ctx, "verify the archive of"); err != nil {
		return client.Verification{}, err
	}
	defer s.basing.Unlock()
	done, err := s.compareWithArchive(ctx)
	if err != nil {
		return client.Verification{}, fmt.Errorf("verify the archive of instance %s: %w", s.inst.Name, err)
	}
	v := done.Verification
	if done.Damaged != "" {
		v.Differences = []string{done.Damaged}
	}
	if len(v.Differences) > 0 {
		s.distrusted.Store(true)
		err := fmt.Errorf("verify the archive of instance %s: what it gives differs from the instance: %s\nhint: ramaria backup %s begins with what the instance has", s.inst.Name, strings.Join(v.Differences, "; "), s.inst.Name)
		s.log.Error(err.Error())
		return client.Verification{}, err
	}
	if err := s.keeper.SetVerified(v); err != nil {
		return client.Verification{}, err
	}
	return client.Verification{
		Time: v.Time, Position: s.keeper.PositionText(v.At), Tables: v.Tables,
		RestoredBytes: v.Recovered.Restored, ReplayedBytes: v.Recovered.Replayed,
		RestoreMicros: v.Recovered.RestoreTime.Microseconds(), ReplayMicros: v.Recovered.ReplayTime.Microseconds(),
	}, nil
}

// compareTries is how often a comparison begins again because of a statement that came meanwhile and that the log may
// not repeat.
const compareTries = 3

// compareWithArchive compares a snapshot with what the archive gives. Statements that the log may not repeat have a base
// backup first: what their repetition gives may differ.
func (s *Supervisor) compareWithArchive(ctx context.Context) (done BaseDone, err error) {
	for try := 1; ; try++ {
		if s.keeper != nil && s.keeper.Fenced() {
			if _, err := s.makeBase(ctx); err != nil {
				return done, err
			}
		}
		limited, cancel := s.untilFenced(ctx)
		done, _, err = s.snapshotOf(limited, "a comparison with the archive", true)
		fenced := errors.Is(context.Cause(limited), errFenced)
		cancel()
		if fenced && try < compareTries {
			continue
		}
		v := done.Verification
		if err != nil || len(v.Recovered.Fences) == 0 || len(v.Differences) == 0 {
			return done, err
		}
		if try == compareTries {
			return done, fmt.Errorf("statements that the log may not repeat come faster than base backups are made (%s)\nhint: try again later", v.Recovered.Fences[0].Why)
		}
	}
}

// PruneBackups implements api.Instance.
func (s *Supervisor) PruneBackups(ctx context.Context) (client.Pruned, error) {
	if s.keeper == nil {
		return client.Pruned{}, s.notDurable("prune the archive")
	}
	if err := s.lockBasing(ctx, "prune the archive of"); err != nil {
		return client.Pruned{}, err
	}
	defer s.basing.Unlock()
	p, err := s.keeper.Prune()
	return client.Pruned{Backups: p.Bases, Epochs: p.Epochs}, err
}

// Backups implements api.Instance.
func (s *Supervisor) Backups(context.Context) ([]client.Backup, error) {
	if s.keeper == nil {
		return nil, s.notDurable("list backups")
	}
	m, err := durable.Read(s.options.Archive)
	if err != nil {
		return nil, err
	}
	out := make([]client.Backup, 0, len(m.Bases))
	for _, b := range m.Bases {
		out = append(out, durable.BackupOf(b))
	}
	return out, nil
}
