package server

import (
	"os"
	"path/filepath"
	"syscall"
)

// KeptOut returns the first directory on the way to dir, or dir itself, that an account may not
// enter by its mode, or "". It knows nothing of access control lists: it serves to
// explain a failure, not to foresee one.
func (a Account) KeptOut(dir string) string {
	var way []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		way = append([]string{d}, way...)
		if d == filepath.Dir(d) {
			break
		}
	}
	for _, d := range way {
		fi, err := os.Stat(d)
		if err != nil {
			return ""
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		if !ok {
			return ""
		}
		bit := os.FileMode(0o001)
		switch {
		case int(st.Uid) == a.UID:
			bit = 0o100
		case int(st.Gid) == a.GID:
			bit = 0o010
		}
		if fi.Mode()&bit == 0 {
			return d
		}
	}
	return ""
}
