package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramaria-db/ramaria/internal/sys"
)

// longestSocket is how many bytes the path of a socket may have: unix(7) ends at 107, and MySQL writes a lock file
// beside it.
const longestSocket = 100

// packageAccount is the account that packages of servers make, and give the directory for sockets to.
const packageAccount = "mysql"

// socketPatience is how long what listens at a socket may take to take a connection.
const socketPatience = time.Second

// ErrSocketTaken says that a server listens at a socket.
var ErrSocketTaken = errors.New("another server listens there")

// CheckSocketPath refuses what no server can listen at.
func CheckSocketPath(path string) error {
	switch {
	case !filepath.IsAbs(path) || strings.HasSuffix(path, "/"):
		return fmt.Errorf("use socket %q: it is not the path of a file\nhint: --socket /run/mysqld/mysqld.sock", path)
	case len(path) > longestSocket:
		return fmt.Errorf("use socket %s: its path has %d bytes, and at most %d fit\nhint: a directory with a shorter path, as /run/mysqld", path, len(path), longestSocket)
	case strings.ContainsAny(path, "\n\r\x00"):
		return fmt.Errorf("use socket %q: its path has a line break", path)
	}
	return nil
}

// ClaimSocket makes way for the socket of a server under account at a path of the user's choice: it makes the directory
// if that is below /run, which a reboot empties, and removes a socket that nobody answers. It refuses a directory in
// which others could put theirs instead, and what it cannot know to be left over; errors match ErrSocketTaken where
// something answers.
func ClaimSocket(path string, account Account) (err error) {
	failed := func(err error) error { return fmt.Errorf("use socket %s: %w", path, err) }
	if err := CheckSocketPath(path); err != nil {
		return err
	}
	if err := socketDir(filepath.Dir(path), account); err != nil {
		return failed(err)
	}
	if err := unanswered(path); err != nil {
		return failed(err)
	}
	if err := removeSocket(path); err != nil {
		return failed(err)
	}
	return nil
}

// RemoveDeadSocket removes a socket of one of some owners that a killed server left, and MySQL's lock beside it.
func RemoveDeadSocket(path string, owners []int) error {
	fi, err := os.Lstat(path)
	if err != nil || !slices.Contains(owners, ownerOf(fi)) || unanswered(path) != nil {
		return nil //nolint:nilerr // it is another's, or gone
	}
	return removeSocket(path)
}

// socketDir looks whether only root, the caller and the account can put a socket into dir, and whether the account can.
func socketDir(dir string, account Account) error {
	if err := makeSocketDir(dir, account); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("%w\nhint: mkdir %s", err, dir)
	}
	fi, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if account == (Account{}) {
		account = Account{os.Geteuid(), os.Getegid()}
	}
	owner, sticky := ownerOf(fi), fi.Mode()&fs.ModeSticky != 0
	switch {
	case owner == account.UID, owner == 0, owner == os.Geteuid():
	case os.Geteuid() == 0 && owner == packageUID():
	default:
		return fmt.Errorf("its directory belongs to uid %d, who could put another socket there\nhint: chown %d %s, or a directory of root's", owner, account.UID, dir)
	}
	if fi.Mode().Perm()&0o002 != 0 && !sticky {
		return fmt.Errorf("anybody may write to its directory, and put another socket there\nhint: chmod o-w %s", dir)
	}
	if mayWrite(fi, account) {
		return nil
	}
	if os.Geteuid() == 0 && owner == packageUID() && below(real, runtimeDir) {
		return lend(real, fi, account)
	}
	return fmt.Errorf("the server, which runs under uid %d, may not write to its directory\nhint: mkdir %s/NAME, chown %d %[2]s/NAME, and --socket %[2]s/NAME/%[4]s", account.UID, dir, account.UID, "mysqld.sock")
}

// runtimeDir is emptied by a reboot.
const runtimeDir = "/run"

// makeSocketDir makes a directory below /run, as packages of servers do at boot, and gives it to the account.
func makeSocketDir(dir string, account Account) error {
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if os.Geteuid() != 0 || account == (Account{}) || err != nil || parent != runtimeDir {
		return nil //nolint:nilerr // what is not there is said by who looks for it
	}
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	return account.Own(dir, 0o755) // root's alone can be written in /run
}

// lend gives the account's group the right to write to a runtime directory of an installed server's, whose it stays: that
// server goes on using it.
func lend(dir string, fi fs.FileInfo, account Account) error {
	if err := os.Lchown(dir, ownerOf(fi), account.GID); err != nil {
		return err
	}
	return os.Chmod(dir, fi.Mode().Perm()|0o070) //nolint:forbidigo // in /run, which is root's alone
}

// mayWrite reports whether an account may make files in a directory.
func mayWrite(fi fs.FileInfo, account Account) bool {
	perm, group := fi.Mode().Perm(), -1
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		group = int(st.Gid)
	}
	need := fs.FileMode(0o003)
	switch {
	case account.UID == 0:
		return true
	case ownerOf(fi) == account.UID:
		need = 0o300
	case group == account.GID:
		need = 0o030
	}
	return perm&need == need
}

// unanswered reports what speaks against removing what is at a path: something that is no socket, or one that answers.
func unanswered(path string) error {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return starting(path)
	}
	if err != nil {
		return err
	}
	if fi.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("there is something that is no socket\nhint: another path, or move it away")
	}
	conn, err := (&net.Dialer{Timeout: socketPatience}).DialContext(context.Background(), "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("%w\nhint: shut it down, or use another path", ErrSocketTaken)
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		return starting(path)
	}
	return fmt.Errorf("%w, it seems: %w\nhint: shut it down, or use another path", ErrSocketTaken, err)
}

// starting finds a MySQL server that has its lock beside the socket, and does not listen yet.
func starting(path string) error {
	pid, err := strconv.Atoi(string(bytes.TrimSpace(readPart(path+".lock", 0, 16))))
	if err != nil || pid <= 0 {
		return nil //nolint:nilerr // no lock, or none that a server wrote
	}
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err == nil && strings.HasPrefix(string(name), "mysqld") {
		return fmt.Errorf("%w, or is about to: process %d\nhint: shut it down, or use another path", ErrSocketTaken, pid)
	}
	return nil
}

// removeSocket removes a socket, and MySQL's lock beside it: the number in that may be another process's now.
func removeSocket(path string) (err error) {
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return err
	}
	dir, err := sys.OpenDir(parent)
	if err != nil {
		return err
	}
	defer dir.CloseWith(&err)
	base := filepath.Base(path)
	return errors.Join(dir.Remove(base), dir.Remove(base+".lock"))
}

// packageUID is the uid of packageAccount, -1 if there is none. Tests replace it.
var packageUID = func() int {
	u, err := user.Lookup(packageAccount)
	if err != nil {
		return -1
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return -1
	}
	return uid
}

func ownerOf(fi fs.FileInfo) int {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

func below(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}
