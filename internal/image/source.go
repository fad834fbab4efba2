package image

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// ErrUsage is what an error matches (errors.Is) when the sources or their key were
// named wrongly on the command line, rather than found to be faulty.
var ErrUsage = errors.New("wrong usage")

// usageError is an error that matches ErrUsage and reads as it is.
type usageError struct{ error }

func (e usageError) Unwrap() error        { return e.error }
func (e usageError) Is(target error) bool { return target == ErrUsage }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// kind is what an input is.
type kind string

const (
	kindDump    kind = "dump"
	kindDataDir kind = "datadir"
	kindExec    kind = "exec"
	kindImage   kind = "image"
	// kindInstance is the data of an instance as it is now: each time another.
	kindInstance kind = "instance"
)

// input is one thing that an image is built from, as it was found when it was looked at.
type input struct {
	kind kind
	// path is the file, directory, command, image id or instance's name.
	path string
	// name is what people call it.
	name string
}

// execPrefix marks a source that is a command.
const execPrefix = "exec:"

// StdinName is the source that is read from standard input.
const StdinName = "-"

// idLength is the number of letters of an image's id, and imageID what an id or
// its beginning looks like.
const idLength = 16

var imageID = regexp.MustCompile(`^[0-9a-f]{6,16}$`)

// namesImage reports whether a --from argument is an image's id, or its beginning:
// a file of that name goes first.
func namesImage(f string) bool {
	if !imageID.MatchString(f) {
		return false
	}
	_, err := os.Stat(f)
	return errors.Is(err, os.ErrNotExist)
}

// AbsSources makes the paths among --from arguments absolute, so that they mean
// the same from every directory.
func AbsSources(from []string) ([]string, error) {
	abs := make([]string, len(from))
	for i, f := range from {
		abs[i] = f
		if f == StdinName || strings.HasPrefix(f, execPrefix) || strings.HasPrefix(f, InstancePrefix) {
			continue
		}
		if namesImage(f) {
			continue
		}
		var err error
		if abs[i], err = filepath.Abs(f); err != nil {
			return nil, fmt.Errorf("find source %s: %w", f, err)
		}
	}
	return abs, nil
}

// parseSources reads --from arguments into sources, in the order in which they
// are loaded.
func parseSources(from []string) ([]input, error) {
	var out []input
	for _, f := range from {
		s, err := parseSource(f)
		if err != nil {
			return nil, err
		}
		out = append(out, s...)
	}
	for i, s := range out {
		if i > 0 && (s.kind == kindDataDir || s.kind == kindImage || s.kind == kindInstance) {
			return nil, usagef("use source %s: a data directory, an instance or an image can only come first, and only one\nhint: give it as the first --from", s.name)
		}
	}
	return out, nil
}

func parseSource(f string) ([]input, error) {
	switch {
	case f == StdinName:
		return nil, errors.New("use source -: standard input must be spooled first")
	case f == InstancePrefix:
		return nil, usagef("use source %s: there is no name\nhint: --from instance:NAME; ramaria ls shows the instances", f)
	case strings.HasPrefix(f, InstancePrefix):
		name := strings.TrimPrefix(f, InstancePrefix)
		return []input{{kindInstance, name, "instance " + name}}, nil
	case strings.HasPrefix(f, execPrefix):
		command := strings.TrimSpace(strings.TrimPrefix(f, execPrefix))
		if command == "" {
			return nil, usagef("use source %s: there is no command\nhint: --from 'exec:./migrate.sh' --key 42", f)
		}
		return []input{{kindExec, command, f}}, nil
	case namesImage(f):
		return []input{{kindImage, f, "image " + f}}, nil
	}
	fi, err := os.Stat(f)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usagef("use source %s: there is no such file or directory\nhint: --from takes a dump, a directory, an image id (ramaria image ls), instance:NAME, '-' or exec:COMMAND", f)
	case err != nil:
		return nil, fmt.Errorf("use source: %w", err)
	case !fi.IsDir() && !fi.Mode().IsRegular():
		return nil, irregularError(f, fi.Mode())
	case !fi.IsDir() && strings.HasPrefix(filepath.Base(filepath.Dir(f)), ".build-"+spoolID):
		return []input{{kindDump, f, "standard input"}}, nil
	case !fi.IsDir():
		return []input{{kindDump, f, filepath.Base(f)}}, nil
	case server.LooksLikeDataDir(f):
		return []input{{kindDataDir, f, "data directory " + f}}, nil
	}
	files, err := dump.Dir(f)
	if err == nil {
		files, err = dump.Order(files)
	}
	if err != nil {
		return nil, err
	}
	var out []input
	for _, p := range files {
		out = append(out, input{kindDump, p, filepath.Base(p)})
	}
	return out, nil
}

// irregularError refuses a source that cannot be read twice, or never ends.
func irregularError(name string, mode fs.FileMode) error {
	what := "a device"
	switch {
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return usagef("use source %s: it is %s, neither a file nor a directory\nhint: --from - reads standard input: zcat x.gz | ramaria up --from -", name, what)
}

// openRegular opens a file for reading, and refuses anything else that has come to
// stand under its name, without waiting for whoever writes to it (fifo(7)).
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = irregularError(path, fi.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// spoolID begins what stands in the place of an image's id in the names of spools.
const spoolID = "spool-"

// Spool is a copy of standard input, which must be read twice: once to know it,
// once to load it.
type Spool struct {
	// Path is the copy. Its name gives the database its default name.
	Path string
	dir  string
	lock *sys.FileLock
}

// Spool copies in to a file in the store.
func (s *Store) Spool(ctx context.Context, in io.Reader) (_ *Spool, err error) {
	if err := os.MkdirAll(s.dir(), 0o711); err != nil {
		return nil, fmt.Errorf("spool standard input: %w", err)
	}
	// Locked before it is there, as a build: a Sweep of another process never sees it free.
	id := spoolID + rand.Text()
	lock, err := sys.Lock(ctx, s.lockPath(id), sys.Exclusive, nil)
	if err != nil {
		return nil, fmt.Errorf("spool standard input: %w", err)
	}
	dir := s.buildDir(id)
	sp := &Spool{Path: filepath.Join(dir, DefaultDatabase+".sql"), dir: dir, lock: lock}
	defer func() {
		if err != nil {
			err = errors.Join(err, sp.Close())
		}
	}()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool standard input: %w", err)
	}
	f, err := os.OpenFile(sp.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("spool standard input: %w", err)
	}
	_, err = io.Copy(f, dump.Until(ctx, in))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("spool standard input: %w", err)
	}
	return sp, nil
}

// Close removes the copy. It may be called more than once.
func (sp *Spool) Close() error {
	return errors.Join(os.RemoveAll(sp.dir), sp.lock.UnlockRemove())
}

// hashFile returns the SHA-256 of a file's content, remembered while the file
// stays the same.
func hashFile(ctx context.Context, m memo.Store, path string) (string, error) {
	return m.Get("sha256", path, func() (string, error) {
		f, err := openRegular(path)
		if err != nil {
			return "", fmt.Errorf("read source: %w", err)
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, dump.Until(ctx, f)); err != nil {
			return "", fmt.Errorf("read source %s: %w", path, err)
		}
		return hex.EncodeToString(h.Sum(nil)), nil
	})
}
