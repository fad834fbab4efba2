package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/binlog"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// ErrBehind says that what an instance has in RAM lacks some of what its archive has: it is to be
// recovered.
var ErrBehind = errors.New("its data in RAM is not all that its archive has")

// errAhead says that an archive is not one that the instance can be recovered from without a loss.
func errAhead(a *Archive, why string) error {
	return fmt.Errorf("use archive %s: %s; the instance's data in RAM is left alone\nhint: put the archive back that belongs to it; or move that one away, and make one of the data in RAM: ramaria up NAME --durable=off, then ramaria up NAME --durable", a.Dir, why)
}

// epochOf is the epoch that the data of an instance belongs to, if that is the one that goes on. An
// error that does not match ErrBehind says that the archive is not this instance's, or an older copy of
// it: nothing may be recovered from it over what is in RAM.
func (a *Archive) epochOf(i *instance.Instance) (uint32, error) {
	last := a.Manifest.Last()
	switch {
	case i.Durable == nil:
		return 0, errAhead(a, "the instance was not made with it")
	case i.Durable.Archive != a.Manifest.ID.String():
		return 0, errAhead(a, fmt.Sprintf("it is the archive of another instance, which was called %s", a.Manifest.Instance))
	case last == nil || last.Number < i.Durable.Epoch:
		return 0, errAhead(a, fmt.Sprintf("it is an old copy: it knows nothing of epoch %d of the log", i.Durable.Epoch))
	case last.Number > i.Durable.Epoch:
		return 0, fmt.Errorf("%w: it is of epoch %d, and epoch %d has begun", ErrBehind, i.Durable.Epoch, last.Number)
	}
	return last.Number, nil
}

// Fits checks that what an instance has in RAM, whose server does not run, is all that its archive has.
// The error matches ErrBehind if the instance is to be recovered.
func Fits(dir string, i *instance.Instance, boot string) error {
	m, err := Read(dir)
	if err != nil {
		return err
	}
	return (&Archive{Dir: dir, Disk: archive.OSDisk{Dir: dir, ReadOnly: true}, Manifest: m}).fits(i, boot)
}

func (a *Archive) fits(i *instance.Instance, boot string) error {
	epoch, err := a.epochOf(i)
	if err != nil {
		return err
	}
	if was := i.Durable.Boot; was != "" && was != boot {
		// What lay in the page cache of a disk is not there any more, and that cannot be seen.
		return fmt.Errorf("%w: the machine was started since it ran", ErrBehind)
	}
	id := a.Manifest.LogID(epoch)
	end, _, err := archive.EndOf(a.Disk, id)
	if err != nil || end == (archive.Position{}) {
		return err
	}
	files, err := binlog.Files(i.DataDir(), server.BinlogName)
	if err != nil {
		return err
	}
	name := serverLog(end.File)
	if !slices.Contains(files, name) {
		if len(files) > 0 && files[0] > name {
			return errAhead(a, fmt.Sprintf("it is an old copy: it ends in %s, and the log begins with %s", name, files[0]))
		}
		return fmt.Errorf("%w: its log lacks %s", ErrBehind, name)
	}
	f, err := sys.OpenIn(i.DataDir(), name)
	if err != nil {
		return err
	}
	defer f.Close()
	// All of the file: a log that was begun again has the same name, and may have the length.
	same := &sameFile{file: f, number: end.File, differs: -1}
	if _, _, err = archive.ReadLogFrom(a.Disk, id, end.File, same); err != nil {
		return err
	}
	if same.differs >= 0 {
		return fmt.Errorf("%w: %s is not as it was at byte %d", ErrBehind, name, same.differs)
	}
	return nil
}

// serverLog is a file of the server's log by its number.
func serverLog(n uint32) string { return fmt.Sprintf("%s.%06d", server.BinlogName, n) }

// sameFile is a sink that compares with a file.
type sameFile struct {
	file   *os.File
	number uint32
	buf    []byte
	// differs is the first byte that is another one in the file, -1 if all are the same.
	differs int64
}

// WriteAt implements archive.Sink.
func (s *sameFile) WriteAt(number uint32, b []byte, at int64) error {
	if number != s.number {
		return nil
	}
	s.buf = slices.Grow(s.buf[:0], len(b))[:len(b)]
	n, err := s.file.ReadAt(s.buf, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("compare the log with the archive: %w", err)
	}
	// The first bytes of a log say whether it is in use, which a server changes when it ends it.
	if at <= inUseAt && at+int64(n) > inUseAt {
		s.buf[inUseAt-at] = b[inUseAt-at]
	}
	if n == len(b) && bytes.Equal(s.buf, b) {
		return nil
	}
	same := 0
	for same < n && s.buf[same] == b[same] {
		same++
	}
	if s.differs < 0 || at+int64(same) < s.differs {
		s.differs = at + int64(same)
	}
	return nil
}

// inUseAt is where the flags of the first event are.
const inUseAt = 4 + 17

// Truncate implements archive.Sink. What the archive has cut off the server has cut off its own file, too.
func (s *sameFile) Truncate(number uint32, size int64) error {
	if number == s.number && s.differs >= size {
		s.differs = -1
	}
	return nil
}

// CheckLog reads all of the log that the newest recovery needs: its error is why that cannot succeed.
func (a *Archive) CheckLog() error {
	plan, err := Latest(a.Manifest)
	if err != nil {
		return err
	}
	for _, part := range plan.Parts {
		_, end, err := archive.ReadLogFrom(a.Disk, a.Manifest.LogID(part.Epoch.Number), max(1, part.From.File), archive.Discard)
		if err != nil {
			return err
		}
		if err := a.lacksOf(plan, part, end); err != nil {
			return err
		}
	}
	return nil
}
