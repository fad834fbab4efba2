package binlog

import (
	"errors"
	"fmt"
)

// Ref names bytes of a log: one event, or several that follow one another.
type Ref struct {
	File           string
	Offset, Length int64
}

// mostOpen is how many logs a Files keeps open.
const mostOpen = 8

// Files reads again what was found in logs before, by reference. It keeps some files
// open, so they can still be read after they were purged. After RESET MASTER, when names
// are used anew, make another one. It is not safe for several goroutines.
type Files struct {
	// Dir is where the logs are.
	Dir string

	open []*logFile // the one used last is last
	buf  []byte
}

// Each calls yield for every event in ref, until it returns an error, which Each
// returns. The events' bytes hold until the next call of Each. It returns *GoneError if
// the file is not there or is shorter, *CorruptError if there are not just whole events.
func (s *Files) Each(ref Ref, yield func(*Event) error) error {
	pos := Position{ref.File, ref.Offset}
	if ref.Offset < int64(len(magic)) || ref.Length < headerLen {
		return &CorruptError{pos, "reference", fmt.Sprintf("length %d", ref.Length)}
	}
	l, err := s.get(ref.File)
	if err != nil {
		return fmt.Errorf("read binary log at %s: %w", pos, err)
	}
	if err := s.load(l, ref); err != nil {
		return err
	}
	e := Event{File: ref.File, Offset: ref.Offset}
	for b := s.buf; len(b) > 0; {
		n, err := eventLen(b, l.format)
		if err == nil && n > int64(len(b)) {
			err = corrupt("reference", "it ends within an event of %d bytes", n)
		}
		if err == nil {
			err = e.fill(b[:n], l.format)
		}
		if err != nil {
			return located(err, e.Pos())
		}
		if err := yield(&e); err != nil {
			return err
		}
		b = b[n:]
		e.Offset += n
	}
	return nil
}

func (s *Files) load(l *logFile, ref Ref) error {
	fi, err := l.f.Stat()
	if err != nil {
		return fmt.Errorf("read binary log: %w", err)
	}
	if fi.Size()-ref.Offset < ref.Length {
		return &GoneError{Pos: Position{ref.File, ref.Offset}, Reason: fmt.Sprintf("the file has only %d bytes", fi.Size())}
	}
	if int64(cap(s.buf)) < ref.Length {
		s.buf = make([]byte, ref.Length)
	}
	s.buf = s.buf[:ref.Length]
	return l.read(s.buf, ref.Offset)
}

// Format returns the format of a file.
func (s *Files) Format(file string) (*Format, error) {
	l, err := s.get(file)
	if err != nil {
		return nil, fmt.Errorf("read format of binary log %s: %w", file, err)
	}
	return l.format, nil
}

func (s *Files) get(name string) (*logFile, error) {
	for i, l := range s.open {
		if l.name == name {
			s.open = append(append(s.open[:i:i], s.open[i+1:]...), l)
			return l, nil
		}
	}
	l, err := openLog(s.Dir, name)
	if errors.Is(err, errNotYet) {
		err = &GoneError{Pos: Position{File: name}, Reason: "the file is empty"}
	}
	if err != nil {
		return nil, err
	}
	if len(s.open) >= mostOpen {
		s.open[0].f.Close()
		s.open = s.open[1:]
	}
	s.open = append(s.open, l)
	return l, nil
}

// Close lets the files go. The Files can be used again afterwards.
func (s *Files) Close() {
	for _, l := range s.open {
		l.f.Close()
	}
	s.open, s.buf = nil, nil
}
