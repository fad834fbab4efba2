package binlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// magic is what a log begins with; encryptedMagic, one of MySQL's with
// binlog_encryption=ON.
var (
	magic          = []byte("\xfebin")
	encryptedMagic = []byte("\xfdbin")
)

// logFile is an open log.
type logFile struct {
	name   string
	f      *os.File
	fd     int
	format *Format
	// first is how long the format description is, which stands at offset 4.
	first int64
}

// errNotYet says that a file does not have its first event yet.
var errNotYet = errors.New("no format description yet")

// openLog opens a log and reads its format description. It returns *GoneError if there
// is no such file, and errNotYet.
func openLog(dir, name string) (*logFile, error) {
	pos := Position{File: name}
	if name != filepath.Base(name) {
		return nil, &CorruptError{Pos: pos, What: "name of a binary log", Reason: "it has a directory"}
	}
	f, err := sys.OpenIn(dir, name) // by no link: the server can make one
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &GoneError{Pos: pos, Reason: "the file is gone", Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("open binary log: %w", err)
	}
	l := &logFile{name: name, f: f, fd: int(f.Fd())}
	if err := l.readFormat(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

func (l *logFile) readFormat() error {
	var head [4 + headerLen]byte
	n, err := l.f.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read binary log: %w", err)
	}
	start := head[:min(n, len(magic))]
	if bytes.Equal(start, encryptedMagic) {
		return &NotUnderstoodError{Position{File: l.name}, StartEncryptionEvent}
	}
	if !bytes.HasPrefix(magic, start) {
		return &CorruptError{Position{File: l.name}, "binary log", fmt.Sprintf("it begins with %x", start)}
	}
	if n < len(head) {
		return errNotYet
	}
	pos := Position{l.name, int64(len(magic))}
	if t := EventType(head[len(magic)+4]); t != FormatDescriptionEvent {
		return &CorruptError{pos, "binary log", "its first event is a " + t.String()}
	}
	length := int64(le.Uint32(head[len(magic)+9:]))
	if length < headerLen || length > 1<<10 {
		return &CorruptError{pos, "FORMAT_DESCRIPTION event", fmt.Sprintf("length %d", length)}
	}
	b := make([]byte, length)
	if _, err := l.f.ReadAt(b, pos.Offset); errors.Is(err, io.EOF) {
		return errNotYet
	} else if err != nil {
		return fmt.Errorf("read binary log: %w", err)
	}
	if l.format, err = ParseFormat(b); err != nil {
		return located(err, pos)
	}
	l.first = length
	return nil
}

// stat is fstat(2) into memory that the caller keeps: os.File.Stat allocates.
func (l *logFile) stat(st *syscall.Stat_t) error {
	if err := syscall.Fstat(l.fd, st); err != nil {
		return fmt.Errorf("stat binary log %s: %w", l.name, err)
	}
	return nil
}

// read fills b from off; that the file ends before is a *GoneError, since the bytes were
// there.
func (l *logFile) read(b []byte, off int64) error {
	_, err := l.f.ReadAt(b, off)
	if errors.Is(err, io.EOF) {
		return &GoneError{Pos: Position{l.name, off}, Reason: "the file became shorter"}
	}
	if err != nil {
		return fmt.Errorf("read binary log: %w", err)
	}
	return nil
}
