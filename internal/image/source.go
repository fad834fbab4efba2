package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/dump"
	"github.com/ramaria-db/ramaria/internal/dumpdir"
	"github.com/ramaria-db/ramaria/internal/dumpfile"
	"github.com/ramaria-db/ramaria/internal/dumpfile/web"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/server"
)

// ErrUsage is what an error matches (errors.Is) when the sources or their key were
// named wrongly on the command line, rather than found to be faulty.
var ErrUsage = errors.New("wrong usage")

// usageError is an error that matches ErrUsage and reads as it is.
type usageError struct{ error }

func (e usageError) Unwrap() error        { return e.error }
func (e usageError) Is(target error) bool { return target == ErrUsage }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// SourceKind is what a source names.
type SourceKind string

const (
	// FromPath is a file or a directory. Which of a dump, a directory of dumps or a data directory
	// it is shows when it is looked at.
	FromPath SourceKind = "path"
	// FromStdin is standard input, which must be spooled before an image is built of it.
	FromStdin SourceKind = "stdin"
	// FromCommand is a command that fills the server.
	FromCommand SourceKind = "command"
	// FromImage is an image, by its id or the beginning of that.
	FromImage SourceKind = "image"
	// FromBucket is an image in a bucket: its URL, of which the last part is its id.
	FromBucket SourceKind = "bucket"
	// FromURL is a dump at a URL, which must be spooled before an image is built of it.
	FromURL SourceKind = "url"
	// FromInstance is the data of an instance as it is now: each time another.
	FromInstance SourceKind = "instance"
)

// Source is what an image is to be built from, as the user named it: a --from argument.
type Source struct {
	Kind SourceKind
	// Name is the path, the command, the image's id or URL, the dump's URL with all that it takes to get it, or the
	// instance's name.
	Name string
}

const (
	stdinName      = "-"
	commandPrefix  = "exec:"
	instancePrefix = "instance:"
	bucketPrefix   = "s3://"
)

// idLength is the number of letters of an image's id, and imageID what an id or
// its beginning looks like.
const idLength = 16

var imageID = regexp.MustCompile(`^[0-9a-f]{6,16}$`)

// ParseSources reads --from arguments. A file that is named like an image goes first; nothing
// else is looked at.
func ParseSources(args []string) []Source {
	from := make([]Source, len(args))
	for i, arg := range args {
		from[i] = readSource(arg)
		if from[i].Kind == FromImage {
			if _, err := os.Stat(arg); !errors.Is(err, os.ErrNotExist) {
				from[i].Kind = FromPath
			}
		}
	}
	return from
}

// readSource reads a source from its text alone.
func readSource(text string) Source {
	if text == stdinName {
		return Source{Kind: FromStdin}
	}
	if name, ok := strings.CutPrefix(text, instancePrefix); ok {
		return Source{FromInstance, name}
	}
	if _, _, err := SplitURL(text); err == nil && strings.HasPrefix(text, bucketPrefix) {
		return Source{FromBucket, text}
	}
	if web.IsURL(text) {
		return Source{FromURL, text}
	}
	if command, ok := strings.CutPrefix(text, commandPrefix); ok {
		return Source{FromCommand, command}
	}
	if imageID.MatchString(text) {
		return Source{FromImage, text}
	}
	return Source{FromPath, text}
}

// AbsSources makes the paths among sources absolute, so that they mean the same from every
// directory, and in a record, which holds sources as text.
func AbsSources(from []Source) ([]Source, error) {
	abs := slices.Clone(from)
	for i, s := range abs {
		if s.Kind != FromPath {
			continue
		}
		var err error
		if abs[i].Name, err = filepath.Abs(s.Name); err != nil {
			return nil, fmt.Errorf("find source %s: %w", s, err)
		}
	}
	return abs, nil
}

// String is the source as it is given to --from, but for what of a URL is a secret.
func (s Source) String() string {
	switch s.Kind {
	case FromURL:
		return web.Redacted(s.Name)
	case FromStdin:
		return stdinName
	case FromInstance:
		return instancePrefix + s.Name
	case FromCommand:
		return commandPrefix + s.Name
	}
	return s.Name
}

// MarshalText implements encoding.TextMarshaler.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. Paths must be absolute: a relative one may
// be taken for an image.
func (s *Source) UnmarshalText(text []byte) error {
	*s = readSource(string(text))
	return nil
}

// SourceInstance returns the name of the instance that sources begin with, "" if they do not.
func SourceInstance(from []Source) string {
	if len(from) == 0 || from[0].Kind != FromInstance {
		return ""
	}
	return from[0].Name
}

// Once reports whether the source can be read only once: what comes of it is to be spooled.
func (s Source) Once() bool { return s.Kind == FromStdin || s.Kind == FromURL }

// isPrefix reports whether the source is an image that is named by the beginning of its id.
func (s Source) isPrefix() bool { return s.Kind == FromImage && len(s.Name) < idLength }

// IsID reports whether a text is the whole id of an image.
func IsID(text string) bool { return len(text) == idLength && imageID.MatchString(text) }

// SplitURL returns the place of an image in a bucket, and its id.
func SplitURL(url string) (place, id string, err error) {
	path, query, found := strings.Cut(url, "?")
	i := strings.LastIndexByte(path, '/')
	place, id = path[:max(i, 0)], path[i+1:]
	if found {
		place += "?" + query
	}
	if !IsID(id) {
		return "", "", usagef("use source %s: it does not end with the id of an image\nhint: ramaria image push prints the URL of one; ramaria image ls s3://BUCKET/PREFIX shows those that are there", url)
	}
	return place, id, nil
}

// kind is what an input is.
type kind string

const (
	kindDump     kind = "dump"
	kindDataDir  kind = "datadir"
	kindExec     kind = "exec"
	kindImage    kind = "image"
	kindInstance kind = "instance"
)

// input is one thing that an image is built from, as it was found when it was looked at.
type input struct {
	kind kind
	// path is the file, directory, command, image id or instance's name.
	path string
	// name is what people call it.
	name string
	// dir says of a dump that it is a directory by another program.
	dir bool
}

// called is how errors about the file of a dump call it: by its path, unless it is a copy that nobody knows.
func (s input) called() string {
	if spooled(s.path, spoolID) || spooled(s.path, fetchID) {
		return s.name
	}
	return s.path
}

// look looks at sources, and returns what they are in the order in which it is loaded.
func look(from []Source) ([]input, error) {
	var out []input
	for _, s := range from {
		found, err := s.look()
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	for i, s := range out {
		if i > 0 && (s.kind == kindDataDir || s.kind == kindImage || s.kind == kindInstance) {
			return nil, usagef("use source %s: a data directory, an instance or an image can only come first, and only one\nhint: give it as the first --from", s.name)
		}
	}
	return out, nil
}

// CheckSources refuses files that are not there, or that are no dumps by their first bytes: before a
// server is fetched, or a volume made.
func CheckSources(from []Source) error {
	for _, s := range from {
		if s.Kind == FromURL {
			if err := CheckURL(s.Name); err != nil {
				return err
			}
		}
		if s.Kind != FromPath {
			continue
		}
		found, err := s.look()
		if err != nil {
			return err
		}
		for _, in := range found {
			if in.kind != kindDump || in.dir {
				continue
			}
			r, err := dumpfile.Open(in.path)
			if err != nil {
				return err
			}
			if err := r.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckURL refuses a URL by which no dump is fetched.
func CheckURL(url string) error {
	if err := web.Check(url); err != nil {
		return usageError{err}
	}
	return nil
}

func (s Source) look() ([]input, error) {
	switch s.Kind {
	case FromURL:
		return nil, fmt.Errorf("use source %s: it must be spooled first", s)
	case FromStdin:
		return nil, errors.New("use source -: standard input must be spooled first")
	case FromInstance:
		if s.Name == "" {
			return nil, usagef("use source %s: there is no name\nhint: --from instance:NAME; ramaria ls shows the instances", s)
		}
		return []input{{kind: kindInstance, path: s.Name, name: "instance " + s.Name}}, nil
	case FromCommand:
		command := strings.TrimSpace(s.Name)
		if command == "" {
			return nil, usagef("use source %s: there is no command\nhint: --from 'exec:./migrate.sh' --key 42", s)
		}
		return []input{{kind: kindExec, path: command, name: s.String()}}, nil
	case FromImage:
		return []input{{kind: kindImage, path: s.Name, name: "image " + s.Name}}, nil
	case FromBucket:
		_, id, err := SplitURL(s.Name)
		return []input{{kind: kindImage, path: id, name: "image " + s.Name}}, err
	}
	return lookAtPath(s.Name)
}

// lookAtPath tells what a file or directory is.
func lookAtPath(f string) ([]input, error) {
	fi, err := os.Stat(f)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, usagef("use source %s: there is no such file or directory\nhint: --from takes a dump, a directory, an image id (ramaria image ls), instance:NAME, a URL, '-' or exec:COMMAND", f)
	case err != nil:
		return nil, fmt.Errorf("use source: %w", err)
	case !fi.IsDir() && !fi.Mode().IsRegular():
		return nil, irregularError(f, fi.Mode())
	case !fi.IsDir() && spooled(f, spoolID):
		return []input{{kind: kindDump, path: f, name: "standard input"}}, nil
	case !fi.IsDir():
		return []input{{kind: kindDump, path: f, name: filepath.Base(f)}}, nil
	case server.LooksLikeDataDir(f):
		// A walk does not follow f itself, where that is a link: it would find nothing.
		dir, err := filepath.EvalSymlinks(f)
		if err != nil {
			return nil, fmt.Errorf("use source: %w", err)
		}
		return []input{{kind: kindDataDir, path: dir, name: "data directory " + f}}, nil
	}
	if one, err := dumpdir.Is(f); one || err != nil {
		return []input{{kind: kindDump, path: f, name: filepath.Base(f), dir: true}}, err
	}
	files, err := dumpfile.Dir(f)
	if err == nil {
		files, err = dumpfile.Order(files)
	}
	if err != nil {
		return nil, err
	}
	var out []input
	for _, p := range files {
		out = append(out, input{kind: kindDump, path: p, name: filepath.Base(p)})
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
// stand under its name, without waiting for its writer (fifo(7)).
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
