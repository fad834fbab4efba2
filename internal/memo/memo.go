// Package memo remembers what was once computed from a file, so that it need not
// be computed again while the file is the same: a version that costs starting a
// program, a hash that costs reading gigabytes. A file is the same when device,
// inode, size, mtime and ctime are. Losing the memory loses only time.
package memo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"syscall"
	"time"
)

const (
	// MaxEntries is how many answers are kept; the oldest go first.
	MaxEntries = 4096
	// settle is how old the last change of a file must be before an answer about
	// it is remembered: a change within the clock's grain of the last one could
	// leave every time stamp as it was. (Git calls such files racily clean.)
	settle = 50 * time.Millisecond
)

// Store keeps its answers as small files in Dir, which is made when needed, in a directory
// that must be there.
type Store struct {
	Dir string
}

// Get returns what compute once answered for the question kind about the file at
// path, or asks it. An answer is not remembered when the file changed while it
// was computed, or just before.
func (s Store) Get(kind, path string, compute func() (string, error)) (string, error) {
	before, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("stat source: %w", err)
	}
	entry := filepath.Join(s.Dir, key(kind, before))
	if b, err := os.ReadFile(entry); err == nil {
		return string(b), nil
	}
	started := time.Now()
	answer, err := compute()
	if err != nil {
		return "", err
	}
	after, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("stat source: %w", err)
	}
	if key(kind, after) != key(kind, before) {
		return "", fmt.Errorf("read %s: %w", path, ErrChanged)
	}
	if started.Sub(changed(after)) > settle {
		s.put(entry, answer)
	}
	return answer, nil
}

// ErrChanged says that a file changed while it was read.
var ErrChanged = errors.New("the file changed while it was read")

func key(kind string, fi os.FileInfo) string {
	st := fi.Sys().(*syscall.Stat_t)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d %d %d.%d %d.%d", kind, st.Dev, st.Ino, st.Size,
		st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec))
	return hex.EncodeToString(sum[:16])
}

func changed(fi os.FileInfo) time.Time {
	st := fi.Sys().(*syscall.Stat_t)
	return time.Unix(st.Ctim.Sec, st.Ctim.Nsec)
}

// put writes an answer; failing to is not an error, since the answer can always
// be computed again.
func (s Store) put(entry, answer string) {
	// Where there is no state directory, what asks makes nothing: it only looks.
	if err := os.Mkdir(s.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return
	}
	tmp, err := os.CreateTemp(s.Dir, ".tmp-")
	if err != nil {
		return
	}
	_, err = tmp.WriteString(answer)
	if errors.Join(err, tmp.Close()) != nil || os.Rename(tmp.Name(), entry) != nil {
		os.Remove(tmp.Name())
		return
	}
	s.prune()
}

func (s Store) prune() {
	entries, err := os.ReadDir(s.Dir)
	if err != nil || len(entries) <= MaxEntries {
		return
	}
	age := func(i int) time.Time {
		fi, err := entries[i].Info()
		if err != nil {
			return time.Time{}
		}
		return fi.ModTime()
	}
	sort.Slice(entries, func(i, j int) bool { return age(i).Before(age(j)) })
	for _, e := range entries[:len(entries)-MaxEntries/2] {
		os.Remove(filepath.Join(s.Dir, e.Name()))
	}
}
