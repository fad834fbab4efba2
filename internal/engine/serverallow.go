package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ramaria-db/ramaria/internal/software"
)

// ServerAllowed is a server of the system whose security profile was changed.
type ServerAllowed struct {
	// Daemon is the program, Profile what confines it, in words, and File has the rules that were added.
	Daemon, Profile, File string
	Changed               bool
}

// AllowServers teaches the security profiles of the system's own servers the places of this home's instances, so that
// ramaria uses those servers. DisallowServers undoes it.
func (e *Engine) AllowServers(ctx context.Context) ([]ServerAllowed, error) {
	dirs := []string{"/run/ramaria", "/dev/shm/ramaria-*", "/tmp/ramaria-*", filepath.Dir(e.Places.Disk)}
	return e.teach(func(s software.AllowSubject) (bool, error) { return s.Allow(ctx, dirs) })
}

// DisallowServers takes away what AllowServers wrote, for all homes.
func (e *Engine) DisallowServers(ctx context.Context) ([]ServerAllowed, error) {
	return e.teach(func(s software.AllowSubject) (bool, error) { return s.Disallow(ctx) })
}

func (e *Engine) teach(change func(software.AllowSubject) (bool, error)) (out []ServerAllowed, err error) {
	if e.UID != 0 {
		return nil, errors.New("change the rules of security profiles: only root may\nhint: sudo ramaria server allow; without it, ramaria uses a copy that no profile confines: ramaria server fetch")
	}
	subjects, others := e.Finder().Confined()
	for _, s := range subjects {
		changed, err := change(s)
		if err != nil {
			return out, err
		}
		daemon, profile, file := s.Describe()
		out = append(out, ServerAllowed{Daemon: daemon, Profile: profile, File: file, Changed: changed})
	}
	if len(out) == 0 && len(others) > 0 {
		return nil, fmt.Errorf("%w: %s\nhint: ramaria server fetch fetches a copy that is not confined", software.ErrCannotAllow, strings.Join(others, "; "))
	}
	return out, nil
}
