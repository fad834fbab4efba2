package image

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/ramaria-db/ramaria/internal/dbconn"
	"github.com/ramaria-db/ramaria/internal/server"
	"github.com/ramaria-db/ramaria/internal/sys"
	"github.com/ramaria-db/ramaria/internal/volume"
)

// InstanceData is the data of an instance at one moment.
type InstanceData struct {
	// Dir is a data directory that no process writes to, and Time is when it was what the
	// instance held.
	Dir  string
	Time time.Time
	// Server is the software that wrote it, and Clean says that it was shut down.
	Server *server.Server
	Clean  bool
	// Supervisor and App are the instance's accounts, which an image must not hold.
	Supervisor, App dbconn.Login
	// Leases are its clones of templates with their accounts, which do not matter
	// but the instance's.
	Leases map[string]dbconn.Login
	// Kept are those of them that were kept, which are data; only their accounts
	// are not.
	Kept map[string]dbconn.Login
	// Wake enables events that are disabled while their database is a template, which it is
	// not in an image. nil is for none.
	Wake func(context.Context, *sql.Conn) error
	// Database is the one that the instance hands to applications.
	Database string
}

// Instances calls use with the data of the instance called name, which stays as it is
// until use returns. use is called once, or not at all after an error.
type Instances func(ctx context.Context, name string, use func(InstanceData) error) error

// copyInstance makes the data of an instance, as it is now, the data directory.
func (b *build) copyInstance(ctx context.Context, name string) error {
	if b.Instances == nil {
		return usagef("use source %s%s: the source of an instance is not known here\nhint: ramaria image build --from %s%s", instancePrefix, name, instancePrefix, name)
	}
	b.say("copying the data of instance %s\n", name)
	err := b.Instances(ctx, name, func(data InstanceData) error { return b.takeInstance(ctx, name, data) })
	if err != nil {
		return err
	}
	// At once: a dirty copy is recovered with the settings for that.
	return b.settle(ctx)
}

// takeInstance clones the data of an instance, without what is no data.
func (b *build) takeInstance(ctx context.Context, name string, data InstanceData) error {
	if err := checkStopped(data.Dir); err != nil {
		return err
	}
	if err := checkInstance(name, data, b.Server); err != nil {
		return err
	}
	b.older = outdated(makerOf(data.Server), b.Server)
	if err := b.checkInstanceRoom(ctx, data.Dir); err != nil {
		return err
	}
	var err error
	if b.image.PageSize, err = pageSize(data.Dir); err != nil {
		return err
	}
	b.inputs[0].name = fmt.Sprintf("instance %s, %s", name, data.Time.Local().Format(time.DateTime))
	b.image.Origin = b.origin()
	if b.image.Database = b.Database; b.image.Database == "" {
		b.image.Database = data.Database
	}
	b.copied = &data
	logs, err := server.LogFiles(data.Dir)
	if err != nil {
		return err
	}
	if err := b.Volume.Remove(ctx, b.dataDir()); err != nil { // it is empty
		return err
	}
	err = b.Volume.Snapshot(ctx, data.Dir, b.dataDir(), volume.How{Filter: func(rel string, kind fs.FileMode) (bool, error) {
		// A server killed at that moment may have begun a log that its index lacks.
		ours := filepath.Dir(rel) == "." && strings.HasPrefix(rel, server.BinlogName+".")
		return kind.IsRegular() && (ours || notInImage(logs, rel)), nil
	}})
	if err != nil {
		return err
	}
	if err := b.Account.TakeOver(b.dataDir()); err != nil {
		return err
	}
	return b.keepLastLog(ctx, data.Dir)
}

func makerOf(s *server.Server) server.Maker {
	return server.Maker{Flavour: s.Flavour, Version: s.Version, Text: s.Name()}
}

// checkInstance refuses the data of an instance that the server cannot go on with.
func checkInstance(name string, data InstanceData, s *server.Server) error {
	by, v := data.Server, data.Server.Version
	what := "copy the data of instance " + name
	if err := checkMadeBy(what, makerOf(by), s); err != nil {
		return err
	}
	if !data.Clean && v.Series() != s.Version.Series() {
		return fmt.Errorf("%s: the server is %s, and cannot recover what %s has not shut down\nhint: --server %s:%s, or first ramaria down %s", what, s.Name(), by.Name(), by.Flavour, v.Series(), name)
	}
	return nil
}

// checkInstanceRoom makes room for a data directory, and refuses one that does not fit,
// or that leads elsewhere.
func (b *build) checkInstanceRoom(ctx context.Context, dir string) error {
	if err := walkDataDir(dir, func(string, fs.DirEntry) error { return ctx.Err() }); err != nil {
		return err
	}
	size, err := sys.DiskUsage(dir)
	if err != nil {
		return err
	}
	if volume.SharesWith(b.Volume, dir) {
		size = 0
	}
	if err := b.evict(ctx, size+baseRoom); err != nil {
		return err
	}
	return volume.CheckRoom(b.Volume, size+baseRoom, "building the image of "+b.origin())
}

// Discard removes an image that was made for one use.
func (s *Store) Discard(ctx context.Context, l *Lease) error {
	l.Release()
	err := s.Remove(ctx, l.ID)
	if errors.Is(err, errInUse) || errors.Is(err, ErrNotFound) {
		return nil // another process has found a use for it, or has removed it
	}
	return err
}
