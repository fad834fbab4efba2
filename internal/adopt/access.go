package adopt

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/server"
)

// May reports whether an account may do something with a path, as modes say: the bits are those of others, 4 to read and
// 2 to write. The zero account is the caller.
func May(a server.Account, path string, bits fs.FileMode) bool {
	if a == (server.Account{}) {
		a = server.Account{UID: os.Geteuid(), GID: os.Getegid()}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !allows(a, real, bits) {
		return false
	}
	for dir := filepath.Dir(real); dir != "/"; dir = filepath.Dir(dir) {
		if !allows(a, dir, 1) {
			return false
		}
	}
	return true
}

func allows(a server.Account, path string, bits fs.FileMode) bool {
	fi, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || a.UID == 0 {
		return ok
	}
	shift := 0
	switch {
	case int(st.Uid) == a.UID:
		shift = 6
	case int(st.Gid) == a.GID:
		shift = 3
	}
	return fi.Mode().Perm()>>shift&bits == bits
}
