package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ramaria-db/ramaria/internal/host"
	"github.com/ramaria-db/ramaria/internal/instance"
	"github.com/ramaria-db/ramaria/internal/memo"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// Open finds the user's places, and cleans up after killed processes. makes says that the
// caller is going to make something; otherwise Open writes nothing, and works on a read-only
// system too.
func (e *Engine) Open(ctx context.Context, makes bool) error {
	var err error
	if strings.ContainsAny(e.Home, ":;") {
		// Between them the dynamic loader of a fetched server splits its path.
		return RequestError{fmt.Errorf("use home %q: its path has a colon or a semicolon\nhint: --home DIR", e.Home)}
	}
	if e.Home != "" {
		if e.Home, err = host.Canonical(e.Home); err != nil {
			return err
		}
		if err := checkHome(e.Home); err != nil {
			return err
		}
	}
	if e.Places, err = host.FindPlaces(e.Home, e.UID, os.Getenv); err != nil {
		return err
	}
	if err := e.checkOwner(); err != nil {
		return err
	}
	if e.UID == 0 {
		e.Account.UID, e.Account.GID = host.ReservedID, host.ReservedID
	}
	e.Memo = memo.Store{Dir: e.Places.State + "/memo"}
	if makes {
		// Before the registry, which would make the directories above it for root alone.
		if err := e.makePlaces(); err != nil {
			return err
		}
	}
	var copied bool
	if e.Owner, copied, err = volume.FindOwner(ctx, e.Host, e.Places.State, e.Home, makes); err != nil {
		return err
	}
	if copied && makes {
		e.note("%s is a copy of another home, or lay on another device before: what that one has in memory stays as it is\nhint: ramaria volume ls --all-homes shows it", e.Places.State)
	}
	e.Registry = instance.Registry{Dir: e.Places.State + "/instances", ID: e.Owner.Registry, Place: e.place, UID: e.UID}
	return e.reap(ctx)
}

// checkOwner refuses the state directory of another user, as root with the --home of another user has
// it: its owner could not read what root leaves there, and every command of theirs would fail.
func (e *Engine) checkOwner() error {
	fi, err := os.Stat(e.Places.State)
	if err != nil {
		return nil //nolint:nilerr // making it, or reading in it, says what is wrong
	}
	owner := int(fi.Sys().(*syscall.Stat_t).Uid)
	if owner == e.UID {
		return nil
	}
	hint := "--home DIR, a directory of your own"
	if e.UID == 0 {
		hint = fmt.Sprintf("sudo -u '#%d' ramaria ...; or %s", owner, hint)
	}
	return fmt.Errorf("use %s: it belongs to uid %d, not to you (uid %d)\nhint: %s", e.Places.State, owner, e.UID, hint)
}

// makePlaces makes the directories that are common to all users of the machine
// where root runs servers: their account passes through to what is its own.
func (e *Engine) makePlaces() error {
	if e.UID != 0 {
		return nil
	}
	if lacks := e.Host.RootLacks(); len(lacks) > 0 {
		return fmt.Errorf("run servers as uid %d: this root lacks %s\nhint: run ramaria as an ordinary user, who needs none of that; or start the container with what is missing (docker run --cap-add)",
			host.ReservedID, strings.Join(lacks, ", "))
	}
	for _, dir := range []string{e.Places.Cache, filepath.Dir(e.Places.Disk)} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return fmt.Errorf("make directory: %w", err)
		}
	}
	// The disk's volumes of root's own places lie in its state directory, which was
	// made for root alone once.
	if fi, err := os.Lstat(e.Places.State); err == nil && fi.IsDir() && strings.HasPrefix(e.Places.Disk, e.Places.State+"/") && fi.Mode().Perm()&0o011 != 0o011 {
		if err := os.Chmod(e.Places.State, fi.Mode().Perm()|0o011); err != nil { //nolint:forbidigo // a directory of root's own
			return fmt.Errorf("open directory to servers: %w", err)
		}
	}
	return nil
}

// checkHome refuses a home that is no directory: all places would say so, each in its own way.
func checkHome(home string) error {
	if fi, err := os.Stat(home); err == nil && !fi.IsDir() {
		return RequestError{fmt.Errorf("use home %s: it is not a directory\nhint: --home DIR", home)}
	}
	return nil
}
