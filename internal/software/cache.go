package software

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/server"
)

const (
	// descriptionFile lies in the directory of every fetched server. It is written
	// last, so that a directory without it is no server.
	descriptionFile = "server.json"
	// descriptionFormat changes when an older ramaria could not use the directory, or
	// this one not what an older one left: servers of format 1 lack what writes dumps
	// and reads logs, those of format 2 what makes clusters.
	descriptionFormat = 3
)

// description is the content of server.json.
type description struct {
	Format int `json:"format"`
	server.Server
}

// cached goes through the fetched servers: the distribution's before others, since
// that is what a fresh machine would fetch and what was fetched for one project
// must not change the server of all others; then the newest first.
func (f *Finder) cached() iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		dir := f.Places.Servers()
		entries, err := os.ReadDir(dir)
		if err != nil {
			return // no cache yet; what else is wrong with it, fetching will tell
		}
		var found []candidate
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				continue
			}
			c := candidate{path: filepath.Join(dir, e.Name())}
			if c.server, err = loadServer(c.path); err != nil {
				c.server, c.reason = nil, err.Error()
			}
			found = append(found, c)
		}
		slices.SortStableFunc(found, func(a, b candidate) int {
			if a.distribution() != b.distribution() {
				return cmp.Compare(b.distribution(), a.distribution())
			}
			return b.sortVersion().Compare(a.sortVersion())
		})
		for _, c := range found {
			if !yield(c) {
				return
			}
		}
	}
}

// distribution is 1 for a server of the distribution's, else 0.
func (c candidate) distribution() int {
	if c.server != nil && c.server.Origin == methodApt {
		return 1
	}
	return 0
}

func (c candidate) sortVersion() server.Version {
	if c.server == nil {
		return server.Version{}
	}
	return c.server.Version
}

// loadServer reads the description of the fetched server in dir. The directory may
// have been moved, or be reached by another path, since it was written.
func loadServer(dir string) (*server.Server, error) {
	var d description
	if err := readDescription(dir, descriptionFile, &d, &d.Format, descriptionFormat); err != nil {
		return nil, err
	}
	s := d.Server
	if s.Family() == nil {
		return nil, fmt.Errorf("this ramaria does not know %s", s.Flavour)
	}
	rebaseServer(&s, dir)
	if !server.Executable(s.Daemon.Path()) {
		return nil, fmt.Errorf("its daemon %s is missing", s.Daemon.Path())
	}
	return &s, nil
}

// readDescription reads what the file in dir says into d, whose format must be the one
// wanted.
func readDescription(dir, file string, d any, format *int, wanted int) error {
	if err := trusted(dir); err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it has no " + file + ", so it was not fetched by ramaria, or not wholly")
	}
	if err == nil {
		err = json.Unmarshal(b, d)
	}
	if err != nil {
		return fmt.Errorf("read description: %w", err)
	}
	if *format != wanted {
		return fmt.Errorf("its description has format %d, this ramaria reads %d", *format, wanted)
	}
	return nil
}

// trusted refuses a directory that another user could have put a program into.
func trusted(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at cache: %w", err)
	}
	if !fi.IsDir() {
		return errors.New("it is not a directory")
	}
	owner := int(fi.Sys().(*syscall.Stat_t).Uid)
	if owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("it belongs to user %d", owner)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return errors.New("others may write to it")
	}
	return nil
}

// rebaseServer makes every path of s that begins with its Dir begin with dir instead.
func rebaseServer(s *server.Server, dir string) {
	for _, p := range s.Programs() {
		rebaseProgram(*p, s.Dir, dir)
	}
	for _, p := range []*string{&s.Share, &s.Messages, &s.Charsets, &s.Plugins} {
		*p = rebased(*p, s.Dir, dir)
	}
	s.Dir = dir
}

// rebaseProgram does the same for all that the program is run with.
func rebaseProgram(p server.Program, old, dir string) {
	for _, list := range [][]string{p.Argv, p.Env} {
		for i := range list {
			list[i] = rebased(list[i], old, dir)
		}
	}
}

func rebased(p, old, dir string) string {
	if p == old {
		return dir
	}
	return strings.ReplaceAll(p, old+"/", dir+"/") // the library path holds several
}

// fetched is a server as it is put into the cache.
type fetched struct{ *server.Server }

var _ artifact = fetched{}

func (s fetched) root() string { return s.Dir }

func (s fetched) rebase(dir string) { rebaseServer(s.Server, dir) }

func (s fetched) describe(dir string) error { return writeDescription(dir, s.Server) }

// writeDescription writes server.json into dir, where s lies or is about to leave.
func writeDescription(dir string, s *server.Server) error {
	return writeJSON(filepath.Join(dir, descriptionFile), description{descriptionFormat, *s})
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, append(b, '\n'))
}

// writeFile writes a file that everybody may read and waits until it is on the disk.
func writeFile(path string, content []byte) error {
	w, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return errors.Join(err, w.Chmod(0o644), w.Sync(), w.Close())
}
