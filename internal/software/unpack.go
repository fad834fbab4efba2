package software

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// unpacker writes files of an archive below a root. Whatever the archive says, no
// file comes to lie outside (os.Root sees to that), has a special mode, or another
// owner than this process.
type unpacker struct{ root *os.Root }

func newUnpacker(dir string) (*unpacker, error) {
	if err := makeOpenDir(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &unpacker{root}, nil
}

func (u *unpacker) close() error { return u.root.Close() }

// file writes one file and waits until it is on the disk.
func (u *unpacker) file(name string, program bool, r io.Reader) error {
	if err := u.dir(path.Dir(name)); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if program {
		mode = 0o755
	}
	w, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	if err := errors.Join(err, w.Chmod(mode), w.Sync(), w.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// link writes a symbolic link, which may point anywhere: nothing of ours follows
// it but through os.Root.
func (u *unpacker) link(name, target string) error {
	if err := u.dir(path.Dir(name)); err != nil {
		return err
	}
	return u.root.Symlink(target, name)
}

// hardLink gives a file that was written before a second name.
func (u *unpacker) hardLink(name, target string) error {
	if err := u.dir(path.Dir(name)); err != nil {
		return err
	}
	return u.root.Link(target, name)
}

func (u *unpacker) dir(name string) error {
	if fi, err := u.root.Stat(name); err == nil && fi.IsDir() {
		return nil
	}
	made := ""
	for part := range strings.SplitSeq(name, "/") {
		made = path.Join(made, part)
		if err := u.root.Mkdir(made, 0o755); errors.Is(err, os.ErrExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := u.root.Chmod(made, 0o755); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// localName cleans the name of an archive's entry; ok is false for one that does
// not stay inside.
func localName(name string) (clean string, ok bool) {
	clean = path.Clean(strings.TrimPrefix(name, "./"))
	return clean, clean != "." && filepath.IsLocal(clean)
}
