package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/durable"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

const (
	// archivistInterval is the time between two looks at whether a base is due.
	archivistInterval = time.Second
	// verifyEvery is how often what the archive gives is compared with the instance.
	verifyEvery = 24 * time.Hour
	// archivistPatience is how long what the archivist has begun may take when it is to end. A base backup is given up, and
	// a write that has begun takes moments where the disk answers.
	archivistPatience = 30 * time.Second
	// basePause and verifyPause are the pauses after one that failed, and shortenPause that between two
	// attempts to make room.
	basePause, verifyPause, shortenPause = time.Minute, time.Hour, time.Minute
	// fencedPause is basePause while a statement waits for the base.
	fencedPause = 2 * time.Second
	// measureInterval is the time between two looks at what the archive takes: each looks at all of its files.
	measureInterval = time.Minute
	// mostBreaches is how many breaches of the promise warnings tell of, the last ones.
	mostBreaches = 3
)

// archivist makes bases and comparisons in time, and prunes.
type archivist struct {
	*Supervisor
	policy durable.Policy
	began  time.Time
	// low says that the archive's file system lacks room.
	low bool
	// noted is why the manifest could not be told what is outside of the promise.
	noted error
	// base and room are about the attempts at each.
	base, room attempt
	// used is what the archive took, in bytes, when it was measured.
	used     int64
	measured time.Time
}

// attempt is the last attempt at something.
type attempt struct {
	at  time.Time
	err error
}

// did notes an attempt, and returns its error.
func (a *attempt) did(err error) error {
	a.at, a.err = time.Now(), err
	return err
}

// may reports whether enough time has passed since an attempt that failed.
func (a *attempt) may(pause time.Duration) bool { return a.err == nil || time.Since(a.at) >= pause }

// standing is what the archivist last found, for other goroutines: it waits for disks, and they must not.
type standing struct {
	durable.Report
	// Room is what can still be written to the archive, and Used what it takes, in bytes.
	Room, Used int64
	// BaseFailed and VerifyFailed say that the last attempt has failed.
	BaseFailed, VerifyFailed bool
	Warnings                 []string
}

// keepArchive has an archivist work until ctx ends. One that writes to a disk which does not answer is left behind.
func (s *Supervisor) keepArchive(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.archivist(ctx)
	}()
	<-ctx.Done()
	select {
	case <-done:
	case <-time.After(archivistPatience):
		s.keeper.Abandon()
	}
}

// archivist works until ctx ends.
func (s *Supervisor) archivist(ctx context.Context) {
	a := &archivist{Supervisor: s, policy: durable.PolicyOf(s.inst.Spec, s.inst.Server.Family()), began: time.Now()}
	timer := time.NewTimer(archivistInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.keeper.DueNow:
		case <-timer.C:
		}
		if err := a.look(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the archive cannot be kept", "error", err)
		}
		timer.Reset(archivistInterval)
	}
}

// look takes one look, and does what is due.
func (a *archivist) look(ctx context.Context) error {
	if a.others() {
		return nil
	}
	a.reread()
	a.noted = a.keeper.SaveBreaches()
	return errors.Join(a.noted, a.keep(ctx)) // a disk that is full is told of, and has room made, all the more
}

// others reports whether what is due is for others to do: the watch begins the archive again, or the supervisor goes on that
// follows.
func (a *archivist) others() bool { return a.keeper.Lost() != nil || a.moving.Load() != nil }

// keep tells how the archive stands, and does what is due.
func (a *archivist) keep(ctx context.Context) error {
	a.tellKeyless(ctx)
	r, err := a.stand()
	if err != nil {
		return err
	}
	defer func() {
		if ctx.Err() == nil {
			_, _ = a.stand() // the next look tells what is wrong
		}
	}()
	if a.low && (a.room.at.IsZero() || time.Since(a.room.at) >= shortenPause) {
		return a.room.did(a.shorten(ctx, r))
	}
	switch {
	case a.keeper.Due() && a.base.may(a.basePause()) && (r.RoomForBase || !a.low):
		return a.backup(ctx)
	case a.keeper.VerifyDue(verifyEvery) && a.verification().may(verifyPause):
		_, err := a.VerifyBackups(ctx)
		return err
	}
	return nil
}

// basePause is the pause after a base that failed.
func (a *archivist) basePause() time.Duration {
	if a.keeper.Fenced() {
		return fencedPause
	}
	return basePause
}

// verification is the last attempt at a comparison, whoever asked for it.
func (s *Supervisor) verification() *attempt {
	if v := s.verified.Load(); v != nil {
		return v
	}
	return &attempt{}
}

// backup makes a base, and prunes.
func (a *archivist) backup(ctx context.Context) error {
	if _, err := a.Backup(ctx); err != nil {
		return a.base.did(err)
	}
	_, err := a.PruneBackups(ctx)
	a.measured = time.Time{}
	return a.base.did(err)
}

// shorten makes room in the archive: of its history no more is left than recovery needs. Where that is not
// enough, and there is room for it, another base makes the log before it dispensable.
func (a *archivist) shorten(ctx context.Context, r durable.Report) error {
	if _, err := a.PruneBackups(ctx); err != nil {
		return err
	}
	if now, err := sys.Statfs(a.options.Archive); err != nil || !durable.Low(now.Avail, now.Size, true) {
		return err
	}
	if !r.RoomForBase || r.Since < durable.LeastLog || !a.base.may(basePause) {
		return nil
	}
	return a.backup(ctx)
}

// reread takes over what ramaria up has changed.
func (a *archivist) reread() {
	r, err := a.store.Registry.Get(a.inst.Name)
	if err != nil {
		return // the watch finds out
	}
	p := durable.PolicyOf(r.Spec, a.inst.Server.Family())
	p.Short = a.low
	if p != a.policy {
		a.policy = p
		a.keeper.SetPolicy(p)
	}
}

// stand finds out how the archive stands, and publishes it.
func (a *archivist) stand() (durable.Report, error) {
	fs, err := sys.Statfs(a.options.Archive)
	if err != nil {
		return durable.Report{}, err
	}
	if a.low = durable.Low(fs.Avail, fs.Size, a.low); a.low != a.policy.Short {
		a.policy.Short = a.low
		a.keeper.SetPolicy(a.policy)
	}
	r := a.keeper.Report(fs.Avail, fs.Size)
	if time.Since(a.measured) >= measureInterval {
		if a.used, err = sys.DiskUsage(a.options.Archive); err != nil {
			return r, err
		}
		a.measured = time.Now()
	}
	v := a.verification()
	a.standing.Store(&standing{
		Report: r, Room: fs.Avail, Used: a.used, Warnings: a.warnings(r, fs),
		BaseFailed: a.base.err != nil && a.base.at.After(r.Newest.Time), VerifyFailed: v.err != nil && v.at.After(r.Verified),
	})
	return r, nil
}

// warnings are what there is to say of the archive. No number in them changes with every write.
func (a *archivist) warnings(r durable.Report, fs sys.FS) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	name, dir := a.inst.Name, a.options.Archive
	if a.low {
		say("there is less than %s of room for the archive in %s: its history is shortened to what recovery needs, and when there is no room at all, %s\nhint: make room there",
			volume.FormatBytes(durable.LowRoom(fs.Size)), dir, a.stuck())
	}
	switch {
	case a.low && !r.RoomForBase:
		say("there is no room in %s for another base backup: the more is written, the longer a recovery takes", dir)
	case r.DataAlone:
		say("a recovery takes longer than --recover-within %s: the data alone takes that to restore\nhint: ramaria up %s --recover-within TIME, or a faster disk", instance.FormatTime(r.Within), name)
	case r.Slow():
		say("a recovery would take longer than --recover-within %s: much was written since the last base backup", instance.FormatTime(r.Within))
	}
	if text := a.fenceWarning(); text != "" {
		list = append(list, text)
	}
	if a.noted != nil {
		say("the archive cannot be told what is outside of the promise: %s", oneLine(a.noted))
	}
	if e := a.base; e.err != nil && e.at.After(r.Newest.Time) {
		say("the last base backup failed: %s", oneLine(e.err))
	}
	if e := a.verification(); e.err != nil && e.at.After(r.Verified) {
		say("the last verification of the archive failed: %s", oneLine(e.err))
	}
	var since []archive.Breach
	for _, b := range r.Breaches {
		if b.To.After(a.began) {
			since = append(since, b)
		}
	}
	for _, b := range since[max(0, len(since)-mostBreaches):] {
		say("%s", breachText(b))
	}
	return list
}

// stuck says what happens while the log cannot be archived.
func (s *Supervisor) stuck() string {
	if s.inst.Spec.Durable == instance.DurableCommit {
		return "commits wait"
	}
	return "commits wait when they are " + instance.FormatTimeText(s.inst.Spec.Durable) + " ahead of it"
}

// breachText tells of a time outside of the promise.
func breachText(b archive.Breach) string {
	what := "a base backup follows"
	if b.Open {
		return fmt.Sprintf("it is outside of the promise since %s: %s", b.From.Local().Format(time.DateTime), b.What)
	}
	if b.Base != 0 {
		what = fmt.Sprintf("base backup %d was made after it", b.Base)
	}
	return fmt.Sprintf("it was outside of the promise from %s to %s: %s; %s", b.From.Local().Format(time.DateTime), b.To.Local().Format(time.TimeOnly), b.What, what)
}

// oneLine is an error's text without its hint.
func oneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\nhint: ")
	return strings.ReplaceAll(text, "\n", "; ")
}
