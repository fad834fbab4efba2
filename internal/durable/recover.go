package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/basebackup"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/replay"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Plan is what a recovery does: a base to restore, and parts of the log to replay onto it.
type Plan struct {
	Base  archive.Base
	Parts []archive.Part
	// Until ends it early.
	Until Until
}

// Until is where a recovery is to end: with the last transaction that was committed no later than a
// time, or no further than a position of an epoch's log. The zero value is the end of the log.
type Until struct {
	Time  time.Time
	Epoch uint32
	At    archive.Position
}

// passed reports whether a group of an epoch's log is behind the end.
func (u Until) passed(epoch, file uint32, g binlog.Group) bool {
	switch {
	case !u.Time.IsZero():
		return g.Time.After(u.Time)
	case u.Epoch != 0:
		return epoch > u.Epoch || epoch == u.Epoch && u.At.Before(archive.Position{File: file, Offset: g.End})
	}
	return false
}

// Latest plans to recover all that was acknowledged.
func Latest(m *archive.Manifest) (Plan, error) {
	b, parts, err := m.Newest()
	return Plan{Base: b, Parts: parts}, err
}

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
	Restored, Replayed      int64
	RestoreTime, ReplayTime time.Duration
	GTIDState               string
}

// Fill makes the data directory of an instance, which is not there yet, as a plan says.
func (a *Archive) Fill(ctx context.Context, i *instance.Instance, p Plan, progress Progress) (out Recovered, err error) {
	began := time.Now()
	if err := restore(ctx, a, p.Base, i, progress); err != nil {
		return out, err
	}
	out.Restored, out.RestoreTime = p.Base.Size, time.Since(began)
	began = time.Now()
	dir := filepath.Join(i.Dir, "recover")
	if err := os.Mkdir(dir, 0o711); err != nil {
		return out, fmt.Errorf("recover: %w", err)
	}
	defer func() { err = errors.Join(err, sys.RemoveTree(dir)) }()
	logs, err := a.logs(p, filepath.Join(dir, "log"))
	if err != nil {
		return out, err
	}
	out.Epoch, out.End, out.Time = logs.epoch, logs.end, logs.last
	job := replay.Job{
		Server: i.Server, Account: i.Account, Dir: dir, RunDir: i.RunDir, DataDir: i.DataDir(), Volume: i.Volume, PageSize: i.PageSize, Set: i.Spec.Set, Unconfined: i.Spec.Unconfined(),
		Logs:     logs.files,
		Progress: func(done, total int64) { progress.tell("replaying the log", done, total) },
	}
	if len(logs.files) > 0 {
		r, err := job.Run(ctx)
		if err != nil {
			return out, fmt.Errorf("recover: %w", err)
		}
		out.Replayed, out.GTIDState = r.Bytes, r.GTIDState
	}
	out.ReplayTime = time.Since(began)
	return out, nil
}

// restore puts the files of a base in place.
func restore(ctx context.Context, a *Archive, b archive.Base, i *instance.Instance, progress Progress) error {
	x, err := basebackup.ReadIndex(a.Disk, a.Manifest.ID, b.ID)
	if err != nil {
		return fmt.Errorf("restore base %d: %w", b.ID, err)
	}
	if err := server.MakeDirs(server.Account{}, i.DataDir()); err != nil {
		return fmt.Errorf("restore base %d: %w", b.ID, err)
	}
	size := x.Size()
	if err := basebackup.Restore(ctx, a.Disk, x, i.DataDir(), func(done int64) { progress.tell("restoring the base", done, size) }); err != nil {
		return fmt.Errorf("restore base %d: %w", b.ID, err)
	}
	if err := i.Account.GiveTree(i.DataDir()); err != nil {
		return fmt.Errorf("restore base %d: %w", b.ID, err)
	}
	return nil
}

// logFiles are files of the log as the server wrote them.
type logFiles struct {
	files []replay.Log
	epoch uint32
	end   archive.Position
	last  time.Time
}

// logs writes the log that a plan names into a directory, and finds out where its last whole
// transaction ends.
func (a *Archive) logs(p Plan, dir string) (*logFiles, error) {
	if err := os.Mkdir(dir, 0o711); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	out := &logFiles{}
	for _, part := range p.Parts {
		if err := a.part(part, dir, p.Until, out); errors.Is(err, errPassed) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the archived log: %w", err)
		}
	}
	return out, nil
}

// errPassed says that what follows is behind the end of a plan.
var errPassed = errors.New("behind the end")

// part adds the files of a part: up to the end, which is errPassed.
func (a *Archive) part(part archive.Part, dir string, until Until, out *logFiles) error {
	epoch := part.Epoch.Number
	to := &fileSink{dir: dir, prefix: fmt.Sprintf("%06d-", epoch), from: max(1, part.From.File)}
	_, end, err := archive.ReadLogFrom(a.Disk, a.Manifest.LogID(epoch), to.from, to)
	if err := errors.Join(err, to.close()); err != nil {
		return err
	}
	if e := part.Epoch.End; e != nil {
		end = *e
	}
	out.epoch, out.end = epoch, part.From
	for file := to.from; file <= end.File; file++ {
		from := int64(4) // behind the magic number
		if file == part.From.File {
			from = max(from, part.From.Offset)
		}
		path := to.path(file)
		if file == end.File {
			if err := os.Truncate(path, end.Offset); err != nil {
				return err
			}
		}
		x, err := binlog.Scan(path, from, func(g binlog.Group) error {
			if until.passed(epoch, file, g) {
				return errPassed
			}
			return nil
		})
		if err != nil && !errors.Is(err, errPassed) {
			return err
		}
		log := replay.Log{Path: path, From: from, To: x.End, Given: true}
		out.end = archive.Position{File: file, Offset: x.End}
		if x.Groups > 0 {
			out.last = x.Last
			out.files = append(out.files, log)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fileSink writes a log as files.
type fileSink struct {
	dir, prefix string
	from        uint32 // files before that are left out
	file        *os.File
	number      uint32
}

var _ archive.Sink = (*fileSink)(nil)

func (s *fileSink) path(n uint32) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s%06d", s.prefix, n))
}

// WriteAt implements archive.Sink.
func (s *fileSink) WriteAt(n uint32, b []byte, at int64) error {
	if n < s.from {
		return nil
	}
	if err := s.open(n); err != nil {
		return err
	}
	_, err := s.file.WriteAt(b, at)
	return err
}

// Truncate implements archive.Sink.
func (s *fileSink) Truncate(n uint32, size int64) error {
	if n < s.from {
		return nil
	}
	if err := s.open(n); err != nil {
		return err
	}
	return s.file.Truncate(size)
}

func (s *fileSink) open(n uint32) (err error) {
	if s.file != nil && s.number == n {
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	s.number = n
	s.file, err = os.OpenFile(s.path(n), os.O_CREATE|os.O_RDWR, 0o600)
	return err
}

func (s *fileSink) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// GoOn ends the epoch that was recovered from, and begins the one that an instance with that data
// belongs to.
func (a *Archive) GoOn(i *instance.Instance, r Recovered) error {
	end, total, err := a.end()
	if err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	if r.End.File == end.File { // what is behind it was not whole
		total -= end.Offset - r.End.Offset
	}
	err = a.save(func(m *archive.Manifest) {
		i.Durable = &instance.Durable{Archive: m.ID.String(), Epoch: m.Begin(archive.Epoch{Began: time.Now(), GTIDState: r.GTIDState}, r.End, total)}
		r.rates(m)
	})
	if err != nil {
		return fmt.Errorf("begin an epoch: %w", err)
	}
	return nil
}

// Samples that are smaller say nothing of a rate, in bytes.
const (
	restoreSample = 32 << 20
	replaySample  = 4 << 20
)

// rates notes how fast a recovery was.
func (r Recovered) rates(m *archive.Manifest) {
	if s := r.RestoreTime.Seconds(); s > 0 && r.Restored >= restoreSample {
		m.RestoreRate = float64(r.Restored) / s
	}
	if s := (r.ReplayTime - overhead/2).Seconds(); s > 0 && r.Replayed >= replaySample {
		m.ReplayRate = float64(r.Replayed) / s
	}
}
