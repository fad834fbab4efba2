package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Own gives path to the account and sets its mode. The zero account leaves the
// owner as it is.
func (a Account) Own(path string, mode fs.FileMode) error {
	if err := os.Chmod(path, mode); err != nil {
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

// MakeDirs makes directories that only account can enter. One that is there
// already must be its own, or the caller's: some lie in shared places.
func MakeDirs(account Account, dirs ...string) error {
	for _, dir := range dirs {
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			err = checkOwner(dir, account)
		}
		if err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
		if err := account.Own(dir, 0o700); err != nil {
			return fmt.Errorf("make directory %s: %w", dir, err)
		}
	}
	return nil
}

func checkOwner(dir string, account Account) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !fi.IsDir() || !ok || int(st.Uid) != os.Geteuid() && int(st.Uid) != account.UID {
		return fmt.Errorf("%s is there and not ours", dir)
	}
	return nil
}

// WritePrivate writes a file that only account (the caller, if zero) can read.
func WritePrivate(path string, content []byte, account Account) error {
	// A server account must not be able to direct the write elsewhere.
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write private file: %w", err)
	}
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if account != (Account{}) {
		if err := f.Chown(account.UID, account.GID); err != nil {
			return fmt.Errorf("give %s to uid %d: %w", path, account.UID, err)
		}
	}
	return f.Close()
}
