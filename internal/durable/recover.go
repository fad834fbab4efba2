package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/basebackup"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/replay"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Progress is told how a recovery gets on: bytes of what there is to do. may be nil.
type Progress func(what string, done, total int64)

func (p Progress) tell(what string, done, total int64) {
	if p != nil {
		p(what, done, total)
	}
}

// Recovered is what a recovery did.
type Recovered struct {
	// End is the end of the last transaction, in the log of Epoch.
	Epoch uint32
	End   archive.Position
	// Time is when that was; zero if the log had none.
	Time time.Time
	// Restored and Replayed are bytes of the base's files and of the log.
	Restored, Replayed int64
	// Work is how long the replay was expected to take (archive.Extent).
	Work                    time.Duration
	RestoreTime, ReplayTime time.Duration
	// Delayed is how much of ReplayTime the server waited for a processor, which others had.
	Delayed   time.Duration
	GTIDState string
	// PasswordChanged says that the log gave the application's account another password.
	PasswordChanged bool
	// Base is the base that was restored.
	Base archive.Base
	// Fences are statements that were replayed, or were to be, although they need not give the same again.
	Fences []Crossed
	// Lost is why the log goes no farther, if that was accepted; nil if it was not needed.
	Lost *BrokenError
	// More says that the log goes on behind the end. Behind is the time of the last transaction there that is
	// no later than the time that was asked for, zero if there is none: of one that took long, or by a clock
	// that was put back.
	More   bool
	Behind time.Time
}

// BrokenError says that the log cannot be read, or not be applied, behind a position: what is before is good.
type BrokenError struct {
	Epoch uint32
	At    archive.Position
	Err   error
	// early is replay.ApplyError.Early.
	early bool
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the log cannot be replayed behind %s: %v", FormatPosition(e.Epoch, e.At), e.Err)
}

// Unwrap returns what is wrong.
func (e *BrokenError) Unwrap() error { return e.Err }

// fillTries is how often a recovery begins again because the archive was pruned meanwhile.
const fillTries = 5

// FillUntil makes the data directory of an instance, which is not there yet. An archive that others write to
// and prune is read again as often as need be. note is told of a base that is damaged: an older one, and more
// of the log, lead to the same.
func (a *Archive) FillUntil(ctx context.Context, i *instance.Instance, until Until, progress Progress, note func(string)) (out Recovered, err error) {
	for try := 1; ; try++ {
		plans, err := Plans(a.Manifest, until)
		if err != nil {
			return out, err
		}
		out, err := a.fillAny(ctx, i, plans, progress, note)
		var stopped *replay.StoppedError
		if errors.As(err, &stopped) && !a.plain {
			a.plain = true
			why, _, _ := strings.Cut(err.Error(), "\n")
			note("the log is replayed once more, without indexes for tables that have no key: " + why)
			continue
		}
		// What is good before that place would be given up with the rest.
		if broken := (*BrokenError)(nil); errors.As(err, &broken) && broken.early && !a.serial {
			a.serial = true
			note("the log is replayed once more, one transaction after the other, to tell what of it is good: " + broken.Err.Error())
			continue
		}
		if cut, why := a.unanswered(until, out, err); why != "" {
			note(why)
			until = cut
			continue
		}
		// A list of segments that is read while the oldest are removed may lack one in the middle.
		if err != nil && try < fillTries && (a.outdated(err) || try == 1 && damagedIn(err, "log/")) {
			continue
		}
		if a.accepts(err) {
			until = Until{Epoch: a.lost.Epoch, At: a.lost.At}
			continue
		}
		out.Lost, a.lostFrom = a.lost, out.Time
		if err == nil {
			a.tellHidden(out, note)
		}
		return out, err
	}
}

// damagedIn reports whether an error is of damage in files below a directory of the archive.
func damagedIn(err error, dir string) bool {
	var damaged *archive.DamagedError
	return errors.As(err, &damaged) && strings.HasPrefix(damaged.File, dir)
}

// outdated reads the manifest again after an error, and reports whether what failed may succeed now.
func (a *Archive) outdated(err error) bool {
	var damaged *archive.DamagedError
	if !errors.As(err, &damaged) && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	m, rerr := archive.ReadManifest(a.Disk)
	if rerr != nil || reflect.DeepEqual(m, a.Manifest) {
		return false
	}
	a.Manifest = m
	return true
}

// fillAny is Fill by the first plan whose base is whole.
func (a *Archive) fillAny(ctx context.Context, i *instance.Instance, plans []Plan, progress Progress, note func(string)) (out Recovered, err error) {
	for n, p := range plans {
		out, err = a.Fill(ctx, i, p, progress)
		if err == nil {
			return out, nil
		}
		if rerr := sys.RemoveTree(i.DataDir()); rerr != nil {
			return out, errors.Join(err, rerr)
		}
		if !damagedIn(err, "base/") || n+1 == len(plans) {
			return out, err
		}
		if m, rerr := archive.ReadManifest(a.Disk); rerr != nil || !slices.ContainsFunc(m.Bases, func(b archive.Base) bool { return b.ID == p.Base.ID }) {
			return out, errors.Join(err, rerr) // it was pruned
		}
		note(fmt.Sprintf("warning: base %d cannot be used: %v; base %d and more of the log lead to the same", p.Base.ID, err, plans[n+1].Base.ID))
	}
	return out, err
}

// Fill makes the data directory of an instance, which is not there yet, as a plan says.
func (a *Archive) Fill(ctx context.Context, i *instance.Instance, p Plan, progress Progress) (out Recovered, err error) {
	dir := filepath.Join(i.Dir, "recover")
	if err := os.Mkdir(dir, 0o711); err != nil {
		return out, fmt.Errorf("recover: %w", err)
	}
	defer func() { err = errors.Join(err, sys.RemoveTree(dir)) }()
	// Before the base: it is short, and a log that is damaged is found before the long work.
	logs, err := a.logs(ctx, p, filepath.Join(dir, "log"))
	if err != nil {
		return out, err
	}
	began := time.Now()
	if err := restore(ctx, a, p.Base, i, progress); err != nil {
		return out, err
	}
	out.Restored, out.RestoreTime = p.Base.Size, time.Since(began)
	began = time.Now()
	out.Epoch, out.End, out.Time, out.Base, out.More, out.Behind = logs.epoch, logs.end, logs.last, p.Base, logs.more, logs.behind
	out.Fences = logs.fences
	out.GTIDState = p.gtidsAt(out.Epoch)
	before, err := binlog.ParseGTIDs(p.Base.GTIDState)
	if err != nil {
		return out, fmt.Errorf("recover: %w", err)
	}
	job := replay.Job{
		Server: i.Server, Account: i.Account, Dir: dir, RunDir: i.RunDir, DataDir: i.DataDir(), Volume: i.Volume, PageSize: i.PageSize, Set: i.Spec.Set, Unconfined: i.Spec.Unconfined(),
		BufferPool: replayPool(p.Base.Size),
		User:       i.Endpoint.User,
		GTIDs:      before,
		Made:       p.Base.Time,
		Ahead:      p.ahead(),
		Plain:      a.plain,
		Serial:     a.serial,
		Emptied:    tablesOf(p.Base.Outside, "MEMORY"),
		Settled:    p.Base.Settled, NonePrepared: nonePrepared(p.Base),
		Logs:     logs.files,
		Progress: func(done, total int64) { progress.tell("replaying the log", done, total) },
	}
	if len(logs.files) > 0 {
		r, err := job.Run(ctx)
		if err != nil {
			var broken *BrokenError
			if err = placed(err); !errors.As(err, &broken) { // which says what it is about
				err = fmt.Errorf("recover: %w", err)
			}
			return out, err
		}
		logs.meter.costs = i.Server.Family().ReplayCosts()
		for _, t := range r.Searched {
			logs.meter.know(repeatable.Table{Schema: t.Schema, Name: t.Name}, true)
		}
		out.Work = logs.meter.work()
		out.Replayed, out.Delayed, out.GTIDState, out.PasswordChanged = r.Bytes, r.Delayed, r.GTIDState, r.PasswordChanged
	}
	out.ReplayTime = time.Since(began)
	return out, nil
}

// poolShare is the part of the memory that is free, one in so many, that a replay may use for its pages.
const poolShare = 4

// replayPool is how many bytes of pages a replay on a base of the given size is to keep in memory.
func replayPool(size int64) int64 {
	m, err := host.Host{}.Memory()
	if err != nil {
		return 0
	}
	room, _ := m.Room()
	return min(size+size/4, room/poolShare)
}

// gtidsAt is the state of MariaDB's GTIDs at the beginning of an epoch's part of the log.
func (p Plan) gtidsAt(epoch uint32) string {
	for _, part := range p.Parts {
		if part.Epoch.Number == epoch && epoch != p.Base.Epoch && part.Epoch.GTIDState != "" {
			return part.Epoch.GTIDState
		}
	}
	return p.Base.GTIDState
}

// placed says of an error of the applier where in the archived log it is.
func placed(err error) error {
	var apply *replay.ApplyError
	if !errors.As(err, &apply) {
		return err
	}
	e := &BrokenError{Err: fmt.Errorf("the server refuses it: error %d: %s", apply.Errno, refusal(apply.Text)), early: apply.Early}
	if _, serr := fmt.Sscanf(filepath.Base(apply.Path), logName, &e.Epoch, &e.At.File); serr != nil {
		return err
	}
	e.At.Offset = apply.Offset
	return e
}

var (
	// workerFailed begins what a worker of MySQL's applier writes into its log; what it failed at follows, and the
	// server's state speaks of that log alone.
	workerFailed = regexp.MustCompile(`failed executing transaction '[^']*' at (?:source|master) log [^;]*; `)
	// relayed is where in the relay log it is, which is gone with the recovery.
	relayed = regexp.MustCompile(`; the event's (?:source|master) log [^,;]*, end_log_pos \d+.*$`)
)

// refusal is why an applier has stopped, on one line: the server says it again in its log, which comes behind, with
// more words.
func refusal(text string) string {
	first, log, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(first, "Coordinator stopped") || strings.Contains(first, "See error log") {
		for line := range strings.Lines(log) {
			if at := workerFailed.FindStringIndex(line); at != nil {
				first = strings.TrimSpace(line[at[1]:])
				break
			}
		}
	}
	return relayed.ReplaceAllString(first, "")
}

// restore puts the files of a base in place.
func restore(ctx context.Context, a *Archive, b archive.Base, i *instance.Instance, progress Progress) error {
	if b.Dir != "" {
		return restoreDir(ctx, b, i)
	}
	x, err := basebackup.ReadIndex(a.Disk, a.Manifest.ID, b.ID)
	if err != nil {
		return fmt.Errorf("restore base %d: %w", b.ID, err)
	}
	if err := server.MakeDirs(server.Account{}, i.DataDir()); err != nil {
		return fmt.Errorf("restore base %d: %w", b.ID, err)
	}
	size := x.Size()
	if err := basebackup.Restore(ctx, a.Disk, x, i.DataDir(), func(done int64) { progress.tell("restoring the base", done, size) }); err != nil {
		return err
	}
	if err := i.Account.GiveTree(i.DataDir()); err != nil {
		return fmt.Errorf("restore base %d: %w", b.ID, err)
	}
	return nil
}

// GoOn ends the epoch that was recovered from, and begins the one that an instance with that data
// belongs to.
func (a *Archive) GoOn(i *instance.Instance, r Recovered) error {
	end, total, err := a.settledEnd()
	if err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	if r.End.File == end.File { // what is behind it was not whole
		total -= end.Offset - r.End.Offset
	}
	err = a.save(func(m *archive.Manifest) {
		i.Durable = &instance.Durable{Archive: m.ID.String(), Epoch: m.Begin(archive.Epoch{Number: a.above(), Began: time.Now(), GTIDState: r.GTIDState, Work: r.Work.Seconds()}, r.End, total)}
		r.rates(m)
	})
	if err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	return nil
}

// Samples that are smaller say nothing of a rate.
const (
	restoreSample = 32 << 20               // bytes
	replaySample  = 300 * time.Millisecond // of work
)

// rates notes how fast a recovery was.
func (r Recovered) rates(m *archive.Manifest) {
	if s := r.RestoreTime.Seconds(); s > 0 && r.Restored >= restoreSample {
		m.RestoreRate = float64(r.Restored) / s
	}
	if s := (r.ReplayTime - r.Delayed - overhead/2).Seconds(); s > 0 && r.Work >= replaySample {
		m.ReplayScale = s / r.Work.Seconds()
	}
}
