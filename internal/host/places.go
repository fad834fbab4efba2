// Package host tells facts about this machine: where Ramaria's files lie, how
// much memory there is and may be used, what the kernel and the distribution
// are, which security profiles apply. It changes nothing. Every fact is read
// below a root directory that tests can replace.
package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Host reads facts from the file system below Root ("/" when empty).
type Host struct {
	Root string
}

// path returns an absolute path of this machine as seen below Root.
func (h Host) path(p string) string {
	if h.Root == "" {
		return p
	}
	return filepath.Join(h.Root, p)
}

// Places says where Ramaria's files lie for one user, or below one --home.
type Places struct {
	// Cache holds what can be made or fetched again: servers/, images/.
	Cache string
	// State holds small files that must outlive a reboot: names, hashes.
	State string
	// Shm is the directory of the shm volume.
	Shm string
	// Disk is the directory of the disk volume.
	Disk string
	// Mounts is the directory in which the volumes that are mounted have their
	// places, "" for users who cannot mount.
	Mounts string
}

// runtimeDir is where root keeps what does not outlive a reboot.
const runtimeDir = "/run/ramaria"

// FindPlaces returns the places of the user uid. home is the value of --home or
// RAMARIA_HOME; it moves everything except the volumes in RAM, which get
// directories of their own, named after home.
func FindPlaces(home string, uid int, getenv func(string) string) (Places, error) {
	shm := "/dev/shm/ramaria-" + strconv.Itoa(uid)
	if home != "" {
		abs, err := Canonical(home)
		if err != nil {
			return Places{}, err
		}
		sum := sha256.Sum256([]byte(abs))
		tag := hex.EncodeToString(sum[:4])
		p := Places{
			Cache: filepath.Join(abs, "cache"),
			State: filepath.Join(abs, "state"),
			Shm:   shm + "-" + tag,
			Disk:  filepath.Join(abs, "volumes", "disk"),
		}
		if uid == 0 {
			// Not below home: sockets in them need short paths, and a mount that was
			// forgotten would keep home from being removed.
			p.Mounts = filepath.Join(runtimeDir, tag)
		}
		return p, nil
	}
	if uid == 0 {
		return Places{
			Cache:  "/var/cache/ramaria",
			State:  "/var/lib/ramaria",
			Shm:    shm,
			Disk:   "/var/lib/ramaria/volumes/disk",
			Mounts: filepath.Join(runtimeDir, "volumes"),
		}, nil
	}
	cache, err := userDir(getenv, "XDG_CACHE_HOME", ".cache")
	if err != nil {
		return Places{}, err
	}
	state, err := userDir(getenv, "XDG_STATE_HOME", ".local/state")
	if err != nil {
		return Places{}, err
	}
	return Places{
		Cache: cache,
		State: state,
		Shm:   shm,
		Disk:  filepath.Join(state, "volumes", "disk"),
	}, nil
}

// Canonical returns the one name of a home: absolute, and without symbolic links
// as far as it exists, so that two spellings of it have one volume.
func Canonical(home string) (string, error) {
	abs, err := filepath.Abs(home)
	if err != nil {
		return "", fmt.Errorf("find home %s: %w", home, err)
	}
	for there, rest := abs, ""; ; there, rest = filepath.Dir(there), filepath.Join(filepath.Base(there), rest) {
		real, err := filepath.EvalSymlinks(there)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if there == filepath.Dir(there) || !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find home: %w\nhint: --home DIR, a directory that you can enter", err)
		}
	}
}

// userDir returns $variable/ramaria, or $HOME/fallback/ramaria as the XDG base
// directory specification has it.
func userDir(getenv func(string) string, variable, fallback string) (string, error) {
	if d := getenv(variable); filepath.IsAbs(d) {
		return filepath.Join(d, "ramaria"), nil
	}
	h := getenv("HOME")
	if h == "" {
		var err error
		if h, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("find home directory: %w\nhint: set HOME, or use --home DIR", err)
		}
	}
	if !filepath.IsAbs(h) {
		// Another one in each directory: instances would be lost and found by cd.
		return "", fmt.Errorf("find home directory: HOME is %q, which is no absolute path\nhint: set HOME, or use --home DIR", h)
	}
	return filepath.Join(h, fallback, "ramaria"), nil
}

// Servers is the directory of fetched servers.
func (p Places) Servers() string { return filepath.Join(p.Cache, "servers") }

// Keys is the directory of keys that are made once for all servers of the user.
func (p Places) Keys() string { return filepath.Join(p.State, "keys") }

// maxRunDir is the longest path, in bytes, of a directory that sockets are made
// in: unix(7) allows 107 for the socket, and 100 is kept to.
const maxRunDir = 100 - len("/server.sock")

// RunDir returns the directory for sockets of what lives in dir: dir/run, or where that is
// too long for a socket's path, one in /tmp named after it and the id of the registry: in
// another container that shares /tmp, dir may be something else.
func RunDir(dir string, uid int, registry string) string {
	run := filepath.Join(dir, "run")
	if len(run) <= maxRunDir {
		return run
	}
	sum := sha256.Sum256([]byte(registry + dir))
	return fmt.Sprintf("/tmp/ramaria-%d-%s", uid, hex.EncodeToString(sum[:8]))
}
