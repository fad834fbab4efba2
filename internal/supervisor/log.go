package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	// mostLog is the size, in bytes, from which on the log of a running server is put aside. It takes
	// memory as the data does, and grows without an end: MariaDB writes a dozen lines and more for
	// each table that is cloned.
	mostLog = 16 << 20
	// mostKept is how much of it is kept, in bytes: all of it, unless the log was not looked at for long.
	mostKept = 2 * mostLog
	// meanwhile is how much is read, in bytes, of what the server writes behind that at the time.
	meanwhile = 1 << 20
	// newSuffix is what the name ends in of what is put aside, while it is written.
	newSuffix = ".new"
)

// putLogAside moves what the server's log at path has to old, once it is large: the last mostKept
// bytes of it. What the server writes between the last look and the truncation is lost; it
// appends, and so goes on at the beginning. On the way the text is in our own memory, so that the
// volume, which may be full, holds it once at any time.
func putLogAside(path, old string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("look at the server's log: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() < mostLog {
		return err
	}
	kept := min(fi.Size(), mostKept)
	text := make([]byte, kept+meanwhile)
	n, err := f.ReadAt(text, fi.Size()-kept)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the server's log: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("truncate the server's log: %w", err)
	}
	if err := os.WriteFile(old+newSuffix, text[:n], 0o600); err != nil {
		return fmt.Errorf("the server's log up to now is lost: %w", errors.Join(err, os.Remove(old+newSuffix)))
	}
	return os.Rename(old+newSuffix, old)
}
