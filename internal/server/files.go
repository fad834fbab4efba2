package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/sys"
)

// Own gives path to the account and sets its mode. The zero account leaves the
// owner as it is. No other account may write to the directory that path lies in.
func (a Account) Own(path string, mode fs.FileMode) error {
	if err := os.Chmod(path, mode); err != nil { //nolint:forbidigo // for what lies in a directory of ours
		return fmt.Errorf("set mode: %w", err)
	}
	if a == (Account{}) {
		return nil
	}
	if err := os.Lchown(path, a.UID, a.GID); err != nil {
		return fmt.Errorf("give to uid %d: %w", a.UID, err)
	}
	return nil
}

// Take makes the caller, usually root, the owner of an account's directory, so
// that nothing below it can be reached, or put there, by the account. The directory
// that dir lies in must be the caller's. The zero account is the caller.
func (a Account) Take(dir string) error {
	if a == (Account{}) {
		return nil
	}
	// In this order: the account could change the mode of what it owns.
	if err := errors.Join(os.Lchown(dir, os.Geteuid(), os.Getegid()), os.Chmod(dir, 0o700)); err != nil { //nolint:forbidigo // it lies in a directory of ours
		return fmt.Errorf("take %s: %w", dir, err)
	}
	return nil
}

// TakeOver gives a data directory to the account, and all in it, where it is a copy of another account's: images that were
// built, and instances that were made, when the account was another one are still there. One that is not there is left so.
func (a Account) TakeOver(dir string) error {
	fi, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || a == (Account{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take over %s: %w", dir, err)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) == a.UID && int(st.Gid) == a.GID {
		return nil
	}
	if err := a.Take(dir); err != nil { // the other account is out, before the walk
		return err
	}
	return a.GiveTree(dir)
}

// GiveTree gives a directory of the caller's and all in it to the account, the directory last: until
// then the account cannot reach what is walked over. The zero account leaves it as it is.
func (a Account) GiveTree(dir string) error {
	if a == (Account{}) {
		return nil
	}
	return ChownTree(dir, a)
}

// ChownTree is GiveTree, of which the zero account is root.
func ChownTree(dir string, a Account) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("give %s to uid %d: %w", dir, a.UID, err)
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		return root.Lchown(path, a.UID, a.GID)
	})
	if err = errors.Join(err, root.Close()); err == nil {
		err = os.Lchown(dir, a.UID, a.GID)
	}
	if err != nil {
		return fmt.Errorf("give %s to uid %d: %w", dir, a.UID, err)
	}
	return nil
}

// MakeDirs makes directories that only account can enter. One that is there
// already must be its own, or the caller's: some lie in shared places.
func MakeDirs(account Account, dirs ...string) error {
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make directory: %w", err)
		}
		if err := account.take(dir); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	return nil
}

// take gives the directory dir to the account.
func (a Account) take(dir string) (err error) {
	if a == (Account{}) {
		a = Account{os.Geteuid(), os.Getegid()}
	}
	d, err := sys.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.CloseWith(&err)
	return d.Give(a.UID, a.GID)
}

// WritePrivate writes a file that only account (the caller, if zero) can read. Its directory may be
// that of a server, which must not be able to direct the write elsewhere.
func WritePrivate(path string, content []byte, account Account) (err error) {
	dir, err := sys.OpenDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write private file: %w", err)
	}
	defer dir.CloseWith(&err)
	name := filepath.Base(path)
	if err := dir.Remove(name); err != nil {
		return fmt.Errorf("write private file: %w", err)
	}
	f, err := dir.Open(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return fmt.Errorf("write private file: %w", err)
	}
	if account != (Account{}) { // before there is anything to read
		if err = f.Chown(account.UID, account.GID); err != nil {
			err = fmt.Errorf("give %s to uid %d: %w", path, account.UID, err)
		}
	}
	if err == nil {
		if _, err = f.Write(content); err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}
	return errors.Join(err, f.Close())
}

// WriteClientHome makes dir a directory in which the client programs find e, as their MYSQL_HOME;
// only the caller can read it.
func WriteClientHome(dir string, e dbconn.Endpoint) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make directory for clients: %w", err)
	}
	return WritePrivate(filepath.Join(dir, "my.cnf"), []byte(e.HomeConfig()), Account{})
}
