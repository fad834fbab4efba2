package tier

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/bench/lab"
	"github.com/ramaria-db/ramaria/internal/sys"
)

const (
	// blockBytes is what one call writes or reads.
	blockBytes = 1 << 20
	// pageBytes is how far the stamps lie apart, by which each page of a file is told from all others.
	pageBytes = 4 << 10
	// syncEvery is after how many bytes data is synced where a file system cannot write past the page cache.
	syncEvery = 4 << 20
	// smallBytes is the size of small files, and smallTime how long they are made; littleTime in a round of
	// the least data.
	smallBytes = 4 << 10
	smallTime  = 500 * time.Millisecond
	littleTime = 50 * time.Millisecond
)

// What a writer is told to do.
const (
	doWrite  = "write"
	doRead   = "read"
	doRemove = "remove"
	doFiles  = "files"
)

// order is a line that a writer gets, and answer the one that it answers.
type order struct {
	Do string `json:"do"`
	// Step is how many bytes a step has, and Steps their number.
	Step  int64 `json:"step,omitempty"`
	Steps int   `json:"steps,omitempty"`
	// Time is for how long files are made.
	Time time.Duration `json:"time,omitempty"`
	// Past says that it goes past the page cache.
	Past bool `json:"past,omitempty"`
}

type answer struct {
	Steps []step `json:"steps,omitempty"`
	// Rate is how many files a second were made.
	Rate float64 `json:"rate,omitempty"`
	// Full says that there was no room for the next step.
	Full string `json:"full,omitempty"`
	// Wrong says what did not come back as it was written.
	Wrong string `json:"wrong,omitempty"`
	// Error is why it could not be done.
	Error string `json:"error,omitempty"`
}

// step is a part of a file.
type step struct {
	// Seconds is the time in calls, and Longest that of the longest one.
	Seconds float64 `json:"seconds"`
	Longest float64 `json:"longest"`
}

// Writer does what it is told on in, a line a time, in a directory, and answers on out.
func Writer(dir string, in io.Reader, out io.Writer) error {
	w := writer{dir: dir, block: make([]byte, blockBytes), got: make([]byte, blockBytes)}
	defer w.remove() //nolint:errcheck // it is removed, or the answer has said why not
	for i := 0; i < blockBytes; i += 8 {
		binary.LittleEndian.PutUint64(w.block[i:], lab.Mix(lab.StreamRounds, uint64(i)))
	}
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		a, err := w.do(o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

type writer struct {
	dir        string
	file       *os.File
	block, got []byte
	rounds     uint64
	written    int64
}

func (w *writer) do(o order) (answer, error) {
	switch o.Do {
	case doWrite:
		return w.write(o)
	case doRead:
		return w.read(o)
	case doRemove:
		return answer{}, w.remove()
	case doFiles:
		return w.files(o.Time)
	}
	return answer{}, fmt.Errorf("%q is nothing to do", o.Do)
}

// stamp makes the block that which lies at an offset.
func (w *writer) stamp(at int64) []byte {
	for i := int64(0); i < blockBytes; i += pageBytes {
		binary.LittleEndian.PutUint64(w.block[i:], uint64(at+i)) // #nosec G115 -- offsets
		binary.LittleEndian.PutUint64(w.block[i+8:], w.rounds)
	}
	return w.block
}

// write makes a file, as far as there is room.
func (w *writer) write(o order) (a answer, err error) {
	if err := w.remove(); err != nil {
		return a, err
	}
	w.rounds++
	w.written = 0
	if w.file, err = os.OpenFile(filepath.Join(w.dir, "written"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return a, err
	}
	w.pass(o)
	for range o.Steps {
		var s step
		for end := w.written + o.Step; w.written < end; w.written += blockBytes {
			block := w.stamp(w.written)
			err := s.time(func() error {
				if _, err := w.file.WriteAt(block, w.written); err != nil {
					return err
				}
				if o.Past && !sys.IsDirect(w.file) && (w.written+blockBytes)%syncEvery == 0 {
					return w.file.Sync()
				}
				return nil
			})
			if errors.Is(err, syscall.ENOSPC) {
				a.Full = err.Error()
				return a, nil
			}
			if err != nil {
				return a, err
			}
		}
		a.Steps = append(a.Steps, s)
	}
	return a, nil
}

// pass has the file read and written as the order says.
func (w *writer) pass(o order) {
	if o.Past {
		sys.Direct(w.file)
	}
}

// time adds a call to a step.
func (s *step) time(call func() error) error {
	began := time.Now()
	err := call()
	took := time.Since(began).Seconds()
	s.Seconds += took
	s.Longest = max(s.Longest, took)
	return err
}

// read reads back what was written, and compares it outside of the time.
func (w *writer) read(o order) (a answer, err error) {
	if o.Past && !sys.IsDirect(w.file) {
		if err := errors.Join(w.file.Sync(), sys.DropCache(w.file)); err != nil {
			return a, err
		}
	}
	for at := int64(0); at+o.Step <= w.written; {
		var s step
		for end := at + o.Step; at < end; at += blockBytes {
			if err := s.time(func() error { _, err := w.file.ReadAt(w.got, at); return err }); err != nil {
				return a, err
			}
			if a.Wrong == "" && !bytes.Equal(w.got, w.stamp(at)) {
				a.Wrong = fmt.Sprintf("read %s at %d: it is not what was written", w.file.Name(), at)
			}
		}
		a.Steps = append(a.Steps, s)
	}
	return a, nil
}

// remove removes the file, if there is one.
func (w *writer) remove() error {
	if w.file == nil {
		return nil
	}
	f := w.file
	w.file = nil
	return errors.Join(os.Remove(f.Name()), f.Close())
}

// files makes, writes and removes small files, one after the other.
func (w *writer) files(most time.Duration) (a answer, err error) {
	n := 0
	began := time.Now()
	for ; n == 0 || time.Since(began) < most; n++ {
		f, err := os.OpenFile(filepath.Join(w.dir, "small"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return a, err
		}
		_, err = f.Write(w.block[:smallBytes])
		if err := errors.Join(err, f.Close(), os.Remove(f.Name())); err != nil {
			return a, err
		}
	}
	a.Rate = float64(n) / time.Since(began).Seconds()
	return a, nil
}
