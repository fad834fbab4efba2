package binlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// chunk is how much is read at a time, in bytes. An event that is larger is read in
	// one piece.
	chunk = 256 << 10
	// settled is how old a directory's time must be so that a further change would have
	// given it another one; file systems count in ticks of up to 10 ms.
	settled = 100 * time.Millisecond
)

// Tail follows the logs in a directory from a position on, over rotations and restarts
// of the server. It is not safe for several goroutines.
type Tail struct {
	dir   string
	dirF  *os.File
	dirFD int
	log   *logFile
	// next is the offset of the next event; buf holds the file from bufAt on.
	next  int64
	buf   []byte
	bufAt int64

	// ended is set after a ROTATE or STOP event; rotated says it was ROTATE, unclean
	// that the file before ended otherwise.
	ended, rotated, unclean bool
	// dirTime is when the directory was last changed when no later file was in it.
	dirTime int64
	dirStat syscall.Stat_t
	st      syscall.Stat_t
	err     error
}

// OpenTail begins to follow at from, which must be the beginning of an event or the end
// of the last; offsets below 4 mean the first event. It returns *GoneError if the file
// is not there or is shorter.
func OpenTail(dir string, from Position) (*Tail, error) {
	d, err := os.Open(dir) //nolint:forbidigo // the data directory lies in one of ours
	if err != nil {
		return nil, fmt.Errorf("open directory of binary logs: %w", err)
	}
	t := &Tail{dir: dir, dirF: d, dirFD: int(d.Fd()), next: max(from.Offset, int64(len(magic)))}
	if t.log, err = openLog(dir, from.File); err == nil {
		err = t.check(from)
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("follow binary log at %s: %w", from, err)
	}
	return t, nil
}

func (t *Tail) check(from Position) error {
	if err := t.log.stat(&t.st); err != nil {
		return err
	}
	if t.st.Size < t.next {
		return &GoneError{Pos: from, Reason: fmt.Sprintf("the file has only %d bytes", t.st.Size)}
	}
	return t.endsBefore()
}

// endsBefore finds out whether the event before the position, which another reader had,
// was the file's last: ROTATE and STOP are looked for where they would stand.
func (t *Tail) endsBefore() error {
	if t.next != t.st.Size {
		return nil // there is more, so it was not
	}
	var tail [headerLen + 8 + 256 + checksumLen]byte
	b := tail[:min(t.next, int64(len(tail)))]
	if err := t.log.read(b, t.next-int64(len(b))); err != nil {
		return err
	}
	for n := len(b) - headerLen; n >= 0; n-- {
		e, err := ParseEvent(b[n:], t.log.format)
		if err == nil && e.Length == int64(len(b)-n) && (e.Type == RotateEvent || e.Type == StopEvent) && e.Timestamp != 0 &&
			le.Uint32(b[n+13:]) == uint32(t.next) {
			return t.noteEnd(&e)
		}
	}
	return nil
}

// Close lets the files go. It may be called twice.
func (t *Tail) Close() {
	if t.log != nil {
		t.log.f.Close()
		t.log = nil
	}
	t.dirF.Close()
	if t.err == nil {
		t.err = os.ErrClosed
	}
}

// Pos returns where the next event begins, or will.
func (t *Tail) Pos() Position {
	if t.log == nil {
		return Position{}
	}
	return Position{t.log.name, t.next}
}

// Next reads the next event into e. It returns false if the log has no further event yet; asking again
// costs no more than two fstat(2). The event's bytes hold until the next call.
//
// An error stays: *GoneError, *CorruptError, *NotUnderstoodError where all that follows is
// encrypted, or one of the system. Events of which only the name or the number is known
// (EventType.Understood) are handed out, also those that hide others or say that some are missing;
// it is the caller who must not overlook them.
func (t *Tail) Next(e *Event) (bool, error) {
	if t.err != nil {
		return false, t.err
	}
	for {
		ok, err := t.read(e)
		if err == nil && !ok {
			var moved bool
			if moved, err = t.advance(); moved {
				continue
			}
		}
		if err != nil {
			t.err = err
			return false, err
		}
		return ok, nil
	}
}

// read reads the next event of the current file, if it is there completely.
func (t *Tail) read(e *Event) (bool, error) {
	b := t.buffered()
	if len(b) < headerLen || int64(len(b)) < int64(le.Uint32(b[9:])) {
		more, err := t.fill()
		if err != nil || !more {
			return false, err
		}
		b = t.buffered()
	}
	pos := Position{t.log.name, t.next}
	n, err := eventLen(b, t.log.format)
	if err != nil {
		return false, located(err, pos)
	}
	if t.ended {
		return false, &CorruptError{pos, "binary log", "it goes on after its last event"}
	}
	if err := t.agrees(b, n); err != nil {
		return false, err
	}
	if err := e.fill(b[:n], t.log.format); err != nil {
		return false, located(err, pos)
	}
	e.File, e.Offset = t.log.name, t.next
	switch e.Type {
	case FormatDescriptionEvent:
		e.Format = t.log.format
		e.Restarted = t.next == int64(len(magic)) && (t.log.format.Created != 0 || t.unclean)
	case StartEncryptionEvent:
		return false, &NotUnderstoodError{pos, e.Type}
	case RotateEvent, StopEvent:
		if err := t.noteEnd(e); err != nil {
			return false, err
		}
	}
	t.next += n
	return true, nil
}

// agrees checks the length of the next event against where its header says that it ends,
// so that a position within an event is found out. MariaDB from 11.8 on leaves that 0 in
// transactions.
func (t *Tail) agrees(b []byte, n int64) error {
	if end := le.Uint32(b[13:]); end != 0 && end != uint32(t.next+n) {
		return &CorruptError{t.Pos(), EventType(b[4]).String() + " event", fmt.Sprintf("length %d, but it ends at %d", n, end)}
	}
	return nil
}

// noteEnd remembers that a file's last event was seen.
func (t *Tail) noteEnd(e *Event) error {
	t.ended = true
	if e.Type == StopEvent {
		return nil
	}
	r, err := ParseRotate(e)
	if err != nil {
		return err
	}
	want, err := following(t.log.name)
	if err != nil {
		return err
	}
	if r.Next.File != want && filepath.Base(r.Next.File) != want {
		return &CorruptError{e.Pos(), "ROTATE event", "it leads to " + strconv.Quote(r.Next.File) + ", not to " + want}
	}
	t.rotated = true
	return nil
}

func (t *Tail) buffered() []byte {
	at := t.next - t.bufAt
	if at < 0 || at > int64(len(t.buf)) {
		return nil
	}
	return t.buf[at:]
}

// fill reads on from the next event, so that it is in the buffer as a whole, and reports
// whether it is.
func (t *Tail) fill() (bool, error) {
	if err := t.log.stat(&t.st); err != nil {
		return false, err
	}
	pos := Position{t.log.name, t.next}
	have := t.st.Size - t.next
	if have < 0 {
		return false, &GoneError{Pos: pos, Reason: fmt.Sprintf("the file has only %d bytes", t.st.Size)}
	}
	if have < headerLen {
		return false, nil
	}
	if err := t.load(min(have, chunk)); err != nil {
		return false, err
	}
	n, err := eventLen(t.buf, t.log.format)
	if err != nil {
		return false, located(err, pos)
	}
	if n <= int64(len(t.buf)) {
		return true, nil
	}
	if err := t.agrees(t.buf, n); err != nil || n > have {
		return false, err // a length that is wrong would make us wait for what never comes
	}
	return true, t.load(n)
}

// load reads n bytes from the next event on.
func (t *Tail) load(n int64) error {
	if int64(cap(t.buf)) < n || int64(cap(t.buf)) > max(n, 16*chunk) {
		t.buf = make([]byte, max(n, chunk))
	}
	t.buf, t.bufAt = t.buf[:n], t.next
	return t.log.read(t.buf, t.next)
}

// advance goes to the file after the current one if all of that was read. It reports
// whether there may be something to read now.
func (t *Tail) advance() (bool, error) {
	if quiet, err := t.quiet(); err != nil || quiet {
		return false, err
	}
	name, err := following(t.log.name)
	if err != nil {
		return false, err
	}
	size := t.st.Size
	next, err := openLog(t.dir, name)
	var gone *GoneError
	switch {
	case errors.As(err, &gone):
		return false, t.linked() // it is not made yet, or all of them were removed
	case errors.Is(err, errNotYet):
		t.dirTime = 0
		return false, t.linked()
	case err != nil:
		return false, err
	}
	// Only now is it certain that nothing more comes in the old file, and, if that still
	// has its name, that the new one is its successor: RESET MASTER removes all first.
	if err := t.linked(); err != nil {
		next.f.Close()
		return false, err
	}
	if t.st.Size != size {
		next.f.Close()
		t.dirTime = 0
		return true, nil
	}
	t.log.f.Close()
	*t = Tail{unclean: !t.rotated, dir: t.dir, dirF: t.dirF, dirFD: t.dirFD, log: next, next: int64(len(magic)), buf: t.buf[:0]}
	return true, nil
}

// quiet reports whether the directory is as it was when it was last looked into. The
// server writes a file's last event before it makes the next one, unless it was killed;
// so a new file must be looked for at any time, but not at the price of a look each time.
func (t *Tail) quiet() (bool, error) {
	if err := syscall.Fstat(t.dirFD, &t.dirStat); err != nil {
		return false, fmt.Errorf("stat directory of binary logs: %w", err)
	}
	changed := t.dirStat.Mtim.Nano()
	if changed == t.dirTime {
		return t.st.Nlink != 0, nil
	}
	t.dirTime = 0
	if time.Now().UnixNano()-changed > int64(settled) {
		t.dirTime = changed
	}
	return false, nil
}

// linked returns *GoneError if the current file was removed. It looks at the file again.
func (t *Tail) linked() error {
	if err := t.log.stat(&t.st); err != nil {
		return err
	}
	if t.st.Nlink == 0 {
		return &GoneError{Pos: t.Pos(), Reason: "the file was removed, and what follows it is not certain"}
	}
	return nil
}

// following returns the name of the file after one: numbers count up by one.
func following(name string) (string, error) {
	base, number, ok := strings.Cut(name, ".")
	if i := strings.LastIndexByte(name, '.'); ok {
		base, number = name[:i], name[i+1:]
	}
	n, err := fileNumber(number)
	if err != nil {
		return "", &CorruptError{Position{File: name}, "name of a binary log", "it does not end in a number"}
	}
	return fmt.Sprintf("%s.%0*d", base, len(number), n+1), nil
}
