package software

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/server"
)

// Found is one server of this machine, for people to look at.
type Found struct {
	// Name is mariadb-10.11.19, or "" if the server could not be asked.
	Name    string         `json:"name"`
	Flavour server.Flavour `json:"flavour,omitempty"`
	Version string         `json:"version,omitempty"`
	Origin  string         `json:"origin"` // path, apt, debian-sid, maven; cache if that is unknown
	Path    string         `json:"path"`   // of the daemon, or of the directory if fetched
	// Size is what it takes on disk, in bytes; of an installed one the daemon alone.
	Size int64 `json:"size_bytes"`
	// Chosen marks the one that ramaria up takes when nothing else is asked for.
	Chosen bool `json:"chosen"`
	// PassedOver says why it cannot be used; "" if it can.
	PassedOver string `json:"passed_over,omitempty"`
}

// List returns every server on PATH, in the usual directories and in the cache, in
// the order in which Find would take them.
func (f *Finder) List(ctx context.Context) ([]Found, error) {
	f.PassedOver = nil
	w, err := f.want("")
	if err != nil {
		return nil, err
	}
	var list []Found
	chosen := false
	add := func(c candidate, origin string, size int64) {
		found := Found{Origin: origin, Path: c.path, Size: size, PassedOver: c.reason}
		if s := c.server; s != nil {
			found.Name, found.Flavour, found.Version, found.Origin = s.Name(), s.Flavour, s.Version.String(), s.Origin
		}
		if c.reason != "" {
			f.PassedOver = append(f.PassedOver, PassedOver{c.path, c.reason})
		} else if !chosen && w.refuses(c.server) == "" {
			found.Chosen, chosen = true, true
		}
		list = append(list, found)
	}
	for c := range f.installed(ctx) {
		var size int64
		if fi, err := os.Stat(c.path); err == nil {
			size = fi.Size()
		}
		add(c, server.OriginPath, size)
	}
	for c := range f.cached() {
		add(c, "cache", diskUse(c.path))
	}
	return list, ctx.Err()
}

// diskUse adds up the blocks of the files below dir; what cannot be read counts nothing.
func diskUse(dir string) int64 {
	var sum int64
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			sum += blocks(d)
		}
		return nil
	})
	return sum
}

// blocks returns what a file takes on disk, in bytes.
func blocks(d fs.DirEntry) int64 {
	fi, err := d.Info()
	if err != nil {
		return 0 // it is gone by now
	}
	return fi.Sys().(*syscall.Stat_t).Blocks * 512
}
