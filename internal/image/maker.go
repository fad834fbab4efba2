package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/ramaria-db/ramaria/internal/server"
)

// checkMaker refuses a data directory of another flavour, or of a version newer
// than s. It reports whether it is of an older series, which has to be upgraded.
func checkMaker(dir string, s *server.Server) (older bool, err error) {
	m := server.MakerOf(dir)
	if m.Flavour == "" {
		return false, nil
	}
	return outdated(m, s), checkMadeBy("copy data directory "+dir, m, s)
}

// outdated reports whether data is of an older series than s.
func outdated(m server.Maker, s *server.Server) bool {
	return m.Flavour == s.Flavour && m.Version.Series() != s.Version.Series() && m.Version.Compare(s.Version) < 0
}

// checkMadeBy refuses data of another flavour, or of a version newer than s.
func checkMadeBy(what string, m server.Maker, s *server.Server) error {
	switch {
	case m.Flavour != s.Flavour:
		return fmt.Errorf("%s: it was written by %s, and the server is %s\nhint: use the server that wrote it, --server %s, or a dump", what, m.Text, s.Name(), m.Flavour)
	case !s.Reads(m.Version):
		return fmt.Errorf("%s: it was written by %s, which is newer than the server, %s\nhint: --server %s:%s, or a dump", what, m.Text, s.Name(), m.Flavour, m.Version.Series())
	}
	if step := s.StepTo(m.Version); step != "" {
		return fmt.Errorf("%s: it was written by %s, and %s is upgraded to only from %s\nhint: ramaria up step --server %s:%s --from ..., ramaria down step, and then --from instance:step; or a dump", what, m.Text, s.Name(), step, m.Flavour, step)
	}
	return nil
}

// defaultPageSize is that of a server that is told none, in bytes.
const defaultPageSize = 16 << 10

// pageSize reads InnoDB's page size, in bytes, from the system tablespace; 0 is the default.
func pageSize(dir string) (int, error) {
	f, err := openRegular(filepath.Join(dir, "ibdata1"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read page size: %w", err)
	}
	defer f.Close()
	var b [4]byte
	if _, err := f.ReadAt(b[:], server.TablespaceFlags); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read page size: %s/ibdata1 is cut short", dir)
		}
		return 0, fmt.Errorf("read page size: %w", err)
	}
	size, _ := server.PageSize(binary.BigEndian.Uint32(b[:]))
	if size == defaultPageSize {
		return 0, nil
	}
	return size, nil
}
