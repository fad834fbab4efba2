package binlog

import (
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"syscall"
	"time"
)

// scanChunk is how much Scan reads at a time, in bytes. Of an event that is larger no more is
// kept.
const scanChunk = 1 << 20

// Extent is what a file of a log holds, complete or cut off anywhere.
type Extent struct {
	// End is where the last group ends that is whole, or what stands between groups; the bytes
	// from there to Size are an incomplete last group. It is 0 if not even the format
	// description is whole.
	End int64
	// Size is how many bytes the file has.
	Size int64
	// Groups is how many groups there are, First and Last are the times of the first and the last,
	// zero if there are none.
	Groups      int64
	First, Last time.Time
	// Ended says that a STOP or ROTATE event stands at End: the server wrote no more.
	Ended bool
	// Stopped says that it is a STOP event: the server shut down.
	Stopped bool
	// Torn says what is incomplete behind End, nil if End is Size.
	Torn error
	// Format is the file's, nil if that is not whole.
	Format *Format
	// GTIDs is the state of MariaDB's GTIDs at End: the last of each domain and server, the last of
	// each domain behind its others.
	GTIDs GTIDs
}

// GroupKind is what a group is.
type GroupKind uint8

// Kinds of groups.
const (
	// Transaction is one that was committed, or rows of tables that know no transactions.
	Transaction GroupKind = iota
	// Statement is DDL and the like, which commits by itself.
	Statement
	// Prepared is an XA transaction that a later group commits or rolls back.
	Prepared
)

// Group is what a server applies as a whole: a transaction, DDL, a prepared XA transaction.
type Group struct {
	// Start and End are where it begins and where the next does, in bytes.
	Start, End int64
	// Time is when it was committed: MySQL's to the microsecond. MariaDB's is that of its last event,
	// in seconds, for which SET timestamp counts.
	Time time.Time
	Kind GroupKind
	// GTID is MariaDB's.
	GTID GTID
	// File is the file that Start is in, of a relay log.
	File string

	// Of a group of nothing but rows, which an XID commits: where the rows begin and end. plain is
	// false for all others.
	rows, xid int64
	plain     bool
	// numbered says that it has a GTID of MySQL's.
	numbered bool
	// clock is MySQL's.
	clock clock
	// session is that of MySQL which wrote it.
	session session
}

// ByXID reports whether an XID event commits it: it is a transaction of an engine that knows those, and one that
// MariaDB's recovery commits if it was prepared.
func (g Group) ByXID() bool { return g.xid != 0 }

// Scan reads a file of a log from an event on, the first at offset 4, to its end. Every event must
// have the length that it says and the checksum that the file promises.
//
// A file that was cut off is no error: its last group, or its last event, is not whole, and Extent
// says so. A fault with more behind it than what one write that was cut off leaves is a
// *CorruptError. What cannot be replayed is a *NotUnderstoodError: an encrypted log, or an INCIDENT,
// by which a server says that it lost events.
//
// each, unless nil, is called for every group that is whole. An error of its own ends the scan and
// is returned, with the Extent of what came before that group.
func Scan(path string, from int64, each func(Group) error) (Extent, error) {
	s, ext, err := openScan(path, from)
	if s != nil {
		defer s.l.f.Close()
		s.each = each
		err = s.run()
		ext = s.ext
	}
	if err != nil {
		err = fmt.Errorf("scan binary log: %w", err)
	}
	return ext, err
}

// ScanStatements is Scan for the groups of the kind Statement, with what they say. Those that are compressed are passed
// over.
func ScanStatements(path string, from int64, each func(*Query, Group) error) (Extent, error) {
	return ScanTouched(path, from, each, nil)
}

// ScanRelay is Scan of a file of a relay log, from its beginning: it holds events of another server's log, whose positions
// they name, and between them that server's format descriptions and rotations. A connection that broke may have left one of
// these within a group, which goes on behind it or begins again. MariaDB begins another file within a group, too: open is
// the group that was open at the end of the file before, and becomes the one that is at the end of this.
func ScanRelay(path string, open *OpenGroup, each func(Group) error) (Extent, error) {
	s, ext, err := openScan(path, 0)
	if s != nil {
		defer s.l.f.Close()
		s.each, s.relay = each, true
		s.group, s.progress, s.committed = open.group, open.progress, open.committed
		err = s.run()
		ext = s.ext
		*open = OpenGroup{s.group, s.progress, s.committed}
	}
	if err != nil {
		err = fmt.Errorf("scan relay log: %w", err)
	}
	return ext, err
}

// OpenGroup is a group that the end of a file of a relay log has cut.
type OpenGroup struct {
	group     Group
	progress  progress
	committed time.Time
}

// openScan opens a file to read it from an event on. If not even its format description is whole,
// there is no scan, and no error either.
func openScan(path string, from int64) (*scan, Extent, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	l, err := openLog(dir, name)
	if errors.Is(err, errNotYet) {
		ext, err := noFormat(dir, name)
		return nil, ext, err
	}
	if err != nil {
		return nil, Extent{}, err
	}
	s := &scan{l: l, at: max(from, int64(len(magic)))}
	var st syscall.Stat_t
	if err = l.stat(&st); err == nil && s.at > st.Size {
		err = &GoneError{Pos: s.pos(), Reason: fmt.Sprintf("the file has only %d bytes", st.Size)}
	}
	if err != nil {
		l.f.Close()
		return nil, Extent{}, err
	}
	s.ext = Extent{End: s.at, Size: st.Size, Format: l.format}
	return s, Extent{}, nil
}

// scan is one reading of a file.
type scan struct {
	l    *logFile
	at   int64 // of the next event
	ext  Extent
	each func(Group) error
	// relay says that it is a relay log.
	relay bool
	// statements, unless nil, is called for QUERY events that are groups of their own.
	statements func(*Event) error
	// events, unless nil, is called for all events of groups, with the beginning of their bodies, before what comes of them.
	events func(*Event) error
	// steps, unless nil, is called for those of XA transactions, before each is.
	steps func(step XAStep, name string)

	buf   []byte // the file from bufAt on
	bufAt int64

	group    Group
	progress progress
	// previous is the event that names the GTIDs of the files before, of MySQL.
	previous []byte
	// committed is when a group was committed, as its first event says; zero if that does not.
	committed time.Time
	// session is that of the last group that has one.
	session session
}

// progress is how far a group has come.
type progress uint8

const (
	// between groups.
	between progress = iota
	// undecided is a group whose next statement tells what it is.
	undecided
	// alone is a group of one statement and what stands before it.
	alone
	// inside a transaction, up to what commits it.
	inside
)

func (s *scan) pos() Position { return Position{s.l.name, s.at} }

func (s *scan) corrupt(what, format string, args ...any) error {
	return &CorruptError{s.pos(), what, fmt.Sprintf(format, args...)}
}

func (s *scan) run() error {
	for s.at < s.ext.Size {
		var e Event
		fault, err := s.event(&e)
		if err != nil {
			return err
		}
		if fault != nil {
			return s.torn(e.Length, fault)
		}
		if s.ext.Ended {
			return s.corrupt("binary log", "it goes on after its last event")
		}
		if err := s.take(&e); err != nil {
			return err
		}
	}
	if s.progress != between && s.ext.Torn == nil {
		s.ext.Torn = s.corrupt("transaction", "it has no end")
	}
	return nil
}

// event reads the next event. Its body is what fits the buffer, the beginning of it. A fault is that
// it is not what it must be; its length is set where it can be told.
func (s *scan) event(e *Event) (fault, err error) {
	have := s.ext.Size - s.at
	b, err := s.bytes(min(have, headerLen))
	if err != nil {
		return nil, err
	}
	if len(b) < headerLen {
		return s.corrupt("event", "a header of %d bytes", len(b)), nil
	}
	n, err := eventLen(b, s.l.format)
	if err != nil {
		return located(err, s.pos()), nil
	}
	e.Type, e.Length, e.Offset, e.Format = EventType(b[4]), n, s.at, s.l.format
	e.Timestamp, e.ServerID, e.Flags = le.Uint32(b), le.Uint32(b[5:]), le.Uint16(b[17:])
	if end := le.Uint32(b[13:]); end != 0 && end != uint32(s.at+n) && !s.relay {
		e.Length = 0
		return s.corrupt(e.Type.String()+" event", "length %d, but it ends at %d", n, end), nil
	}
	if n > have {
		return s.corrupt(e.Type.String()+" event", "%d bytes of %d", have, n), nil
	}
	if b, err = s.bytes(min(n, scanChunk)); err != nil {
		return nil, err
	}
	if s.at == int64(len(magic)) {
		e.Body = b[headerLen:]
		return nil, nil // it was read, and its checksum minds a flag
	}
	e.Body = b[headerLen:]
	if !s.l.format.Checksum {
		return nil, nil
	}
	var want uint32
	sum := crc32.ChecksumIEEE(b[:min(int64(len(b)), n-checksumLen)])
	if n <= int64(len(b)) {
		want = le.Uint32(b[n-checksumLen:])
		e.Body = e.Body[:len(e.Body)-checksumLen]
	} else if sum, want, err = s.sum(sum, int64(len(b)), n); err != nil {
		return nil, err
	}
	if sum != want {
		return s.corrupt(e.Type.String()+" event", "checksum %08x, not %08x", sum, want), nil
	}
	return nil, nil
}

// sum goes on with the checksum of an event of n bytes that does not fit the buffer, of which so
// many are summed, and reads the one that it ends in.
func (s *scan) sum(sum uint32, done, n int64) (got, want uint32, err error) {
	b := make([]byte, scanChunk)
	for done < n-checksumLen {
		b = b[:min(int64(cap(b)), n-checksumLen-done)]
		if err := s.l.read(b, s.at+done); err != nil {
			return 0, 0, err
		}
		sum = crc32.Update(sum, crc32.IEEETable, b)
		done += int64(len(b))
	}
	var tail [checksumLen]byte
	if err := s.l.read(tail[:], s.at+n-checksumLen); err != nil {
		return 0, 0, err
	}
	return sum, le.Uint32(tail[:]), nil
}

// bytes returns n bytes from the next event on, at most scanChunk.
func (s *scan) bytes(n int64) ([]byte, error) {
	if off := s.at - s.bufAt; off >= 0 && off+n <= int64(len(s.buf)) {
		return s.buf[off : off+n], nil
	}
	if s.buf == nil {
		s.buf = make([]byte, min(s.ext.Size, scanChunk))
	}
	s.buf = s.buf[:min(s.ext.Size-s.at, scanChunk)]
	s.bufAt = s.at
	if err := s.l.read(s.buf, s.at); err != nil {
		return nil, err
	}
	return s.buf[:n], nil
}

// take goes on behind an event that is whole.
func (s *scan) take(e *Event) error {
	if err := s.follow(e); err != nil {
		return err
	}
	s.at += e.Length
	if s.progress == between {
		s.ext.End = s.at
	}
	return nil
}
