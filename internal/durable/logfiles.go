package durable

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/repeatable"
	"github.com/ramaria-db/ramaria/internal/replay"
	"github.com/ramaria-db/ramaria/internal/server"
)

// logFiles are files of the log as the server wrote them, up to the end of a plan.
type logFiles struct {
	dir   string
	until Until
	files []replay.Log
	epoch uint32
	end   archive.Position
	last  time.Time
	// more says that there is more of the log than was asked for. Of that, behind is the last time that was
	// not behind the end, zero if there is none.
	more   bool
	behind time.Time
	// judge follows the statements of a server's log, and fences are those that need not give the same again.
	server *server.Server
	judge  *repeatable.Judge
	fences []Crossed
	// meter counts what there is to replay.
	meter meter
}

// logName is the name of a file: of an epoch and a number.
const logName = "%06d-%06d"

func (l *logFiles) path(epoch, file uint32) string {
	return filepath.Join(l.dir, fmt.Sprintf(logName, epoch, file))
}

// logs writes the log that a plan names into a directory, and finds out where its last whole
// transaction ends.
func (a *Archive) logs(ctx context.Context, p Plan, dir string) (*logFiles, error) {
	if err := os.Mkdir(dir, 0o711); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	srv := &server.Server{Flavour: server.MariaDB}
	if strings.HasPrefix(a.Manifest.Server, string(server.MySQL)) {
		srv.Flavour = server.MySQL
	}
	out := &logFiles{dir: dir, until: p.Until, epoch: p.Base.Epoch, end: p.Base.At, server: srv, judge: repeatable.New(srv.Flavour == server.MySQL)}
	for _, part := range p.Parts {
		out.epoch, out.end = part.Epoch.Number, part.From
		end, err := a.part(ctx, part, out)
		if errors.Is(err, errPassed) {
			break
		}
		if err == nil {
			err = a.lacksOf(p, part, end)
		}
		var damaged *archive.DamagedError
		var missing *archive.MissingError
		var corrupt *binlog.CorruptError
		if errors.As(err, &missing) && !p.Until.Time.IsZero() && p.Until.Time.Before(missing.From) {
			out.more = true
			break // what is missing came later
		}
		if errors.As(err, &damaged) || errors.As(err, &missing) || errors.As(err, &corrupt) {
			if u := p.Until; u.Epoch == out.epoch && !out.end.Before(u.At) {
				out.more = true
				break // no more than that is wanted
			}
			err = &BrokenError{Epoch: out.epoch, At: out.end, Err: err}
		}
		if err != nil {
			return nil, fmt.Errorf("read the archived log: %w", err)
		}
	}
	if u := p.Until; p.exact && u.Epoch != 0 && !out.more && out.end.Before(u.At) {
		return nil, &NoPositionError{fmt.Sprintf("the last transaction of epoch %d ends at %s", out.epoch, FormatPosition(out.epoch, out.end))}
	}
	return out, nil
}

// WriteLog writes the log that a plan names into a directory that is not there yet, as files that end with a whole
// transaction, and returns them in order.
func (a *Archive) WriteLog(ctx context.Context, p Plan, dir string) (paths []string, err error) {
	l, err := a.logs(ctx, p, dir)
	if err != nil {
		return nil, err
	}
	for _, f := range l.files {
		if err := os.Truncate(f.Path, f.To); err != nil {
			return nil, err
		}
		paths = append(paths, f.Path)
	}
	return paths, nil
}

// errPassed says that what follows is behind the end of a plan.
var errPassed = errors.New("behind the end")

// part adds the files of a part: up to the end, which is errPassed. It returns where the log of the epoch ends.
func (a *Archive) part(ctx context.Context, part archive.Part, out *logFiles) (archive.Position, error) {
	epoch := part.Epoch.Number
	to := &fileSink{path: func(n uint32) string { return out.path(epoch, n) }, from: max(1, part.From.File)}
	// A file is read as soon as it is there: what comes behind the end is not wanted at all.
	to.whole = func(n uint32) error { return errors.Join(ctx.Err(), out.take(part, n)) }
	_, end, err := archive.ReadLogFrom(a.Disk, a.Manifest.LogID(epoch), to.from, to)
	var damaged *archive.DamagedError
	if e := part.Epoch.End; err == nil && e != nil && end.Before(*e) {
		err = &archive.DamagedError{File: fmt.Sprintf("log/%06d", epoch), Offset: 0, Reason: fmt.Sprintf("it ends at %s, and the manifest says %s", end, *e)}
	}
	switch {
	case errors.As(err, &damaged):
		if ferr := to.finish(); errors.Is(ferr, errPassed) {
			return end, ferr // all that is wanted is before the damage
		}
		return end, err
	case err != nil:
		return end, errors.Join(err, to.close())
	}
	return end, to.finish()
}

// take adds a file that is whole.
func (l *logFiles) take(part archive.Part, file uint32) error {
	epoch, from := part.Epoch.Number, int64(4) // behind the magic number
	if file == part.From.File {
		from = max(from, part.From.Offset)
	}
	path := l.path(epoch, file)
	if e := part.Epoch.End; e != nil {
		if file > e.File {
			return os.Remove(path)
		}
		if fi, err := os.Stat(path); err != nil || file == e.File && fi.Size() > e.Offset {
			if err := errors.Join(err, os.Truncate(path, e.Offset)); err != nil {
				return err
			}
		}
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() < from {
		return err // the base has all of it, and lacksOf says that there was more
	}
	x, err := binlog.Scan(path, from, func(g binlog.Group) error {
		if l.until.passed(epoch, file, g) {
			return errPassed
		}
		return nil
	})
	passed := errors.Is(err, errPassed)
	if x.End > 0 {
		l.end = archive.Position{File: file, Offset: x.End}
	}
	if x.Groups > 0 {
		if ferr := l.cross(path, epoch, file, from, x.End); ferr != nil {
			return ferr
		}
		l.last = x.Last
		l.files = append(l.files, replay.Log{Path: path, From: from, To: x.End, Given: true})
	}
	if err != nil && !passed {
		return errors.Join(err, os.Truncate(path, x.End))
	}
	if !passed {
		return nil
	}
	l.more = true
	if l.until.Time.IsZero() {
		return errPassed
	}
	// What is behind the end need not be whole.
	_, _ = binlog.Scan(path, max(x.End, 4), func(g binlog.Group) error {
		if !g.Time.After(l.until.Time) {
			l.behind = g.Time
		}
		return nil
	})
	return errPassed
}

// fileSink writes a log as files.
type fileSink struct {
	path func(file uint32) string
	from uint32 // files before that are left out
	// whole is called for a file once the next one begins, or by finish. Its error ends the reading.
	whole  func(file uint32) error
	file   *os.File
	number uint32
}

var _ archive.Sink = (*fileSink)(nil)

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
	if err := s.finish(); err != nil {
		return err
	}
	s.number = n
	s.file, err = os.OpenFile(s.path(n), os.O_CREATE|os.O_RDWR, 0o600)
	return err
}

// finish ends the last file.
func (s *fileSink) finish() error {
	if s.file == nil {
		return nil
	}
	if err := s.close(); err != nil {
		return err
	}
	return s.whole(s.number)
}

func (s *fileSink) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}
