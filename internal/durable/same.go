package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/archive"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/shipper"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// errOther is short for what Shipper says of another log.
var errOther = shipper.ErrOther

// otherLog says why data in RAM is not what its archive has.
const otherLog = "its log is not the one that the archive has"

// headSize is how much of a file of the log is compared, in bytes: times and counters of transactions are
// in it.
const headSize = 64 << 10

// sameLog reports whether the file of an instance's log in which the archive ends begins as the archive has
// it: after RESET MASTER there is another one of that name, which may be longer.
func (a *Archive) sameLog(i *instance.Instance, id archive.LogID, end archive.Position) (bool, error) {
	h := &head{file: end.File}
	if _, _, err := archive.ReadLogFrom(a.Disk, id, end.File, h); err != nil && !errors.Is(err, errEnough) {
		return false, err
	}
	want := h.bytes[:min(int64(len(h.bytes)), end.Offset)]
	f, err := sys.OpenIn(i.DataDir(), fmt.Sprintf("%s.%06d", server.BinlogName, end.File))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare %s with the archive: %w", filepath.Base(i.DataDir()), err)
	}
	defer f.Close()
	is := make([]byte, len(want))
	if _, err := f.ReadAt(is, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("compare the log with the archive: %w", err)
	}
	clearFlags(is)
	clearFlags(want)
	return bytes.Equal(is, want), nil
}

// clearFlags clears the flags of the first event of a file: the server changes one when it closes the file.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html
func clearFlags(b []byte) {
	const from, to = 4 + 17, 4 + 19
	clear(b[min(from, len(b)):min(to, len(b))])
}

// errEnough ends reading.
var errEnough = errors.New("enough")

// head takes the beginning of one file of a log.
type head struct {
	file  uint32
	bytes []byte
}

var _ archive.Sink = (*head)(nil)

// WriteAt implements archive.Sink.
func (h *head) WriteAt(file uint32, b []byte, at int64) error {
	if file != h.file {
		return nil
	}
	if at >= headSize || at > int64(len(h.bytes)) { // the beginning may have been pruned
		return errEnough
	}
	h.bytes = append(h.bytes[:min(at, int64(len(h.bytes)))], b...)
	if len(h.bytes) > headSize {
		h.bytes = h.bytes[:headSize]
	}
	return nil
}

// Truncate implements archive.Sink.
func (h *head) Truncate(file uint32, size int64) error {
	if file == h.file && size < int64(len(h.bytes)) {
		h.bytes = h.bytes[:size]
	}
	return nil
}
